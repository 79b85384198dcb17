"""Scenes at the secure port: a cluster that knows who is who, somebody who asks, and pages to ask for."""

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from stowplan.client.connection import Connection
from stowplan.client.transport import ApiClient
from stowplan.clock import SystemClock
from stowplan.daemon.health import Checks
from stowplan.daemon.options import Options
from stowplan.daemon.serving import Pages, Serving
from stowplan.daemon.tls_flags import ServingOptions
from tests.client.certificates import Pair
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
