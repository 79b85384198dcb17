"""The search for devices: depth first, in the order of pools, slices and devices; the first solution is taken.

Upstream: allocator_incubating.go in staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating
(v1.36.4).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.capacity import Consumed, amounts_of, consumption, fits
from stowplan.plugins.dynamic_resources.constraints import Constraint, make_constraint
from stowplan.plugins.dynamic_resources.counters import CounterBooks
from stowplan.plugins.dynamic_resources.errors import AllocationError, NodeAllocationError, SearchTimeoutError
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.likeness import Likeness
from stowplan.plugins.dynamic_resources.matching import Matcher, within_reach
from stowplan.plugins.dynamic_resources.pools import Candidate, DeviceId, NodeIdentity, Pool, device_text
from stowplan.plugins.dynamic_resources.requests import ALL, MAX_RESULTS, Wanted, WantedClaim, keeps_off

NOTHING: Mapping[str, int] = {}

EASY_STEPS: Final = 200
"""perf: after so many steps devices are told apart by kind, which costs about as much as judging them once more."""


class _TooManyResultsError(Exception):
    """Raised when a claim would get more devices than its status can hold: other choices need fewer."""


@dataclass(slots=True, kw_only=True)
class Given:
    """A device chosen for a request."""

    wanted: Wanted
    candidate: Candidate
    consumed: Consumed | None


@dataclass(slots=True, kw_only=True)
class Found:
    """What the search found for one claim."""

    wanted: WantedClaim
    given: list[Given] = field(default_factory=list)
    chosen: dict[int, int] = field(default_factory=dict)
    """Per request with alternatives, the one that was taken."""


@dataclass(frozen=True, slots=True)
class _At:
    """The place in the search: which device of which alternative of which request of which claim."""

    claim: int
    request: int = 0
    alternative: int = 0
    device: int = 0


@dataclass(frozen=True, slots=True)
class _Undo:
    """What taking a device changed."""

    counters: bool
    constraints: int
    marked: bool
    shared: Mapping[str, int] | None
    shared_before: bool


class Search:
    """One search on one node."""

    def __init__(
        self,
        *,
        node: NodeIdentity,
        pools: Sequence[Pool],
        claims: Sequence[WantedClaim],
        state: AllocatedState,
        matcher: Matcher,
        features: Features,
        max_steps: int,
        easy_steps: int = EASY_STEPS,
    ) -> None:
        self._node = node
        self._pools = pools
        self._state = state
        self._matcher = matcher
        self._features = features
        self._steps_left = max_steps
        self._steps_of_hard_searches = max_steps - easy_steps
        self._likeness = Likeness(claims, self._selects)
        self._candidates = [candidate for pool in pools if pool.usable for candidate in pool.candidates]
        self._found = [Found(wanted=claim) for claim in claims]
        self._selected: dict[tuple[int, int], bool] = {}
        self._all: dict[int, list[Candidate]] = {}
        self._constraints: list[list[Constraint]] = []
        self._allocating: dict[DeviceId, set[int]] = {}
        self._sharing: dict[DeviceId, dict[str, int]] = {}
        self._counters = CounterBooks(pools, state)

    def run(self) -> list[Found] | None:
        """Return what each claim gets, None when not all can get something."""
        for found in self._found:
            self._prepare(found)
        try:
            done = self._allocate(_At(0), alternative_fixed=False, start=0)
        except _TooManyResultsError:
            raise AllocationError("allocation max size exceeded") from None
        except RecursionError:
            raise AllocationError("the claims ask for more devices at once than can be searched") from None
        if done:
            return self._found
        if any(pool.invalid for pool in self._pools):
            raise NodeAllocationError("invalid resource pools were encountered")
        return None

    def _prepare(self, found: Found) -> None:
        claim = found.wanted.claim
        fewest = sum(
            min(self._needed(found, wanted) for wanted in alternatives) for alternatives in found.wanted.requests
        )
        if fewest > MAX_RESULTS:
            raise AllocationError(
                f"claim {claim.key}: number of requested devices {fewest} exceeds the claim limit of {MAX_RESULTS}"
            )
        constraints = []
        for i, constraint in enumerate(claim.spec.devices.constraints):
            made = make_constraint(constraint)
            if made is None:
                told = f"constraint #{i}: empty constraint (unsupported constraint type?)"
                raise AllocationError(f"claim {claim.key}, {told}")
            constraints.append(made)
        self._constraints.append(constraints)

    def _needed(self, found: Found, wanted: Wanted) -> int:
        if wanted.mode != ALL:
            return wanted.count
        where = f"claim {found.wanted.claim.key}, request {wanted.name}"
        devices: list[Candidate] = []
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                told = f"asks for all devices, but resource pool {'/'.join(pool.id)} is currently {state}"
                raise AllocationError(f"{where}: {told}")
            devices += [
                candidate
                for candidate in pool.candidates
                if self._selects(found.wanted, wanted, candidate) and self._has_room(wanted, candidate)
            ]
        self._all[id(wanted)] = devices
        return len(devices)

    def _count(self, wanted: Wanted) -> int:
        return len(self._all[id(wanted)]) if wanted.mode == ALL else wanted.count

    def _selects(self, claim: WantedClaim, wanted: Wanted, candidate: Candidate) -> bool:
        key = (id(wanted), id(candidate))
        selected = self._selected.get(key)
        if selected is None:
            selected = self._matcher.selects(claim.claim, wanted, candidate) and within_reach(self._node, candidate)
            self._selected[key] = selected
        return selected

    def _has_room(self, wanted: Wanted, candidate: Candidate) -> bool:
        if not self._features.consumable_capacity:
            return True
        device = candidate.id
        consumed = self._state.capacity.get(device, NOTHING)
        return fits(wanted.capacity, candidate.device.capacity, consumed, self._sharing.get(device, NOTHING))

    def _allocate(self, at: _At, *, alternative_fixed: bool, start: int) -> bool:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise SearchTimeoutError(f"node {self._node.name}: timed out trying to allocate devices")
        if at.claim >= len(self._found):
            return True
        found = self._found[at.claim]
        if at.request >= len(found.wanted.requests):
            try:
                return self._allocate(_At(at.claim + 1), alternative_fixed=False, start=0)
            except _TooManyResultsError:
                return False  # an earlier claim with alternatives may leave this one a smaller one
        alternatives = found.wanted.requests[at.request]
        if not alternative_fixed and alternatives[0].parent:
            return self._try_alternatives(found, at, len(alternatives))
        wanted = alternatives[at.alternative]
        count = self._count(wanted)
        if wanted.mode == ALL and count == 0:
            return False
        if at.device >= count:
            return self._allocate(_At(at.claim, at.request + 1), alternative_fixed=False, start=0)
        if len(found.given) + count - at.device > MAX_RESULTS:
            raise _TooManyResultsError
        if wanted.mode == ALL:
            return self._take_next_of_all(found, wanted, at)
        return self._take_any(found, wanted, at, start)

    def _try_alternatives(self, found: Found, at: _At, count: int) -> bool:
        too_many_always = True
        for alternative in range(count):
            try:
                done = self._allocate(_At(at.claim, at.request, alternative), alternative_fixed=True, start=0)
            except _TooManyResultsError:
                continue
            too_many_always = False
            if done:
                found.chosen[at.request] = alternative
                return True
        if too_many_always:
            raise _TooManyResultsError
        return False

    def _take_next_of_all(self, found: Found, wanted: Wanted, at: _At) -> bool:
        candidate = self._all[id(wanted)][at.device]
        undo = self._take(found, wanted, at.claim, candidate, must=True)
        if undo is None:
            return False
        return self._go_on(found, wanted, at, candidate, undo, start=0)

    def _take_any(self, found: Found, wanted: Wanted, at: _At, start: int) -> bool:
        hopeless: set[Hashable] = set()
        for i in range(start, len(self._candidates)):
            candidate = self._candidates[i]
            if self._taken(wanted, at.claim, candidate.id) or not self._selects(found.wanted, wanted, candidate):
                continue
            if not self._has_room(wanted, candidate):
                continue
            if hopeless and self._kind(candidate) in hopeless:
                continue
            undo = self._take(found, wanted, at.claim, candidate, must=False)
            if undo is None:
                continue
            # the devices of one request are tried in one order only: another order is the same allocation
            if self._go_on(found, wanted, at, candidate, undo, start=i + 1):
                return True
            if self._steps_left < self._steps_of_hard_searches:
                hopeless.add(self._kind(candidate))
                hopeless.discard(None)
        return False

    def _kind(self, candidate: Candidate) -> Hashable:
        """What is alike, and in like use by others and by this search so far."""
        kind = self._likeness.kind(candidate)
        if kind is None:
            return None
        device = candidate.id
        consumed, sharing = self._state.capacity.get(device), self._sharing.get(device)
        return (
            kind,
            self._state.in_use(device),
            frozenset(self._allocating.get(device, ())),
            None if consumed is None else frozenset(consumed.items()),
            None if sharing is None else frozenset(sharing.items()),
        )

    def _go_on(self, found: Found, wanted: Wanted, at: _At, candidate: Candidate, undo: _Undo, *, start: int) -> bool:
        done = False
        try:
            following = _At(at.claim, at.request, at.alternative, at.device + 1)
            done = self._allocate(following, alternative_fixed=bool(wanted.parent), start=start)
        finally:
            if not done:
                found.given.pop()
                self._roll_back(wanted, at.claim, candidate, undo)
        return done

    def _taken(self, wanted: Wanted, claim: int, device: DeviceId) -> bool:
        if wanted.admin:
            return claim in self._allocating.get(device, ())
        return self._state.in_use(device) or bool(self._allocating.get(device))

    def _take(self, found: Found, wanted: Wanted, claim: int, candidate: Candidate, *, must: bool) -> _Undo | None:
        """Take a device, if it is free, tolerated and within counters and constraints."""
        device, about = candidate.id, candidate.device
        shareable = self._features.consumable_capacity and bool(about.allow_multiple_allocations)
        if not (shareable and wanted.admin) and self._taken(wanted, claim, device):
            return None
        if about.consumes_counters and not self._features.partitionable_devices:
            return None
        shared_already = shareable and (device in self._state.capacity or device in self._sharing)
        counters = bool(about.consumes_counters) and not shared_already
        if counters and not self._counters.reserve(candidate):
            return None
        tolerated = not (self._features.device_taints and keeps_off(about.taints, wanted.tolerations))
        joined = self._join(wanted, claim, candidate) if tolerated else 0
        undo = _Undo(counters, joined, False, None, device in self._sharing)
        if not tolerated or joined < len(self._constraints[claim]):
            self._roll_back(wanted, claim, candidate, undo)
            if tolerated and must:
                where = f"claim {found.wanted.claim.key}, request {wanted.name}"
                told = f"cannot add device {device_text(device)} because a claim constraint would not be satisfied"
                raise AllocationError(f"{where}: {told}")
            return None
        if not self._has_room(wanted, candidate):
            self._roll_back(wanted, claim, candidate, undo)
            return None
        consumed = consumption(wanted.capacity, about.capacity) if shareable else None
        shared = None if consumed is None else self._share(device, consumed)
        if not shareable:
            self._allocating.setdefault(device, set()).add(claim)
        found.given.append(Given(wanted=wanted, candidate=candidate, consumed=consumed))
        return _Undo(counters, joined, not shareable, shared, undo.shared_before)

    def _join(self, wanted: Wanted, claim: int, candidate: Candidate) -> int:
        """How many constraints, from the first on, take the device in."""
        for joined, constraint in enumerate(self._constraints[claim]):
            if not constraint.add(wanted.base_name, wanted.sub_name, candidate):
                return joined
        return len(self._constraints[claim])

    def _share(self, device: DeviceId, consumed: Consumed) -> Mapping[str, int]:
        amounts = amounts_of(consumed)
        sharing = self._sharing.setdefault(device, {})
        for name, amount in amounts.items():
            sharing[name] = sharing.get(name, 0) + amount
        return amounts

    def _roll_back(self, wanted: Wanted, claim: int, candidate: Candidate, undo: _Undo) -> None:
        device = candidate.id
        if undo.shared is not None:
            sharing = self._sharing[device]
            for name, amount in undo.shared.items():
                sharing[name] -= amount
            if not undo.shared_before:
                del self._sharing[device]
        if undo.marked:
            self._allocating[device].discard(claim)
        for constraint in reversed(self._constraints[claim][: undo.constraints]):
            constraint.remove(wanted.base_name, wanted.sub_name)
        if undo.counters:
            self._counters.release(candidate)
