"""The secure port: TLS, who is let in, and what every page says."""

import asyncio
import json
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from stowplan.client.connection import Connection
from stowplan.client.transport import ApiClient
from stowplan.clock import SystemClock
from stowplan.daemon.health import Check, Checks
from stowplan.daemon.options import AuthenticationOptions, Options, parse_options
from stowplan.daemon.serving import Pages, Serving
from stowplan.daemon.serving_tls import ServingError
from stowplan.daemon.tls_flags import ServingOptions, SniCertificate
from tests.client.certificates import Authority, Pair
from tests.ports import free_ports

TOKENS = {"good": "ann", "proxy": "prometheus"}
MAY = {("ann", "get"), ("ann", "put"), ("cert-user", "get"), ("remote", "get")}
"""Users and what they may do to any path."""


@dataclass
class Cluster:
    """What stands for the API server: knows tokens, rights and authorities, and counts the questions."""

    client_ca: bytes = b""
    proxy_ca: bytes = b""
    down: bool = False
    reviews: list[dict[str, Any]] = field(default_factory=list)

    async def answer(self, request: web.BaseRequest) -> web.Response:
        """One request to the API."""
        if self.down:
            return web.Response(status=503, text="down")
        if request.path.endswith("/configmaps/extension-apiserver-authentication"):
            data = {
                "client-ca-file": self.client_ca.decode(),
                "requestheader-client-ca-file": self.proxy_ca.decode(),
                "requestheader-allowed-names": '["front"]',
                "requestheader-username-headers": '["X-Remote-User"]',
                "requestheader-group-headers": '["X-Remote-Group"]',
                "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
            }
            return web.json_response({"data": data})
        review = json.loads(await request.read())
        self.reviews.append(review)
        spec = review["spec"]
        if review["kind"] == "TokenReview":
            user = TOKENS.get(spec["token"])
            status: dict[str, Any] = {"authenticated": user is not None}
            if user is not None:
                status["user"] = {"username": user, "groups": ["dev"]}
        else:
            status = {"allowed": (spec["user"], spec["nonResourceAttributes"]["verb"]) in MAY}
        return web.json_response({"status": status}, status=201)


@dataclass
class Client:
    """Asks the secure port."""

    session: aiohttp.ClientSession
    url: str
    serving: Serving
    cluster: Cluster

    async def ask(
        self,
        path: str,
        *,
        token: str = "good",
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Status and text."""
        sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
        async with self.session.request(method, self.url + path, headers=sent, data=body) as response:
            return response.status, await response.text()


class Levels:
    """Remembers the verbosity it was set to."""

    def __init__(self) -> None:
        self.level = -1

    def set(self, level: int) -> None:
        self.level = level


def explain(key: str) -> Any:
    """A page about a pod; there is one."""
    if key != "default/web":
        raise LookupError(key)
    return {"pod": key, "why": "no room"}


def pages(**changes: Any) -> Pages:
    """Pages with plain answers."""
    return replace(
        Pages(
            metrics=lambda: b"scheduler_pending_pods 1\n",
            resources=lambda: b"kube_pod_resource_request 1\n",
            configz=lambda: {"parallelism": 16},
            set_verbosity=lambda level: None,
            queue=lambda: {"active": ["default/web"]},
            explain=explain,
        ),
        **changes,
    )


def serving_options(**changes: Any) -> ServingOptions:
    """The secure port on loopback."""
    (port,) = free_ports(1)
    return replace(ServingOptions(bind_address="127.0.0.1", port=port), **changes)


def run(
    story: Callable[[Client], Awaitable[None]],
    *,
    cluster: Cluster | None = None,
    options: Options | None = None,
    checks: Checks | None = None,
    shown: Pages | None = None,
    delegated: bool = True,
    own: tuple[Pair, Path] | None = None,
    trusted: bytes = b"",
) -> None:
    """Start a cluster and the server, and let the story ask it; `own` is the client's certificate."""

    async def play() -> None:
        backend = cluster or Cluster()
        runner = web.ServerRunner(web.Server(backend.answer, access_log=None))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address = runner.addresses[0]
        used = options or Options(serving=serving_options())
        context = ssl.create_default_context(cadata=trusted.decode() or None)
        if not trusted:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if own is not None:
            pair, folder = own
            (folder / "own.pem").write_bytes(pair.certificate + pair.key)
            context.load_cert_chain(folder / "own.pem")
        async with (
            ApiClient(Connection(server=f"http://127.0.0.1:{address[1]}"), clock=SystemClock()) as client,
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
        ):
            serving = Serving(
                used,
                authentication=client if delegated else None,
                authorization=client if delegated else None,
                checks=checks or Checks(),
                pages=shown or pages(),
                clock=SystemClock(),
            )
            try:
                await serving.start()
                await story(Client(session, f"https://127.0.0.1:{serving.port}", serving, backend))
            finally:
                await serving.stop()
                await runner.cleanup()

    asyncio.run(play())


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param("/healthz", (200, "ok"), id="healthz"),
        pytest.param("/livez", (200, "ok"), id="livez"),
        pytest.param("/livez?verbose", (200, "[+]ping ok\nlivez check passed\n"), id="no checks are a ping"),
        pytest.param("/livez/ping", (200, "ok"), id="one check"),
        pytest.param("/readyz?verbose", (500, "[+]informers ok\n[-]leader failed: reason withheld\n"
                     "readyz check failed\n"), id="a failing check keeps its reason"),
        pytest.param("/readyz", (500, "[+]informers ok\n[-]leader failed: reason withheld\nreadyz check failed\n"),
                     id="what fails is always told in full"),
        pytest.param("/readyz?exclude=leader", (200, "ok"), id="checks can be left out"),
        pytest.param("/readyz?verbose&exclude=leader&exclude=nope",
                     (200, "[+]informers ok\n[+]leader excluded: ok\nwarn: some health checks cannot be excluded: "
                           'no matches for "nope"\nreadyz check passed\n'), id="unknown names are told"),
        pytest.param("/readyz/informers", (200, "ok"), id="a check by name"),
        pytest.param("/readyz/leader", (500, "internal server error: nobody leads\n"),
                     id="a failing check by name has its reason"),
        pytest.param("/readyz/nope", (404, "404 page not found\n"), id="no such check"),
        pytest.param("/metrics", (200, "scheduler_pending_pods 1\n"), id="metrics"),
        pytest.param("/metrics/resources", (200, "kube_pod_resource_request 1\n"), id="resources"),
        pytest.param("/configz", (200, '{"componentconfig":{"parallelism":16}}'), id="configz"),
        pytest.param("/debug/stowplan/queue", (200, '{"active":["default/web"]}'), id="the queue"),
        pytest.param("/debug/stowplan/explain?pod=default/web", (200, '{"pod":"default/web","why":"no room"}'),
                     id="why a pod waits"),
        pytest.param("/debug/stowplan/explain?pod=default/x", (404, 'there is no pod "default/x" here\n'),
                     id="no such pod"),
        pytest.param("/debug/stowplan/explain?pod=web", (400, "name a pod: ?pod=NAMESPACE/NAME\n"), id="no pod named"),
        pytest.param("/debug/pprof/profile",
                     (501, "There is no Go runtime to profile here: point py-spy at the process instead.\n"),
                     id="profiles of Go"),
        pytest.param("/nope", (404, "404 page not found\n"), id="nothing"),
        pytest.param("/", (404, "404 page not found\n"), id="no index"),
    ],
)  # fmt: skip
def test_page(path: str, want: tuple[int, str]) -> None:
    checks = Checks(readyz=(Check("informers", lambda: None), Check("leader", lambda: "nobody leads")))

    async def story(client: Client) -> None:
        assert want == await client.ask(path)

    run(story, checks=checks)


def test_headers() -> None:
    async def story(client: Client) -> None:
        async with client.session.get(client.url + "/livez") as response:
            assert "no-cache, private" == response.headers["Cache-Control"]
            assert "nosniff" == response.headers["X-Content-Type-Options"]
            assert "text/plain; charset=utf-8" == response.headers["Content-Type"]
            assert "aiohttp" not in response.headers["Server"]

    run(story)


def test_statusz_and_flagz() -> None:
    options = parse_options(["--leader-elect-lease-duration=20s", "--feature-gates=VolumeLimitScaling=true"])

    async def story(client: Client) -> None:
        _, text = await client.ask("/statusz")
        assert text.startswith("\nkube-scheduler statusz\n")
        assert "\nBinary version  1.36.4\nEmulation version  1.36\n" in text
        assert "\nPaths  /configz /flagz /healthz /livez /metrics /readyz\n" in text
        _, text = await client.ask("/statusz", headers={"Accept": "application/json"})
        assert ("Statusz", "1.36.4") == (json.loads(text)["kind"], json.loads(text)["binaryVersion"])
        _, text = await client.ask("/flagz")
        lines = text.splitlines()
        assert "leader-elect-lease-duration 20s" in lines
        assert "feature-gates VolumeLimitScaling=true" in lines
        assert "authorization-always-allow-paths [/healthz,/readyz,/livez]" in lines
        assert "kube-api-qps 50" in lines
        assert "leader-elect true" in lines

    run(story, options=replace(options, serving=serving_options()))


def test_slis_count_checks() -> None:
    checks = Checks(readyz=(Check("leader", lambda: "nobody leads"),))

    async def story(client: Client) -> None:
        await client.ask("/readyz")
        await client.ask("/readyz")
        _, text = await client.ask("/metrics/slis")
        assert 'kubernetes_healthcheck{name="leader",type="readyz"} 0.0\n' in text
        assert 'kubernetes_healthchecks_total{name="leader",status="error",type="readyz"} 2.0\n' in text

    run(story, checks=checks)


def test_a_standby_tells_no_resources() -> None:
    async def story(client: Client) -> None:
        assert (200, "") == await client.ask("/metrics/resources")

    run(story, shown=pages(resources=lambda: None))


def test_verbosity() -> None:
    levels = Levels()

    async def story(client: Client) -> None:
        path = "/debug/flags/v"
        want = (200, "successfully set klog.logging.verbosity to 4\n")
        assert want == await client.ask(path, method="PUT", body=b"4")
        assert 4 == levels.level
        want = (400, 'strconv.ParseUint: parsing "x": invalid syntax\n')
        assert want == await client.ask(path, method="PUT", body=b"x")
        assert (406, "unsupported http method\n") == await client.ask(path)
        assert 4 == levels.level

    run(story, shown=pages(set_verbosity=levels.set))


def test_without_profiling_there_is_no_verbosity() -> None:
    async def story(client: Client) -> None:
        assert (404, "404 page not found\n") == await client.ask("/debug/flags/v", method="PUT", body=b"4")

    run(story, shown=pages(profiling=False))


def test_pages_are_for_reading() -> None:
    async def story(client: Client) -> None:
        assert (405, "/metrics can only be read\n") == await client.ask("/metrics", method="PUT", body=b"")

    run(story)


def test_a_broken_page_breaks_nothing_else() -> None:
    def broken() -> bytes:
        raise RuntimeError("no metrics today")

    async def story(client: Client) -> None:
        status, text = await client.ask("/metrics")
        assert 500 == status
        assert "no metrics today" not in text
        assert (200, "ok") == await client.ask("/livez")

    run(story, shown=pages(metrics=broken))


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


def test_port_zero_serves_nothing() -> None:
    async def play() -> None:
        serving = Serving(
            Options(serving=ServingOptions(port=0)),
            authentication=None,
            authorization=None,
            checks=Checks(),
            pages=pages(),
            clock=SystemClock(),
        )
        await serving.start()
        assert 0 == serving.port
        await serving.stop()

    asyncio.run(play())


def test_a_taken_port_is_told() -> None:
    async def story(client: Client) -> None:
        raise AssertionError("it started")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = Options(serving=replace(serving_options(), port=port))
        with pytest.raises(ServingError, match=rf"failed to create listener: 127\.0\.0\.1:{port}: Address already"):
            run(story, options=options)


def test_a_given_certificate_and_one_by_name(tmp_path: Path) -> None:
    authority = Authority()
    for name, hosts in (("main", ("127.0.0.1",)), ("other", ("other.example",))):
        pair = authority.issue(name, *hosts)
        (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
        (tmp_path / f"{name}.key").write_bytes(pair.key)
    options = Options(
        serving=serving_options(
            cert_file=str(tmp_path / "main.crt"),
            key_file=str(tmp_path / "main.key"),
            sni=(SniCertificate(cert_file=str(tmp_path / "other.crt"), key_file=str(tmp_path / "other.key")),),
        )
    )

    async def story(client: Client) -> None:
        assert (200, "ok") == await client.ask("/livez", token="")
        async with client.session.get(client.url + "/livez", server_hostname="other.example") as response:
            assert 200 == response.status

    run(story, options=options, trusted=authority.certificate)


def test_the_certificate_is_kept_in_a_folder(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert (200, "ok") == await client.ask("/livez", token="")

    folder = tmp_path / "certificates"
    run(story, options=Options(serving=serving_options(cert_dir=str(folder))))
    first = (folder / "kube-scheduler.crt").read_bytes()
    run(story, options=Options(serving=serving_options(cert_dir=str(folder))))

    assert first == (folder / "kube-scheduler.crt").read_bytes()
    assert 0o600 == (folder / "kube-scheduler.key").stat().st_mode & 0o777


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        raise AssertionError("it started")

    options = Options(serving=serving_options(cert_file=str(tmp_path / "a"), key_file=str(tmp_path / "b")))
    with pytest.raises(ServingError, match=r"cannot load the certificate .*/a with the key .*/b"):
        run(story, options=options)


def test_old_tls_is_refused() -> None:
    async def story(client: Client) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(aiohttp.ClientConnectorError):
            async with client.session.get(client.url + "/livez", ssl=context):
                pass

    run(story, options=Options(serving=serving_options(min_version=ssl.TLSVersion.TLSv1_3)))
