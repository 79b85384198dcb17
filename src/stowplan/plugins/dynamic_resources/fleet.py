"""The fleet: which pools every node reaches, and the devices that only one node reaches as columns.

Node columns carry `_n`, device columns `_d`, pool columns `_p`.
"""

from collections.abc import Iterable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from stowplan.api.node import Node
from stowplan.api.resource import ResourceSlice
from stowplan.columns.view import View
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.counters import left_in
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.matching import within_reach
from stowplan.plugins.dynamic_resources.pools import Candidate, DeviceId, NodeIdentity, Pool, PoolId, SliceIndex

HashN = NDArray[np.uint64]

FREE, TAKEN = 0, 1


@final
class Codes:
    """Gives every distinct thing a small number; the first ones may be spoken for."""

    def __init__(self, first: int = 0) -> None:
        self._codes: dict[object, int] = {}
        self._first = first

    def of(self, thing: object) -> int:
        """The number of a thing."""
        return self._codes.setdefault(thing, self._first + len(self._codes))


@final
class Fleet:
    """Follows slices, nodes and allocations; one for all profiles."""

    def __init__(self) -> None:
        self.version = 0
        """Grows when the devices change."""
        self.candidates: list[Candidate] = []
        self.pools_at: dict[int, tuple[Pool, ...]] = {}
        """Row of a node to the pools it reaches; nodes without any are left out."""
        self.pool_start_p: IntN = np.zeros(0, np.int64)
        self.pool_row_p: IntN = np.zeros(0, np.int64)
        self.counted: IntN = np.zeros(0, np.int64)
        """Pools with counters, as positions in the pool columns."""
        self.left_codes: HashN = np.zeros(0, np.uint64)
        """What is left of their counters, as codes."""
        self.place_d: HashN = np.zeros(0, np.uint64)
        """The place of a device among those of its node."""
        self.use_d: HashN = np.zeros(0, np.uint64)
        """Free, taken, or how much of it is consumed, as codes."""
        self.common_n: HashN = np.zeros(0, np.uint64)
        """Codes of what a node shares with others: pools, and what is wrong with pools."""
        self.common_version = 0
        """Grows with what is allocated of the devices that nodes share."""
        self.mixed_n: BoolN = np.zeros(0, np.bool_)
        """Nodes with devices of their own and shared ones."""
        self._index: SliceIndex | None = None
        self._generation = -1
        self._members: object = None
        self._records: list[Node | None] = []
        self._known: dict[str, tuple[object, tuple[Pool, ...]]] = {}
        self._shared_mark: tuple[object, ...] = ()
        self._pools: list[Pool] = []
        self._state: AllocatedState | None = None
        self._at: dict[DeviceId, list[int]] = {}
        self._counted_at: dict[PoolId, int] = {}
        self._uses = Codes(first=TAKEN + 1)
        self._lefts = Codes()
        self._commons = Codes(first=1)

    def identity(self, view: View, row: int) -> NodeIdentity:
        """Return what of a node decides which devices it reaches."""
        node = view.nodes.records[row]
        assert node is not None
        return NodeIdentity(node.metadata.name, node.metadata.labels)

    def catch_up(self, view: View, state: AllocatedState, features: Features) -> None:
        """Follow what changed since the last time. Raises AllocationError when pools cannot be put together."""
        if self._is_stale(view):
            self._rebuild(view, features)
            self._state = None
        if self._state is not state:
            self._state = state
            self.common_version += 1
            state.take_changes()
            self._update_use(range(len(self.candidates)))
            self._update_left(range(len(self.counted)))
            return
        changed = state.take_changes()
        if changed:
            places = [at for device in changed for at in self._at.get(device, ())]
            self.common_version += not changed <= self._at.keys()
            self._update_use(places)
            if self._counted_at:
                self._update_left({at for device in changed if (at := self._counted_at.get(device[:2])) is not None})
            self._update_use(places)

    def _is_stale(self, view: View) -> bool:
        generation = view.objects.generation(ResourceSlice)
        members = view.rows.index
        if generation != self._generation or members is not self._members:
            return True
        return bool(self._shared_mark) and self._labels_changed(view)

    def _labels_changed(self, view: View) -> bool:
        """Whether slices for nodes of a kind may be for other nodes now."""
        for row, (known, node) in enumerate(zip(self._records, view.nodes.records, strict=False)):
            if known is node:
                continue
            if known is None or node is None or known.metadata.labels != node.metadata.labels:
                return True
            self._records[row] = node
        return False

    def _rebuild(self, view: View, features: Features) -> None:
        generation = view.objects.generation(ResourceSlice)
        if self._index is None or generation != self._generation:
            self._index = SliceIndex(view.objects.all(ResourceSlice).values(), features)
        index = self._index
        shared = (*index.shared, *index.bad_elsewhere_mark)
        known = self._known if shared == self._shared_mark else {}
        self._known, self._shared_mark = {}, shared
        self.pools_at = {}
        for row in view.rows.index.tolist():
            node = self.identity(view, row)
            if not shared and node.name not in index.on_node:
                continue
            mark = (index.mark(node), node.labels if shared else None)
            before = known.get(node.name)
            pools = before[1] if before is not None and before[0] == mark else index.gather(node)
            self._known[node.name] = (mark, pools)
            if pools:
                self.pools_at[row] = pools
        self._lay_out(view)
        self._generation, self._members = generation, view.rows.index
        self._records = list(view.nodes.records) if shared else []
        self.version += 1

    def _lay_out(self, view: View) -> None:
        seen: dict[int, int] = {}
        for pools in self.pools_at.values():
            for pool in pools:
                seen[id(pool)] = seen.get(id(pool), 0) + 1
        size = len(view.nodes.records)
        self.common_n, self.mixed_n = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
        self.candidates, self._pools = [], []
        counted: list[int] = []
        starts: list[int] = []
        rows: list[int] = []
        places: list[int] = []
        for row, pools in self.pools_at.items():
            own = [pool for pool in pools if seen[id(pool)] == 1 and pool.candidates and not _chooses(pool)]
            common = tuple(self._common_part(view, row, pool) for pool in pools if pool not in own)
            self.common_n[row] = self._commons.of(common) if common else 0
            self.mixed_n[row] = bool(common) and bool(own)
            place = 0
            for pool in own:
                if pool.counters:
                    counted.append(len(self._pools))
                self._pools.append(pool)
                starts.append(len(self.candidates))
                rows.append(row)
                self.candidates += pool.candidates
                places += range(place, place + len(pool.candidates))
                place += len(pool.candidates)
        self.pool_start_p, self.pool_row_p = np.array(starts, np.int64), np.array(rows, np.int64)
        self.place_d = np.array(places, np.uint64)
        self.use_d = np.zeros(len(self.candidates), np.uint64)
        self.counted = np.array(counted, np.int64)
        self._counted_at = {self._pools[at].id: i for i, at in enumerate(counted)}
        self.left_codes = np.zeros(len(counted), np.uint64)
        self._at = {}
        for at, candidate in enumerate(self.candidates):
            self._at.setdefault(candidate.id, []).append(at)

    def _common_part(self, view: View, row: int, pool: Pool) -> object:
        """What tells nodes apart that share a pool: the pool itself, and the devices of it that they reach."""
        if not pool.usable:
            return (pool.id, pool.incomplete)
        if not _chooses(pool):
            return id(pool)
        node = self.identity(view, row)
        return (id(pool), tuple(within_reach(node, candidate) for candidate in pool.candidates))

    def _update_use(self, places: Sequence[int] | range) -> None:
        state = self._state
        assert state is not None
        if len(places) == len(self.candidates):
            # perf: most devices are free, so those in use are put in rather than all looked up
            self.use_d[:] = FREE
            places = [
                at for device in {*state.whole, *state.shares, *state.capacity} for at in self._at.get(device, ())
            ]
        for at in places:
            device = self.candidates[at].id
            consumed = state.capacity.get(device)
            if consumed is None:
                self.use_d[at] = TAKEN if state.in_use(device) else FREE
            else:
                self.use_d[at] = self._uses.of((state.in_use(device), tuple(sorted(consumed.items()))))

    def _update_left(self, which: Iterable[int]) -> None:
        assert self._state is not None
        for i in which:
            left = left_in(self._pools[self.counted[i]], self._state)
            self.left_codes[i] = self._lefts.of(tuple(sorted(left.items())))


def _chooses(pool: Pool) -> bool:
    return any(candidate.slice.spec.per_device_node_selection for candidate in pool.candidates)
