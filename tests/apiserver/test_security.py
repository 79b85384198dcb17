"""Nobody gets in without a token, nothing listens beyond loopback, nothing secret can be read by others."""

import asyncio
import ssl
import stat
from pathlib import Path

import aiohttp
import pytest

from stowplan.apiserver.certs import client_certificate, write_private
from stowplan.apiserver.options import ServerOptions, StartError, User
from tests.apiserver.running import PODS, Session, config_map, pod, running

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ALICE = {"alice-token": User("alice", ("team",))}

PATHS = [
    "/", "/api", "/apis", "/version", "/openapi/v2", "/openapi/v3", PODS, "/api/v1/nodes?watch=true",
    "/apis/apps/v1/deployments", "/nothing",
]  # fmt: skip


@pytest.mark.parametrize("token", ["", "wrong", "x" * 6_000])
def test_no_request_without_the_token_gets_in(token: str) -> None:
    async def story() -> None:
        async with running() as api:
            for path in PATHS:
                for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"):
                    got = await api.call(method, path, {} if method in ("POST", "PUT", "PATCH") else None, token=token)
                    assert got.status in (400, 401), (method, path, got.status)

    asyncio.run(story())


@pytest.mark.parametrize("scheme", ["Basic", "bearer-ish", ""])
def test_the_token_under_another_scheme_is_refused(scheme: str) -> None:
    async def story() -> None:
        async with running() as api:
            header = {"Authorization": f"{scheme} {api.server.token}".strip()}
            async with api.http.get(api.server.url + PODS, headers=header) as response:
                assert 401 == response.status

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz", "/readyz/ping"])
def test_health_is_open_to_all(path: str) -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.call("GET", path, token="")
            assert (200, b"ok") == (got.status, got.body)

    asyncio.run(story())


def test_it_listens_on_loopback_only_unless_told_otherwise() -> None:
    async def story() -> None:
        async with running() as api:
            assert api.server.url.startswith("https://127.0.0.1:")

    asyncio.run(story())


def test_plain_http_is_not_spoken() -> None:
    async def story() -> None:
        async with running() as api, aiohttp.ClientSession() as plain:
            with pytest.raises(aiohttp.ClientError):
                await plain.get(api.server.url.replace("https", "http") + "/livez")

    asyncio.run(story())


def test_the_kubeconfig_is_for_its_owner_only(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "deep" / "config"
        async with running(ServerOptions(kubeconfig=path, data_dir=tmp_path / "data")):
            assert 0o600 == stat.S_IMODE(path.stat().st_mode)
            for secret in ("ca.key", "token"):
                assert 0o600 == stat.S_IMODE((tmp_path / "data" / "pki" / secret).stat().st_mode)

    asyncio.run(story())


async def with_certificate(api: Session, folder: Path, name: str, groups: tuple[str, ...]) -> int:
    """The status of a list of pods that a client certificate asks for."""
    assert api.server.authority is not None
    certificate, key = client_certificate(api.server.authority, name, groups)
    write_private(folder / "client.pem", certificate + key)
    trust = ssl.create_default_context(cadata=api.server.authority_pem.decode())
    trust.load_cert_chain(folder / "client.pem")
    connector = aiohttp.TCPConnector(ssl=trust)
    async with aiohttp.ClientSession(connector=connector) as http, http.get(api.server.url + PODS) as response:
        return response.status


@pytest.mark.parametrize(
    ("groups", "want"),
    [
        pytest.param(("system:masters",), 200, id="a master may do everything"),
        pytest.param((), 403, id="a nobody is known and may do nothing"),
    ],
)
def test_a_client_certificate_of_our_authority_is_an_identity(
    tmp_path: Path, groups: tuple[str, ...], want: int
) -> None:
    async def story() -> None:
        async with running() as api:
            assert want == await with_certificate(api, tmp_path, "carol", groups)

    asyncio.run(story())


def test_others_may_do_what_roles_say() -> None:
    async def story() -> None:
        async with running(ServerOptions(users=ALICE)) as api:
            await api.post(PODS, pod("a"))
            refused = await api.call("GET", PODS, token="alice-token")
            assert (403, "Forbidden") == (refused.status, refused.reason)
            assert (
                'pods is forbidden: User "alice" cannot list resource "pods" in API group "" in the namespace "default"'
                == refused.message
            )
            rules = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]
            await api.post(f"{RBAC}/namespaces/default/roles", {"metadata": {"name": "reader"}, "rules": rules})
            binding = {
                "metadata": {"name": "reader"},
                "roleRef": {"kind": "Role", "name": "reader"},
                "subjects": [{"kind": "Group", "name": "team"}],
            }
            assert 201 == (await api.post(f"{RBAC}/namespaces/default/rolebindings", binding)).status

            assert 200 == (await api.call("GET", PODS, token="alice-token")).status
            assert 403 == (await api.call("DELETE", f"{PODS}/a", token="alice-token")).status
            assert 403 == (await api.call("GET", "/api/v1/pods", token="alice-token")).status
            assert 403 == (await api.call("GET", f"{PODS}/a/status", token="alice-token")).status

    asyncio.run(story())


def test_a_body_beyond_the_limit_is_refused() -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.post(
                "/api/v1/namespaces/default/configmaps", config_map("big", data="x" * (4 * 1024 * 1024))
            )
            assert (413, "RequestEntityTooLarge") == (got.status, got.reason)

    asyncio.run(story())


def test_a_port_that_is_taken_is_one_clear_line() -> None:
    async def story() -> None:
        async with running() as api:
            with pytest.raises(StartError, match=r"cannot listen on 127.0.0.1:\d+: the port is taken"):
                async with running(ServerOptions(port=api.server.port)):
                    pass

    asyncio.run(story())


def test_an_unknown_path_and_a_wrong_method_are_refused() -> None:
    async def story() -> None:
        async with running() as api:
            assert 404 == (await api.get("/api/v1/namespaces/default/gadgets")).status
            assert 404 == (await api.get("/api/v1/namespaces/default/nodes")).status
            assert 405 == (await api.put(PODS, pod("a"))).status
            assert 404 == (await api.get(f"{PODS}/a/nothing")).status
            assert 405 == (await api.post(f"{PODS}/a", pod("a"))).status

    asyncio.run(story())


def test_a_kubeconfig_of_other_clusters_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text('{"clusters": [{"name": "production"}]}')

    async def story() -> None:
        async with running(ServerOptions(kubeconfig=path)):
            pass

    with pytest.raises(StartError, match="the file is there already and is not one of stowplan's"):
        asyncio.run(story())
    assert "production" in path.read_text()
