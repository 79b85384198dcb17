"""A scheduler of this process on a test's API server, with the test's hands on both."""

import asyncio
import json
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, final

from stowplan.client.connection import Connection
from stowplan.client.credentials import bearer_token
from stowplan.client.errors import ClientError, NotFound
from stowplan.client.tls import TlsSettings
from stowplan.client.transport import MERGE_PATCH, ApiClient
from stowplan.clock import SystemClock
from stowplan.composition import Setup, set_up
from stowplan.daemon.live import BindingExtender
from stowplan.daemon.scheduler import Scheduler
from stowplan.framework.plugin import Plugin
from tests.daemon.api import ApiServer
from tests.daemon.invariants import check_at_rest, check_places

Json = dict[str, Any]

PATIENCE = 15.0
"""Seconds until a condition that does not come true fails the test."""

COLLECTIONS = {
    "Node": ("/api/v1", "nodes", False),
    "Namespace": ("/api/v1", "namespaces", False),
    "Pod": ("/api/v1", "pods", True),
    "Service": ("/api/v1", "services", True),
    "PersistentVolume": ("/api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims", True),
    "StorageClass": ("/apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("/apis/storage.k8s.io/v1", "csinodes", False),
    "CSIDriver": ("/apis/storage.k8s.io/v1", "csidrivers", False),
    "CSIStorageCapacity": ("/apis/storage.k8s.io/v1", "csistoragecapacities", True),
    "RuntimeClass": ("/apis/node.k8s.io/v1", "runtimeclasses", False),
    "PriorityClass": ("/apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "PodDisruptionBudget": ("/apis/policy/v1", "poddisruptionbudgets", True),
    "ReplicaSet": ("/apis/apps/v1", "replicasets", True),
    "StatefulSet": ("/apis/apps/v1", "statefulsets", True),
    "DeviceClass": ("/apis/resource.k8s.io/v1", "deviceclasses", False),
    "ResourceSlice": ("/apis/resource.k8s.io/v1", "resourceslices", False),
    "ResourceClaim": ("/apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("/apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "Event": ("/apis/events.k8s.io/v1", "events", True),
}
LEFT_BEHIND = (
    "Pod",
    "Node",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "PodDisruptionBudget",
    "PriorityClass",
    "RuntimeClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "ResourceSlice",
    "DeviceClass",
)
"""What one test must not leave to the next, since the scheduler looks at all of it."""


@final
class Hands:
    """An administrator of the server, at home in one namespace."""

    def __init__(self, client: ApiClient, namespace: str) -> None:
        self.client = client
        self.namespace = namespace

    def path(self, kind: str, name: str = "", subresource: str = "") -> str:
        """Where objects live."""
        base, plural, namespaced = COLLECTIONS[kind]
        parts = [base, f"namespaces/{self.namespace}" if namespaced else "", plural, name, subresource]
        return "/".join(part for part in parts if part)

    async def create(self, *objects: Json) -> None:
        """Create objects, with their status, which a server takes from nodes only."""
        for obj in objects:
            made = await self.client.post(self.path(obj["kind"]), obj)
            if "status" in obj and obj["kind"] != "Node":
                path = self.path(obj["kind"], obj["metadata"]["name"], "status")
                await self.client.put(path, {**made, "status": obj["status"]})

    async def get(self, kind: str, name: str) -> Json:
        """One object."""
        found: Json = await self.client.get_json(self.path(kind, name))
        return found

    async def items(self, kind: str) -> list[Json]:
        """All objects of a kind."""
        found: list[Json] = (await self.client.get_json(self.path(kind)))["items"]
        return found

    async def patch(self, kind: str, name: str, change: Json, subresource: str = "") -> None:
        """Merge a change into an object."""
        await self.client.patch(self.path(kind, name, subresource), change, content_type=MERGE_PATCH)

    async def delete(self, kind: str, name: str, grace: int | None = 0) -> None:
        """Delete an object; at once, unless told otherwise."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        await self.client.delete(self.path(kind, name), options)

    async def nodes_of(self, prefix: str = "") -> dict[str, str | None]:
        """Pods and the nodes they are bound to."""
        return {
            pod["metadata"]["name"]: pod["spec"].get("nodeName")
            for pod in await self.items("Pod")
            if pod["metadata"]["name"].startswith(prefix)
        }

    async def node_of(self, name: str) -> str | None:
        """The node a pod is bound to."""
        node: str | None = (await self.get("Pod", name))["spec"].get("nodeName")
        return node

    async def condition(self, name: str, type_: str = "PodScheduled") -> Json:
        """A condition of a pod; empty when it has none."""
        conditions = (await self.get("Pod", name))["status"].get("conditions") or []
        return next((one for one in conditions if one["type"] == type_), {})

    async def message(self, name: str) -> str:
        """What the PodScheduled condition says."""
        return str((await self.condition(name)).get("message", ""))

    async def nominated(self, name: str) -> str | None:
        """The node nominated for a pod."""
        node: str | None = (await self.get("Pod", name))["status"].get("nominatedNodeName")
        return node

    async def events(self, name: str) -> list[tuple[str, str]]:
        """Reason and note of the events about an object, oldest first."""
        found = [event for event in await self.items("Event") if event["regarding"].get("name") == name]
        found.sort(key=lambda event: event.get("eventTime") or "")
        return [(event["reason"], event.get("note", "")) for event in found]

    async def told(self, name: str, reason: str) -> tuple[str, str]:
        """Wait for an event about an object; reason and note."""

        async def is_told() -> bool:
            return any(told == reason for told, _ in await self.events(name))

        await until(is_told, f"{reason} is told of {name}")
        return next((told, note) for told, note in await self.events(name) if told == reason)

    async def bind(self, name: str, node: str) -> None:
        """Bind a pod by hand."""
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": node},
        }
        await self.client.post(self.path("Pod", name, "binding"), binding)

    async def bound(self, name: str, *, to: str | None = None) -> str:
        """Wait until a pod is bound; the node."""

        async def is_bound() -> bool:
            return bool(await self.node_of(name))

        await until(is_bound, f"pod {name} is bound")
        node = await self.node_of(name)
        assert node is not None
        if to is not None:
            assert to == node
        return node

    async def unschedulable(self, name: str, text: str = "") -> str:
        """Wait until a pod is said to be unschedulable, in words that hold a text; the words."""

        async def is_told() -> bool:
            condition = await self.condition(name)
            return condition.get("status") == "False" and text in condition.get("message", "")

        await until(is_told, f"pod {name} is unschedulable: {text}")
        return await self.message(name)

    async def gone(self, kind: str, name: str) -> None:
        """Wait until an object is gone."""

        async def is_gone() -> bool:
            try:
                await self.get(kind, name)
            except NotFound:
                return True
            return False

        await until(is_gone, f"{kind} {name} is gone")

    async def clean(self) -> None:
        """Take away what the next test would trip over."""
        for kind in LEFT_BEHIND:
            base, plural, _ = COLLECTIONS[kind]
            for obj in (await self.client.get_json(f"{base}/{plural}"))["items"]:
                meta = obj["metadata"]
                if meta["name"].startswith("system-"):
                    continue
                place = f"{base}/namespaces/{meta['namespace']}" if "namespace" in meta else base
                path = f"{place}/{plural}/{meta['name']}"
                try:
                    if meta.get("finalizers"):
                        await self.client.patch(path, {"metadata": {"finalizers": None}}, content_type=MERGE_PATCH)
                    if not meta.get("deletionTimestamp") or kind == "Pod":
                        await self.client.delete(path, {"gracePeriodSeconds": 0})
                except NotFound:
                    continue


@final
@dataclass(slots=True)
class Write:
    """A request of the scheduler that changes something."""

    method: str
    path: str
    body: Any
    code: int = 0


@final
@dataclass(slots=True, kw_only=True)
class Scene:
    """A server, an administrator, and a scheduler at work."""

    server: ApiServer
    hands: Hands
    scheduler: Scheduler
    setup: Setup
    writes: list[Write] = field(default_factory=list)

    async def settled(self) -> None:
        """Wait until the scheduler has nothing to do and nothing under way; then check that all is in its place."""
        live = self.scheduler.live

        async def rests() -> bool:
            counts = live.queue.counts()
            busy = counts["active"] + counts["in-flight"] + len(live.tasks) + sum(1 for _ in live.cluster.assumed())
            return not busy and not live.queue.has_work()

        await until(rests, "the scheduler rests")

    async def agrees(self) -> None:
        """Wait until the watch has caught up, which takes its time after a cut: the columns hold what the API holds."""
        await self.settled()
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    return await check_at_rest(self.scheduler, self.hands.client)
                except AssertionError as disagreement:
                    await self._hear_more(disagreement)

    async def _hear_more(self, disagreement: AssertionError) -> None:
        """Wait for news from the watches; without any the disagreement stands."""
        version = self.scheduler.following.pods.last_resource_version
        try:
            async with asyncio.timeout(PATIENCE / 2):
                while version == self.scheduler.following.pods.last_resource_version:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise disagreement from None
        await self.settled()


async def until(holds: Callable[[], Awaitable[bool]], what: str, *, within: float = PATIENCE) -> None:
    """Wait until something holds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within
    while not await holds():
        assert loop.time() < end, f"not within {within:g} s: {what}"
        await asyncio.sleep(0.02)


def new_client(server: ApiServer, token: str, url: str = "") -> ApiClient:
    """A client of a server, or of what stands before it."""
    connection = Connection(
        server=url or server.url, tls=TlsSettings(ca_data=server.authority), credentials=bearer_token(token)
    )
    return ApiClient(connection, clock=SystemClock())


def record_writes(client: ApiClient, into: list[Write]) -> None:
    """Keep every request of a client that changes something, in order of completion."""
    send = client.request

    async def request(method: str, path: str, **others: Any) -> bytes:
        body = others.get("body")
        write = Write(method, path, None if body is None else json.loads(body))
        try:
            answer = await send(method, path, **others)
            write.code = 201 if method == "POST" else 200
        except ClientError as error:
            write.code = getattr(error, "code", 0) or 0
            raise
        finally:
            if method != "GET":
                into.append(write)
        return answer

    client.request = request  # type: ignore[method-assign]


@asynccontextmanager
async def administrator(server: ApiServer) -> AsyncIterator[Hands]:
    """Hands in a fresh namespace on a clean server."""
    async with new_client(server, server.admin_token) as client:
        hands = Hands(client, f"t-{uuid.uuid4().hex[:8]}")
        await hands.clean()
        await hands.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": hands.namespace}})
        yield hands
        await hands.clean()


@asynccontextmanager
async def scheduling(
    server: ApiServer,
    hands: Hands,
    *,
    configuration: str = "",
    plugins: Iterable[type[Plugin]] = (),
    extenders: Sequence[BindingExtender] = (),
    url: str = "",
) -> AsyncIterator[Scene]:
    """A scheduler at work as long as the block; what it knows is checked all along and at the end."""
    clock = SystemClock()
    setup = set_up(configuration.encode() if configuration else None, plugins=plugins)
    async with (
        new_client(server, server.scheduler_token, url) as client,
        new_client(server, server.scheduler_token, url) as events_client,
    ):
        writes: list[Write] = []
        record_writes(client, writes)
        record_writes(events_client, writes)
        scheduler = Scheduler(
            setup,
            client=client,
            events_client=events_client,
            clock=clock,
            rng=Random(1),
            host="host",
            extenders=extenders,
        )
        scene = Scene(server=server, hands=hands, scheduler=scheduler, setup=setup, writes=writes)
        tasks = [asyncio.create_task(scheduler.follow()), asyncio.create_task(scheduler.lead())]
        watchman = asyncio.create_task(_watch_over(scheduler, tasks))
        try:
            await asyncio.wait_for(scheduler.following.synced(), PATIENCE)
            yield scene
            assert not watchman.done(), watchman.exception()
            check_places(scheduler)
        finally:
            for task in (watchman, *reversed(tasks)):
                task.cancel()
            await asyncio.gather(watchman, *tasks, return_exceptions=True)


async def _watch_over(scheduler: Scheduler, tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Whoever looks, whenever: every pod is in its place, and nobody has given up."""
    while True:
        check_places(scheduler)
        for task in tasks:
            assert not task.done(), f"the scheduler ended: {task}"
        await asyncio.sleep(0.005)


@asynccontextmanager
async def scene(server: ApiServer, **options: Any) -> AsyncIterator[Scene]:
    """A clean server, an administrator and a scheduler."""
    async with administrator(server) as hands, scheduling(server, hands, **options) as made:
        yield made


def trusting(server: ApiServer) -> ssl.SSLContext:
    """TLS that trusts a server."""
    return ssl.create_default_context(cadata=server.authority.decode())
