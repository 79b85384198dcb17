"""Namespaces that are deleted: everything in them goes, then they do.

Upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go (v1.36.4).
"""

import asyncio
from typing import Any, final

from stowplan.api.meta import time_text
from stowplan.client.errors import MethodNotAllowed, NotFound
from stowplan.client.paths import Resource
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.objects import is_deleting, key_of, name_of, spec_of, status_of
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.discovery import discover

Json = dict[str, Any]

AGAIN = 0.3
AT_ONCE = 8
FINALIZER = "kubernetes"


@final
class Namespaces:
    """Empties and releases namespaces."""

    name = "namespaces"
    workers = 4

    def __init__(self, client: ApiClient, inventory: Inventory, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._client = client
        self._namespaces = inventory.namespaces
        self._clock = clock
        self._slots = asyncio.Semaphore(AT_ONCE)
        inventory.namespaces.listen(self._changed)

    async def reconcile(self, key: str) -> float | None:
        """Delete what is in a terminating namespace; let it go when nothing is."""
        namespace = self._namespaces.get(key)
        if namespace is None or not is_deleting(namespace) or FINALIZER not in _finalizers(namespace):
            return None
        served = await discover(self._client)
        here = [one.resource for one in served if one.resource.namespaced and one.verbs >= {"list", "deletecollection"}]
        counts = await asyncio.gather(*(self._empty(resource, key) for resource in here))
        left = {resource: count for resource, count in zip(here, counts, strict=True) if count}
        if left:
            await self._say(namespace, left)
            return AGAIN
        finalizers = [name for name in _finalizers(namespace) if name != FINALIZER]
        released = {**namespace, "spec": {**spec_of(namespace), "finalizers": finalizers}}
        await self._namespaces.update("", key, released, subresource="finalize")
        return None

    async def _empty(self, resource: Resource, namespace: str) -> int:
        """Delete all objects of a resource; how many there still are."""
        path = resource.collection(namespace)
        async with self._slots:
            try:
                found = await self._client.get_json(path, {"limit": 1})
                if not found.get("items"):
                    return 0
                await self._client.delete(path, {"kind": "DeleteOptions", "propagationPolicy": "Background"})
                found = await self._client.get_json(path, {"limit": 1})
            except (NotFound, MethodNotAllowed):
                return 0
        return len(found.get("items") or ()) + (found["metadata"].get("remainingItemCount") or 0)

    async def _say(self, namespace: Json, left: dict[Resource, int]) -> None:
        named = ", ".join(f"{_qualified(resource)} has {count} resource instances" for resource, count in left.items())
        condition = {
            "type": "NamespaceContentRemaining",
            "status": "True",
            "reason": "SomeResourcesRemain",
            "message": f"Some resources are remaining: {named}",
            "lastTransitionTime": time_text(self._clock.now()),
        }
        known = status_of(namespace).get("conditions") or []
        if any(condition.items() - {"lastTransitionTime": ""}.items() <= old.items() for old in known):
            return
        change = {"status": {"conditions": [condition]}}
        await self._namespaces.patch("", name_of(namespace), change, subresource="status")

    def _changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None and is_deleting(new):
            self.queue.add(key_of(new))


def _finalizers(namespace: Json) -> list[str]:
    return spec_of(namespace).get("finalizers") or []


def _qualified(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else f"{resource.plural}."
