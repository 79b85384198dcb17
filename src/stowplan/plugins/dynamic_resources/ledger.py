"""The ledger: claims as the scheduler knows them, its own unfinished allocations counted in.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/dra_manager.go and
pkg/scheduler/util/assumecache/assume_cache.go (v1.36.4).
"""

from dataclasses import dataclass
from typing import final

from stowplan.api.pod import Pod
from stowplan.api.resource import AllocationResult, ResourceClaim
from stowplan.columns.objects import ObjectStore
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.extended import existing_claim, owner_of


@final
@dataclass(frozen=True, slots=True)
class Assumed:
    """A claim as the API stored it for us, ahead of the watch."""

    claim: ResourceClaim
    replaces: ResourceClaim | None
    """What the watch had shown by then."""


@final
class Ledger:
    """One for all profiles: it is what keeps a device from being given away twice."""

    def __init__(self) -> None:
        self.in_flight: dict[str, AllocationResult] = {}
        """Uid of a claim to the allocation that is on its way to the API."""
        self.expired: set[tuple[str, str]] = set()
        """Uid and time of allocations whose devices did not get ready in time."""
        self._assumed: dict[str, Assumed] = {}
        self._objects: ObjectStore | None = None
        self._generation = 0
        self._claims: dict[str, ResourceClaim] = {}
        """What is counted, as far as the objects have been followed."""
        self._ahead: set[str] = set()
        """Claims that were known ahead of the watch when last looked at."""
        self._states: dict[bool, AllocatedState] = {}
        self._made_for: dict[str, dict[str, ResourceClaim]] = {}

    def find(self, objects: ObjectStore, key: str) -> ResourceClaim | None:
        """Return a claim by namespace/name, the newest version known."""
        stored = objects.get(ResourceClaim, key)
        assumed = self._assumed.get(key)
        if assumed is None:
            return stored
        if _overtaken(assumed, stored):
            del self._assumed[key]
            return stored
        return assumed.claim

    def made_for(self, objects: ObjectStore, pod: Pod) -> ResourceClaim | None:
        """Return the claim for extended resources that an earlier attempt left behind."""
        self._follow(objects)
        return existing_claim(pod, self._made_for.get(pod.uid, {}).values())

    def assume(self, objects: ObjectStore, claim: ResourceClaim) -> None:
        """Know a claim as the API has just stored it."""
        self._assumed[claim.key] = Assumed(claim, objects.get(ResourceClaim, claim.key))

    def restore(self, key: str) -> None:
        """Know a claim as the watch shows it."""
        self._assumed.pop(key, None)

    def signal(self, uid: str, allocation: AllocationResult) -> None:
        """An allocation is on its way to the API."""
        self.in_flight[uid] = allocation
        for state in self._states.values():
            state.add(allocation)

    def settle(self, uid: str) -> bool:
        """It arrived, or will not; whether it was on its way."""
        allocation = self.in_flight.pop(uid, None)
        if allocation is None:
            return False
        for state in self._states.values():
            state.remove(allocation)
        return True

    def state(self, objects: ObjectStore, *, shares_apart: bool) -> AllocatedState:
        """Return what is allocated now."""
        self._follow(objects)
        state = self._states.get(shares_apart)
        if state is None:
            state = self._states[shares_apart] = AllocatedState(shares_apart=shares_apart)
            held = [claim.status.allocation for claim in self._claims.values()]
            for allocation in (*held, *self.in_flight.values()):
                if allocation is not None:
                    state.add(allocation)
        return state

    def _follow(self, objects: ObjectStore) -> None:
        """Count what came, changed and went since the last time."""
        changed = objects.changed_since(ResourceClaim, self._generation) if objects is self._objects else None
        if changed is None:
            keys = {*self._claims, *objects.all(ResourceClaim), *self._assumed}
        else:
            keys = {*changed, *self._ahead, *self._assumed}
        self._objects, self._generation = objects, objects.generation(ResourceClaim)
        for key in keys:
            old, new = self._claims.get(key), self.find(objects, key)
            if new is not old:
                self._count(key, old, new)
        self._ahead = set(self._assumed)

    def _count(self, key: str, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        before = None if old is None else old.status.allocation
        after = None if new is None else new.status.allocation
        if before != after:
            for state in self._states.values():
                if before is not None:
                    state.remove(before)
                if after is not None:
                    state.add(after)
        if old is not None and (uid := owner_of(old)):
            self._made_for[uid].pop(key)
            if not self._made_for[uid]:
                del self._made_for[uid]
        if new is None:
            del self._claims[key]
            return
        self._claims[key] = new
        if uid := owner_of(new):
            self._made_for.setdefault(uid, {})[key] = new


def _version(claim: ResourceClaim) -> int:
    text = claim.metadata.resource_version
    return int(text) if text.isdigit() else 0


def _overtaken(assumed: Assumed, stored: ResourceClaim | None) -> bool:
    if stored is None:
        return assumed.replaces is not None  # deleted meanwhile; one we created may not be there yet
    return stored is not assumed.replaces and _version(stored) >= _version(assumed.claim)
