"""A small API server on loopback that does what it is told: scripted answers, and one resource with list and watch."""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, final

from aiohttp import web

from stowplan.client.connection import Connection
from stowplan.client.transport import ApiClient, TransportSettings
from tests.client.virtual_time import LoopClock

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@final
@dataclass(frozen=True)
class Seen:
    """One request that arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)


@final
@dataclass(frozen=True)
class Answer:
    """What to answer to one request; `delay` first, `abort` instead of an answer."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    abort: bool = False


def status_body(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    """A metav1.Status."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        "details": details,
    }


def refuse(code: int, reason: str, *, retry_after: int | None = None, message: str = "no") -> Answer:
    """An answer that refuses with a Status."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Answer(code, status_body(code, reason, message), headers)


@final
class FakeServer:
    """Answers from a script first, then from `routes` by path, then with an empty object."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.script: deque[Answer] = deque()
        self.routes: dict[str, Handler] = {}
        self.port = 0
        self.scheme = "http"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def requests(self, method: str) -> list[Seen]:
        """Those that arrived with one method."""
        return [seen for seen in self.seen if seen.method == method]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.seen.append(Seen(request.method, request.path, dict(request.query), dict(request.headers), body))
        if self.script:
            return await self._play(request, self.script.popleft())
        route = self.routes.get(request.path)
        if route is not None:
            return await route(request)
        return web.json_response({}, status=201 if request.method == "POST" else 200)

    async def _play(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.delay:
            await asyncio.sleep(answer.delay)
        if answer.abort:
            abort(request)
            raise ConnectionResetError
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        return web.Response(status=answer.status, body=body, headers=answer.headers, content_type="application/json")

    @asynccontextmanager
    async def listening(self, *, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator["FakeServer"]:
        """Listen on loopback until the block ends; connections are cut then."""
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=tls, reuse_address=True)
        await site.start()
        self.port = runner.addresses[0][1]
        self.scheme = "https" if tls else "http"
        try:
            yield self
        finally:
            await runner.cleanup()

    def client(self, **changes: Any) -> ApiClient:
        """A client of this server under virtual time."""
        settings = TransportSettings(**changes.pop("settings", {}))
        connection = Connection(server=self.url, **changes.pop("connection", {}))
        return ApiClient(connection, clock=LoopClock(), settings=settings, **changes)


def abort(request: web.Request) -> None:
    """Cut the connection of a request, unless it is gone already."""
    if request.transport is not None:
        request.transport.abort()


@final
class FakeResource:
    """One resource with versions, paged lists and watches that can be made to misbehave."""

    def __init__(self, server: FakeServer, path: str, *, version: int = 100) -> None:
        self.version = version
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.compacted = 0
        self.expire_continue = False
        self.offers_streaming_lists = False
        self.watching: dict[asyncio.Queue[bytes | None], web.Request] = {}
        self._tokens: dict[str, tuple[list[dict[str, Any]], int]] = {}
        server.routes[path] = self.serve

    def put(self, name: str, **fields: Any) -> dict[str, Any]:
        """Create or change an object."""
        self.version += 1
        old = self.objects.get(name)
        uid = fields.pop("uid", old["metadata"]["uid"] if old else f"uid-{name}")
        meta = {"namespace": "ns", "name": name, "uid": uid, "resourceVersion": str(self.version)}
        obj = {"metadata": meta, "spec": {}, "status": {}} | fields
        self.objects[name] = obj
        self._publish("MODIFIED" if old else "ADDED", obj)
        return obj

    def delete(self, name: str) -> None:
        """Delete an object."""
        self.version += 1
        obj = self.objects.pop(name)
        obj = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}
        self._publish("DELETED", obj)

    def _publish(self, kind: str, obj: dict[str, Any]) -> None:
        self.history.append((self.version, kind, obj))
        self.send(json.dumps({"type": kind, "object": obj}).encode())

    def send(self, line: bytes) -> None:
        """Put a raw line into every open watch."""
        for queue in self.watching:
            queue.put_nowait(line)

    def bookmark(self, version: int, **meta: Any) -> None:
        """Send a bookmark."""
        obj = {"kind": "Pod", "metadata": {"resourceVersion": str(version)} | meta, "spec": {"containers": None}}
        self.send(json.dumps({"type": "BOOKMARK", "object": obj}).encode())

    def error(self, code: int, reason: str) -> None:
        """Send an ERROR event and end the watches."""
        self.send(json.dumps({"type": "ERROR", "object": status_body(code, reason)}).encode())
        self.end()

    def end(self) -> None:
        """End every watch properly."""
        for queue in self.watching:
            queue.put_nowait(None)

    def cut(self) -> None:
        """Cut the connection of every watch."""
        for request in tuple(self.watching.values()):
            abort(request)

    def compact(self) -> None:
        """Forget the past: watches from before now answer 410."""
        self.compacted = self.version
        self.history.clear()

    def lose(self) -> None:
        """Cut every watch and forget the past."""
        self.cut()
        self.compact()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """List or watch."""
        if request.query.get("watch") == "true":
            return await self._watch(request)
        return self._list(request)

    def _list(self, request: web.Request) -> web.StreamResponse:
        token = request.query.get("continue", "")
        if token and self.expire_continue:
            self.expire_continue = False
            return web.json_response(status_body(410, "Expired"), status=410)
        items, version = self._tokens.pop(token) if token else (list(self.objects.values()), self.version)
        limit = int(request.query.get("limit", "0")) or len(items)
        meta = {"resourceVersion": str(version)}
        if len(items) > limit:
            meta["continue"] = f"token-{len(self.history)}-{len(items)}"
            self._tokens[meta["continue"]] = (items[limit:], version)
        return web.json_response({"kind": "PodList", "metadata": meta, "items": items[:limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        initial = request.query.get("sendInitialEvents") == "true"
        if initial and not self.offers_streaming_lists:
            return web.json_response(status_body(422, "Invalid"), status=422)
        since = int(request.query.get("resourceVersion") or "0")
        response = web.StreamResponse()
        await response.prepare(request)
        if not initial and since < self.compacted:
            await response.write(json.dumps({"type": "ERROR", "object": status_body(410, "Expired")}).encode() + b"\n")
            return response
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        if initial:
            for obj in self.objects.values():
                queue.put_nowait(json.dumps({"type": "ADDED", "object": obj}).encode())
            end = {"resourceVersion": str(self.version), "annotations": {"k8s.io/initial-events-end": "true"}}
            queue.put_nowait(json.dumps({"type": "BOOKMARK", "object": {"metadata": end}}).encode())
        else:
            for version, kind, obj in self.history:
                if version > since:
                    queue.put_nowait(json.dumps({"type": kind, "object": obj}).encode())
        self.watching[queue] = request
        try:
            while (line := await queue.get()) is not None:
                await response.write(line + b"\n")
        finally:
            del self.watching[queue]
        return response


@final
class FakeObject:
    """One object that can be created, read and replaced, with conflicts, as a Lease is."""

    def __init__(self, server: FakeServer, collection: str, name: str) -> None:
        self.stored: dict[str, Any] | None = None
        self.version = 100
        self.down = False
        server.routes[collection] = self._create
        server.routes[f"{collection}/{name}"] = self._item

    def store(self, obj: dict[str, Any]) -> None:
        """Keep a new state under a new version."""
        self.version += 1
        self.stored = obj | {"metadata": obj["metadata"] | {"resourceVersion": str(self.version)}}

    async def _create(self, request: web.Request) -> web.StreamResponse:
        if self.down:
            return web.json_response(status_body(500, "InternalError"), status=500)
        if self.stored is not None:
            return web.json_response(status_body(409, "AlreadyExists"), status=409)
        self.store(await request.json())
        return web.json_response(self.stored, status=201)

    async def _item(self, request: web.Request) -> web.StreamResponse:
        if self.down:
            return web.json_response(status_body(500, "InternalError"), status=500)
        if self.stored is None:
            return web.json_response(status_body(404, "NotFound"), status=404)
        if request.method == "PUT":
            body = await request.json()
            if body["metadata"].get("resourceVersion") != self.stored["metadata"]["resourceVersion"]:
                return web.json_response(status_body(409, "Conflict"), status=409)
            self.store(body)
        return web.json_response(self.stored)
