"""The secure port: who is let in, by token, by certificate, and by a front proxy."""

import json
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from stowplan.daemon.options import AuthenticationOptions, Options, parse_options
from stowplan.daemon.serving_tls import ServingError
from tests.client.certificates import Authority
from tests.daemon.serving import Client, Cluster, run, serving_options


@pytest.mark.parametrize(
    ("path", "token", "status", "message"),
    [
        pytest.param("/livez", "", 200, "", id="health is for everybody"),
        pytest.param("/metrics", "", 403, 'forbidden: User "system:anonymous" cannot get path "/metrics"',
                     id="metrics are not"),
        pytest.param("/livez/ping", "", 403, 'forbidden: User "system:anonymous" cannot get path "/livez/ping"',
                     id="single checks tell reasons, so they are not"),
        pytest.param("/metrics", "bad", 401, "Unauthorized", id="a token that nobody knows"),
        pytest.param("/livez", "bad", 401, "Unauthorized", id="even for what is open"),
        pytest.param("/metrics", "good", 200, "", id="one who may"),
        pytest.param("/metrics", "proxy", 403, 'forbidden: User "prometheus" cannot get path "/metrics"',
                     id="one who may not"),
        pytest.param("/%3Cscript%3E", "", 403,
                     'forbidden: User "system:anonymous" cannot get path "/&lt;script&gt;"', id="no HTML"),
    ],
)  # fmt: skip
def test_access(path: str, token: str, status: int, message: str) -> None:
    async def story(client: Client) -> None:
        got, text = await client.ask(path, token=token)
        assert status == got
        if message:
            assert (message, status) == (json.loads(text)["message"], json.loads(text)["code"])

    run(story)


def test_what_the_cluster_is_asked_and_how_often() -> None:
    async def story(client: Client) -> None:
        for _ in range(3):
            await client.ask("/metrics")
            await client.ask("/metrics", token="bad")
            await client.ask("/metrics", token="proxy")
        token, access = (
            [review for review in client.cluster.reviews if review["kind"] == kind]
            for kind in ("TokenReview", "SubjectAccessReview")
        )
        assert ["good", "bad", "proxy"] == [review["spec"]["token"] for review in token]
        assert [
            {"user": "ann", "groups": ["dev", "system:authenticated"],
             "nonResourceAttributes": {"path": "/metrics", "verb": "get"}},
            {"user": "prometheus", "groups": ["dev", "system:authenticated"],
             "nonResourceAttributes": {"path": "/metrics", "verb": "get"}},
        ] == [review["spec"] for review in access]  # fmt: skip

    run(story)


def test_answers_are_not_kept_when_the_flags_say_so() -> None:
    options = parse_options(
        ["--authentication-token-webhook-cache-ttl=0s", "--authorization-webhook-cache-authorized-ttl=0s"]
    )

    async def story(client: Client) -> None:
        await client.ask("/metrics")
        await client.ask("/metrics")
        assert 4 == len(client.cluster.reviews)

    run(story, options=replace(options, serving=serving_options()))


def test_a_cluster_that_is_down_lets_nobody_in() -> None:
    async def story(client: Client) -> None:
        client.cluster.down = True
        assert 401 == (await client.ask("/metrics"))[0]
        status, text = await client.ask("/metrics", token="")
        assert 500 == status
        assert text.startswith('Internal Server Error: "/metrics"')
        assert (200, "ok") == await client.ask("/livez", token="")

    run(story)


def test_without_a_cluster_to_ask_tokens_are_nobody() -> None:
    async def story(client: Client) -> None:
        assert 403 == (await client.ask("/metrics"))[0]
        assert (200, "ok") == await client.ask("/readyz")

    run(story, delegated=False)


def test_always_allowed_paths() -> None:
    options = parse_options(["--authorization-always-allow-paths=/metrics,/debug/stowplan/*"])

    async def story(client: Client) -> None:
        assert 200 == (await client.ask("/metrics", token=""))[0]
        assert 200 == (await client.ask("/debug/stowplan/queue", token=""))[0]
        assert 403 == (await client.ask("/metrics/resources", token=""))[0]
        assert 403 == (await client.ask("/livez", token=""))[0]

    run(story, options=replace(options, serving=serving_options()))


def test_a_client_certificate_of_the_cluster(tmp_path: Path) -> None:
    authority = Authority()

    async def story(client: Client) -> None:
        assert 200 == (await client.ask("/metrics", token=""))[0]
        spec = client.cluster.reviews[0]["spec"]
        assert ("cert-user", ["system:authenticated"]) == (spec["user"], spec["groups"])

    run(story, cluster=Cluster(client_ca=authority.certificate), own=(authority.issue("cert-user"), tmp_path))


def test_a_client_certificate_of_a_file(tmp_path: Path) -> None:
    authority, other = Authority("file-ca"), Authority("cluster-ca")
    file = tmp_path / "ca.crt"
    file.write_bytes(authority.certificate)
    options = Options(serving=serving_options(), authentication=AuthenticationOptions(client_ca_file=str(file)))

    async def story(client: Client) -> None:
        assert 200 == (await client.ask("/metrics", token=""))[0]

    run(
        story,
        cluster=Cluster(client_ca=other.certificate),
        options=options,
        own=(authority.issue("cert-user"), tmp_path),
    )


def test_a_client_certificate_of_nobody_is_no_way_in(tmp_path: Path) -> None:
    ours, theirs = Authority("ours"), Authority("theirs")

    async def story(client: Client) -> None:
        with pytest.raises(aiohttp.ClientError):
            await client.ask("/livez", token="")

    run(story, cluster=Cluster(client_ca=ours.certificate), own=(theirs.issue("cert-user"), tmp_path))


@pytest.mark.parametrize(
    ("name", "status"),
    [pytest.param("front", 200, id="one of the allowed names"), pytest.param("other", 401, id="another name")],
)
def test_a_front_proxy_speaks_for_others(name: str, status: int, tmp_path: Path) -> None:
    proxies = Authority("proxies")
    headers = {"X-Remote-User": "remote", "X-Remote-Group": "far", "X-Remote-Extra-Scopes": "a"}

    async def story(client: Client) -> None:
        assert status == (await client.ask("/metrics", token="", headers=headers))[0]
        if status == 200:
            spec = client.cluster.reviews[0]["spec"]
            assert ("remote", ["far", "system:authenticated"], {"scopes": ["a"]}) == (
                spec["user"],
                spec["groups"],
                spec["extra"],
            )

    run(story, cluster=Cluster(proxy_ca=proxies.certificate), own=(proxies.issue(name), tmp_path))


def test_headers_of_a_front_proxy_mean_nothing_from_others() -> None:
    async def story(client: Client) -> None:
        status, text = await client.ask("/metrics", token="", headers={"X-Remote-User": "remote"})
        assert 403 == status
        assert "system:anonymous" in text

    run(story, cluster=Cluster(proxy_ca=Authority().certificate))


def test_a_client_of_the_cluster_is_no_front_proxy(tmp_path: Path) -> None:
    clients, proxies = Authority("clients"), Authority("proxies")

    async def story(client: Client) -> None:
        status, text = await client.ask("/metrics", token="", headers={"X-Remote-User": "remote"})
        assert 403 == status
        assert 'User \\"front\\"' in text

    run(
        story,
        cluster=Cluster(client_ca=clients.certificate, proxy_ca=proxies.certificate),
        own=(clients.issue("front"), tmp_path),
    )


def test_a_lookup_that_must_not_fail() -> None:
    async def story(client: Client) -> None:
        raise AssertionError("it started")

    options = Options(serving=serving_options(), authentication=AuthenticationOptions(tolerate_lookup_failure=False))
    with pytest.raises(ServingError, match="unable to load kube-system/extension-apiserver-authentication"):
        run(story, cluster=Cluster(down=True), options=options)
