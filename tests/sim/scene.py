"""A server and the whole simulation in the test's own event loop, with pods that take no time."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, final

from stowplan.apiserver.embedded import EmbeddedServer
from stowplan.apiserver.options import ServerOptions
from stowplan.client import paths
from stowplan.client.connection import Connection
from stowplan.client.credentials import bearer_token
from stowplan.client.errors import Conflict, NotFound
from stowplan.client.paths import Resource
from stowplan.client.tls import TlsSettings
from stowplan.client.transport import MERGE_PATCH, ApiClient
from stowplan.clock import SystemClock
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.pools import Pool, Shape
from stowplan.sim.cluster.running import Standing, simulate

Json = dict[str, Any]

SECONDS = 20.0
QUICK = Pace(starting=0.0, spread=0.0, stopping=0.0, jobs=0.0, retrying=0.01, provisioning=0.0, quarantine=0.05)


@final
@dataclass(frozen=True)
class Scene:
    """What a story acts on."""

    client: ApiClient

    async def create(self, resource: Resource, body: Json, namespace: str = "default") -> Json:
        """Create an object."""
        where = namespace if resource.namespaced else ""
        made: Json = await self.client.post(resource.collection(where), body)
        return made

    async def get(self, resource: Resource, name: str, namespace: str = "default") -> Json:
        """An object."""
        found: Json = await self.client.get_json(resource.item(name, namespace if resource.namespaced else ""))
        return found

    async def list(self, resource: Resource, selector: str = "", namespace: str = "default") -> list[Json]:
        """The objects of a namespace, by name."""
        where = namespace if resource.namespaced else ""
        found = await self.client.get_json(resource.collection(where), {"labelSelector": selector})
        items: list[Json] = found["items"]
        return sorted(items, key=lambda item: str(item["metadata"]["name"]))

    async def patch(self, resource: Resource, name: str, change: Json, subresource: str = "") -> None:
        """Merge a change into an object."""
        path = resource.item(name, "default" if resource.namespaced else "", subresource)
        await self.client.patch(path, change, content_type=MERGE_PATCH)

    async def delete(self, resource: Resource, name: str, policy: str = "Background") -> None:
        """Delete an object."""
        options = {"kind": "DeleteOptions", "propagationPolicy": policy}
        await self.client.delete(resource.item(name, "default" if resource.namespaced else ""), options)

    async def until(self, condition: Callable[[], Awaitable[object]]) -> None:
        """Wait until a condition holds; what it last said when it never does."""
        said: object = None
        try:
            async with asyncio.timeout(SECONDS):
                while not (said := await condition()):
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"still not so after {SECONDS:g} s; at last: {said!r}") from None

    async def gone(self, resource: Resource, name: str) -> None:
        """Wait until an object is gone."""

        async def is_gone() -> bool:
            try:
                await self.get(resource, name)
            except NotFound:
                return True
            return False

        await self.until(is_gone)

    async def status(self, resource: Resource, name: str, wanted: Mapping[str, Any]) -> Json:
        """Wait until the status of an object says all this; the object then."""
        found: Json = {}

        async def says_so() -> bool:
            nonlocal found
            found = await self.get(resource, name)
            status = found.get("status") or {}
            current = status.get("observedGeneration", 0) >= found["metadata"].get("generation", 0)
            stale = "observedGeneration" in status and not current
            return not stale and all(status.get(key) == value for key, value in wanted.items())

        try:
            await self.until(says_so)
        except AssertionError:
            raise AssertionError(f"wanted {dict(wanted)}, the status is {found.get('status')}") from None
        return found


async def bind_pods(client: ApiClient) -> None:
    """A scheduler of the simplest kind: pods go where they must, else round the nodes that are open."""
    turn = 0
    while True:
        pods = (await client.get_json(paths.PODS.collection(), {"fieldSelector": "spec.nodeName="}))["items"]
        nodes = (await client.get_json(paths.NODES.collection()))["items"]
        open_nodes = [node["metadata"]["name"] for node in nodes if not node["spec"].get("taints")]
        for pod in pods:
            target = _must(pod) or (open_nodes[turn % len(open_nodes)] if open_nodes else "")
            turn += 1
            if target and not pod["metadata"].get("deletionTimestamp"):
                await _bind(client, pod, target)
        await asyncio.sleep(0.02)


async def _bind(client: ApiClient, pod: Json, node: str) -> None:
    meta = pod["metadata"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": meta["name"], "uid": meta["uid"]},
        "target": {"kind": "Node", "name": node},
    }
    try:
        await client.post(paths.PODS.item(meta["name"], meta["namespace"], "binding"), binding)
    except (Conflict, NotFound):
        return


def _must(pod: Json) -> str:
    required = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            name: str = field["values"][0]
            return name
    return ""


@asynccontextmanager
async def simulated(
    *, nodes: int = 3, pace: Pace = QUICK, scheduled: bool = True, pools: tuple[Pool, ...] = ()
) -> AsyncIterator[Scene]:
    """A simulated cluster for the length of the block; a controller that fails ends the test."""
    clock = SystemClock()
    server = EmbeddedServer(ServerOptions(), clock=clock)
    await server.start()
    connection = Connection(
        server=server.url,
        tls=TlsSettings(ca_data=server.authority_pem),
        credentials=bearer_token(server.token),
    )
    shape = Shape(pools=pools or (Pool("pool", nodes, prefix="node-"),), pace=pace)
    ready = asyncio.Event()

    def announce(_standing: Standing) -> None:
        ready.set()

    tasks = [asyncio.create_task(simulate(connection, shape, clock=clock, rng=random.Random(1), ready=announce))]
    try:
        async with ApiClient(connection, clock=clock) as client:
            async with asyncio.timeout(SECONDS):
                await ready.wait()
            if scheduled:
                tasks.append(asyncio.create_task(bind_pods(client)))
            yield Scene(client)
            for task in tasks:
                assert not task.done(), task
            for task in reversed(tasks):
                task.cancel()
            await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await server.stop()
