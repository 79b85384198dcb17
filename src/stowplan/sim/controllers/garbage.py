"""Garbage collection: objects go when the last of their owners has gone, before or after it, as was asked.

Upstream: pkg/controller/garbagecollector/garbagecollector.go, operations.go (v1.36.4).
"""

import asyncio
import random
from collections.abc import Callable
from typing import Any, final

import msgspec

from stowplan.api.meta import ObjectMeta, OwnerReference, Record
from stowplan.client.decoding import RecordDecoder
from stowplan.client.errors import NotFound
from stowplan.client.paths import Resource
from stowplan.client.transport import MERGE_PATCH, ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.dependents import FOREGROUND, ORPHAN, Family, Member
from stowplan.sim.controllers.discovery import discover

Json = dict[str, Any]

IGNORED = frozenset({("", "events"), ("events.k8s.io", "events")})
DEFINITIONS = ("apiextensions.k8s.io", "customresourcedefinitions")
NEEDED = frozenset({"list", "watch", "delete"})
# A new kind is served a moment after its definition is there.
SETTLE = 0.5


class MetaOnly(Record, frozen=True):
    """Any object, for its metadata."""

    metadata: ObjectMeta = ObjectMeta()


@final
class Garbage:
    """Knows the metadata of everything that can be deleted. Run `follow` beside it."""

    name = "garbage"
    workers = 16

    def __init__(self, client: ApiClient, inventory: Inventory, *, clock: Clock, rng: random.Random) -> None:
        self.queue = WorkQueue()
        self._client = client
        self._clock = clock
        self._rng = rng
        self._family = Family()
        self._kinds: dict[tuple[str, str], Resource] = {}  # apiVersion and kind -> where it lives
        self._followed: dict[tuple[str, str], asyncio.Task[None] | None] = {}
        self._rediscover = asyncio.Event()
        for collection in inventory.all:
            resource = collection.resource
            self._followed[resource.group, resource.plural] = None
            collection.listen(self._listener(resource, _pod_meta if collection is inventory.pods else _json_meta))

    async def follow(self) -> None:
        """Watch all kinds that the inventory does not hold, also those that are defined later."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._rediscover.clear()
                await self._discover(group)
                await self._rediscover.wait()
                await asyncio.sleep(SETTLE)

    async def _discover(self, group: asyncio.TaskGroup) -> None:
        served = [one for one in await discover(self._client) if one.verbs >= NEEDED]
        present = {(one.resource.group, one.resource.plural) for one in served}
        for gone in [key for key, task in self._followed.items() if task is not None and key not in present]:
            task = self._followed.pop(gone)
            if task is not None:
                task.cancel()
        self._kinds = {(one.resource.api_version, one.resource.kind): one.resource for one in served}
        for one in served:
            key = (one.resource.group, one.resource.plural)
            if key not in self._followed and key not in IGNORED:
                self._followed[key] = group.create_task(self._watch(one.resource), name=f"garbage {key[1]}")

    async def _watch(self, resource: Resource) -> None:
        decoder = RecordDecoder(MetaOnly)
        found = Collection(self._client, resource, MetaOnly, decoder, clock=self._clock, rng=self._rng)
        found.listen(self._listener(resource, lambda obj: obj.metadata))
        if (resource.group, resource.plural) == DEFINITIONS:
            found.listen(lambda _old, _new: self._rediscover.set())
        await found.follow()

    def _listener(self, resource: Resource, meta_of: Callable[[Any], ObjectMeta]) -> Callable[[Any, Any], None]:
        def changed(old: Any, new: Any) -> None:
            if new is not None:
                self._put(Member(resource, meta_of(new)))
            elif old is not None:
                self._drop(meta_of(old).uid)

        return changed

    def _put(self, member: Member) -> None:
        self._family.put(member)
        if member.deleting or member.meta.owner_references:
            self.queue.add(member.meta.uid)
        if member.waits_for_dependents:
            for dependent in self._family.dependents(member.meta.uid):
                self.queue.add(dependent.meta.uid)

    def _drop(self, uid: str) -> None:
        gone = self._family.drop(uid)
        for dependent in self._family.dependents(uid):
            self.queue.add(dependent.meta.uid)
        for owner in gone.meta.owner_references if gone is not None else ():
            above = self._family.members.get(owner.uid)
            if above is not None and above.deleting:
                self.queue.add(owner.uid)

    async def reconcile(self, key: str) -> float | None:
        """Do what one object needs: be deleted, be released, or have its dependents seen to."""
        member = self._family.members.get(key)
        if member is None:
            return None
        if member.leaves_orphans:
            await self._orphan(member)
        elif member.waits_for_dependents:
            await self._finish_foreground(member)
        elif not member.deleting and member.meta.owner_references:
            await self._judge(member)
        return None

    async def _orphan(self, member: Member) -> None:
        for dependent in self._family.dependents(member.meta.uid):
            await self._release(dependent, {member.meta.uid})
        await self._remove_finalizer(member, ORPHAN)

    async def _finish_foreground(self, member: Member) -> None:
        dependents = self._family.dependents(member.meta.uid)
        blocking = [one for one in dependents if _blocks(one, member.meta.uid)]
        if not blocking:
            await self._remove_finalizer(member, FOREGROUND)
            return
        for dependent in dependents:
            if not dependent.deleting:
                self.queue.add(dependent.meta.uid)

    async def _judge(self, member: Member) -> None:
        """Keep, release or delete an object, by what has become of its owners."""
        solid, gone, waiting = 0, set[str](), set[str]()
        for owner in member.meta.owner_references:
            above = self._family.members.get(owner.uid)
            if above is None and not await self._exists(owner, member.meta.namespace):
                gone.add(owner.uid)
            elif above is not None and above.waits_for_dependents:
                waiting.add(owner.uid)
            else:
                solid += 1
        if solid:
            if gone or waiting:
                await self._release(member, gone | waiting)
            return
        if not gone and not waiting:
            return
        below = self._family.dependents(member.meta.uid)
        if waiting and below:
            policy = "Foreground"
        elif ORPHAN in member.meta.finalizers:
            policy = "Orphan"
        else:
            policy = "Foreground" if FOREGROUND in member.meta.finalizers else "Background"
        await self._delete(member, policy)

    async def _exists(self, owner: OwnerReference, namespace: str) -> bool:
        """Ask the server itself: what we have not heard of may be there all the same."""
        resource = self._kinds.get((owner.api_version, owner.kind))
        if resource is None:
            # Kinds that nobody serves cannot be asked after; upstream leaves their dependents alone too.
            return True
        path = resource.item(owner.name, namespace if resource.namespaced else "")
        try:
            found = await self._client.get_json(path)
        except NotFound:
            return False
        return bool(found["metadata"].get("uid") == owner.uid)

    async def _delete(self, member: Member, policy: str) -> None:
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": {"uid": member.meta.uid},
            "propagationPolicy": policy,
        }
        try:
            await self._client.delete(_path(member), options)
        except NotFound:
            return

    async def _release(self, member: Member, owners: set[str]) -> None:
        kept = [msgspec.to_builtins(owner) for owner in member.meta.owner_references if owner.uid not in owners]
        await self._patch(member, {"ownerReferences": kept})

    async def _remove_finalizer(self, member: Member, finalizer: str) -> None:
        await self._patch(member, {"finalizers": [name for name in member.meta.finalizers if name != finalizer]})

    async def _patch(self, member: Member, meta: Json) -> None:
        # The version says what these lists were made from; a newer one is looked at again.
        guard = {"uid": member.meta.uid, "resourceVersion": member.meta.resource_version}
        try:
            await self._client.patch(_path(member), {"metadata": {**meta, **guard}}, content_type=MERGE_PATCH)
        except NotFound:
            return


def _blocks(member: Member, owner_uid: str) -> bool:
    reference = member.reference_to(owner_uid)
    return reference is not None and bool(reference.block_owner_deletion)


def _path(member: Member) -> str:
    return member.resource.item(member.meta.name, member.meta.namespace if member.resource.namespaced else "")


def _pod_meta(pod: SimPod) -> ObjectMeta:
    return pod.metadata


def _json_meta(obj: Json) -> ObjectMeta:
    return msgspec.convert(obj["metadata"], ObjectMeta)
