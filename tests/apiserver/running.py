"""A server in the test's own event loop, and a client that says what it got."""

import asyncio
import io
import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, final

import aiohttp

from stowplan.apiserver.embedded import EmbeddedServer
from stowplan.apiserver.options import ServerOptions
from stowplan.clock import Clock

Json = dict[str, Any]

PODS = "/api/v1/namespaces/default/pods"
NODES = "/api/v1/nodes"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"
TIMEOUT = aiohttp.ClientTimeout(total=30)


@final
@dataclass(frozen=True)
class Got:
    """An answer."""

    status: int
    body: bytes
    headers: Mapping[str, str]
    warnings: tuple[str, ...]

    @property
    def json(self) -> Json:
        """The answer as an object."""
        value: Json = json.loads(self.body)
        return value

    @property
    def message(self) -> str:
        """What a refusal says."""
        return str(self.json.get("message", ""))

    @property
    def reason(self) -> str:
        """Why a request is refused, in one word."""
        return str(self.json.get("reason", ""))


@final
class Session:
    """A client of one server."""

    def __init__(self, server: EmbeddedServer, http: aiohttp.ClientSession) -> None:
        self.server = server
        self.http = http
        self.token = server.token

    async def call(
        self, method: str, path: str, body: object = None, *, content_type: str = "application/json",
        token: str | None = None, headers: Mapping[str, str] | None = None,
    ) -> Got:  # fmt: skip
        """Send one request."""
        sent = {"Authorization": f"Bearer {self.token if token is None else token}", **(headers or {})}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        if data is not None:
            sent["Content-Type"] = content_type
        stream = None if data is None else io.BytesIO(data)
        async with self.http.request(method, self.server.url + path, data=stream, headers=sent) as response:
            return Got(
                response.status, await response.read(), response.headers, tuple(response.headers.getall("Warning", []))
            )

    async def get(self, path: str, **headers: str) -> Got:
        """GET."""
        return await self.call("GET", path, headers={name.replace("_", "-"): text for name, text in headers.items()})

    async def post(self, path: str, body: object) -> Got:
        """POST."""
        return await self.call("POST", path, body)

    async def put(self, path: str, body: object) -> Got:
        """PUT."""
        return await self.call("PUT", path, body)

    async def patch(self, path: str, body: object, kind: str = MERGE) -> Got:
        """PATCH."""
        return await self.call("PATCH", path, body, content_type=kind)

    async def delete(self, path: str, body: object = None) -> Got:
        """DELETE."""
        return await self.call("DELETE", path, body)

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator["Stream"]:
        """An open watch."""
        separator = "&" if "?" in path else "?"
        url = f"{self.server.url}{path}{separator}watch=true"
        headers = {"Authorization": f"Bearer {self.token}"}
        async with self.http.get(url, headers=headers) as response:
            yield Stream(response)


@final
class Stream:
    """The events of a watch."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self, timeout: float = 5.0) -> Json:
        """The next event."""
        text = await asyncio.wait_for(self.response.content.readline(), timeout)
        assert text, "the watch has ended"
        event: Json = json.loads(text)
        return event

    async def names(self, count: int) -> list[tuple[str, str]]:
        """Type and name of the next events."""
        events = [await self.next() for _ in range(count)]
        return [(event["type"], event["object"]["metadata"]["name"]) for event in events]


@asynccontextmanager
async def running(options: ServerOptions | None = None, clock: Clock | None = None) -> AsyncIterator[Session]:
    """A server that lives as long as the block."""
    server = EmbeddedServer(options or ServerOptions(), clock=clock)
    await server.start()
    trust = ssl.create_default_context(cadata=server.authority_pem.decode())
    connector = aiohttp.TCPConnector(ssl=trust)
    try:
        async with aiohttp.ClientSession(connector=connector, timeout=TIMEOUT) as http:
            yield Session(server, http)
    finally:
        await server.stop()


def pod(name: str, **spec: Any) -> Json:
    """A small pod."""
    labels = spec.pop("labels", {"app": "web"})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}], **spec},
    }


def node(name: str, **capacity: str) -> Json:
    """A node that has something."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "status": {"capacity": {"cpu": "4", "memory": "8Gi", "pods": "110", **capacity}},
    }


def config_map(name: str, **data: str) -> Json:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def deployment(name: str, replicas: int = 1, image: str = "nginx:1") -> Json:
    """A Deployment."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }
