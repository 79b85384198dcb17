"""A stand-in for the API as plugins write to it."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec

from stowplan.api.resource import ResourceClaim
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.framework.plugin import ApiConflict, ApiFailure


class FakeApi:
    """Stores claims as an API server does, and notes what it is asked for."""

    def __init__(self, state: Cluster) -> None:
        self.state = state
        self.claims = dict(state.objects.all(ResourceClaim))
        self.asked: list[str] = []
        self.failures: dict[str, list[ApiFailure]] = {}
        self.on_pause: Callable[[], None] = lambda: None
        self.time = 1_800_000_000.0

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.failures.get(what):
            raise self.failures[what].pop(0)

    def _store(self, obj: ResourceClaim) -> ResourceClaim:
        version = 1 + max([0, *(int(one.metadata.resource_version) for one in self.claims.values())])
        metadata = msgspec.structs.replace(obj.metadata, resource_version=str(version))
        stored = msgspec.structs.replace(obj, metadata=metadata)
        self.claims[stored.key] = stored
        return stored

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        raise AssertionError("the plugin does not bind")

    async def update(self, obj: Any, *, subresource: str = "") -> Any:
        self._ask(f"update {obj.name}{'/' if subresource else ''}{subresource}")
        await asyncio.sleep(0)
        stored = self.claims.get(obj.key)
        if stored is not None and stored.metadata.resource_version != obj.metadata.resource_version:
            raise ApiConflict(f"{obj.key} was changed")
        return self._store(obj)

    async def create(self, obj: Any) -> Any:
        self._ask(f"create {obj.metadata.generate_name}")
        metadata = msgspec.structs.replace(obj.metadata, name=obj.metadata.generate_name + "x", uid="made")
        return self._store(msgspec.structs.replace(obj, metadata=metadata))

    async def get(self, kind: type[Any], key: str) -> Any:
        self._ask(f"get {key}")
        return self.claims[key]

    async def patch(self, obj: Any, patch: bytes, *, subresource: str = "") -> Any:
        self._ask(f"patch {obj.name}/{subresource} {patch.decode()}")
        return obj

    async def pause(self, seconds: float) -> None:
        self.time += seconds
        self.on_pause()

    def now(self) -> float:
        return self.time

    def event(self, pod: PodInfo, reason: str, action: str, note: str) -> None:
        self.asked.append(f"event {reason} {action}: {note}")
