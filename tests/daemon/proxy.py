"""Stands between a scheduler and its API server, counts bindings, and does what networks and servers do on bad days."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import final

import aiohttp
from aiohttp import web

from tests.daemon.api import ApiServer
from tests.daemon.scene import trusting

Refuse = Callable[[str, str], int | None]
"""Method and path to the status of a refusal; None lets the request pass."""

REASONS = {409: "Conflict", 429: "TooManyRequests", 500: "InternalError"}
PASSED_ON = {"authorization", "content-type", "accept", "user-agent"}


@final
class Proxy:
    """Passes requests on, in plain HTTP towards the scheduler."""

    def __init__(self, http: aiohttp.ClientSession, target: str) -> None:
        self._http = http
        self._target = target
        self._watches: set[asyncio.Task[None] | None] = set()
        self.url = ""
        self.refuse: Refuse = lambda _method, _path: None
        self.delay = 0.0
        """Seconds that every binding takes on its way."""
        self.bindings: Counter[str] = Counter()
        """How often each pod (by path) was bound in the server's eyes."""
        self.refused: Counter[int] = Counter()
        self.cuts = 0

    async def has_passed_on(self, bindings: int) -> None:
        """Wait until the answers to so many bindings came back this way: the server acts before it answers."""
        async with asyncio.timeout(10):
            while len(self.bindings) < bindings:
                await asyncio.sleep(0.01)

    def cut_watches(self) -> None:
        """Break every open watch off in the middle."""
        for task in list(self._watches):
            if task is not None:
                self.cuts += 1
                task.cancel()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass one request on."""
        status = self.refuse(request.method, request.path)
        if status is not None:
            self.refused[status] += 1
            return _refusal(status)
        if self.delay and request.path.endswith("/binding"):
            await asyncio.sleep(self.delay)
        headers = {name: value for name, value in request.headers.items() if name.lower() in PASSED_ON}
        body = await request.read()
        try:
            async with self._http.request(
                request.method, self._target + request.path_qs, data=body or None, headers=headers
            ) as answer:
                if "watch=" in request.query_string:
                    return await self._stream(request, answer)
                content = await answer.read()
                if request.method == "POST" and request.path.endswith("/binding") and answer.status < 300:
                    self.bindings[request.path] += 1
                kept = {"Content-Type": answer.headers.get("Content-Type", "application/json")}
                return web.Response(status=answer.status, body=content, headers=kept)
        except aiohttp.ClientError:
            assert request.transport is not None
            request.transport.abort()  # the server is away: so are we
            return web.Response(status=502)

    async def _stream(self, request: web.BaseRequest, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        copying = asyncio.create_task(_copy(answer, response))
        self._watches.add(copying)
        try:
            await asyncio.wait([copying])
        finally:
            copying.cancel()
            self._watches.discard(copying)
        if (copying.cancelled() or copying.exception() is not None) and request.transport is not None:
            request.transport.abort()
        return response


async def _copy(answer: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
    async for chunk in answer.content.iter_any():
        await response.write(chunk)


def _refusal(status: int) -> web.Response:
    told = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "not now",
        "reason": REASONS[status],
        "code": status,
    }
    headers = {"Retry-After": "1"} if status == 429 else {}
    return web.Response(status=status, body=json.dumps(told).encode(), content_type="application/json", headers=headers)


@asynccontextmanager
async def proxied(server: ApiServer) -> AsyncIterator[Proxy]:
    """A proxy before a server."""
    connector = aiohttp.TCPConnector(ssl=trusting(server), limit=0)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=True) as http:
        proxy = Proxy(http, server.url)
        runner = web.ServerRunner(web.Server(proxy.handle), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        assert runner.addresses
        proxy.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield proxy
        finally:
            proxy.cut_watches()
            await runner.cleanup()
