"""The fleet: which pools every node reaches, and the devices that only one node reaches as columns.

Node columns carry `_n` and have a place at the end for nodes that are gone, device columns `_d`, pool columns `_p`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from stowplan.api.node import Node
from stowplan.api.resource import ResourceSlice
from stowplan.columns.view import View
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.counters import left_in
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features
from stowplan.plugins.dynamic_resources.matching import within_reach
from stowplan.plugins.dynamic_resources.pools import Candidate, DeviceId, NodeIdentity, Pool, PoolId
from stowplan.plugins.dynamic_resources.slices import SliceIndex

HashN = NDArray[np.uint64]

FREE, TAKEN = 0, 1
GONE: Final = -1
"""The row of pools whose node is gone, or has others now."""
MOST_DEAD: Final = 4096
READER: Final = "fleet"


@final
class Codes:
    """Gives every distinct thing a small number; the first ones may be spoken for."""

    def __init__(self, first: int = 0) -> None:
        self._codes: dict[object, int] = {}
        self._first = first

    @property
    def next(self) -> int:
        """A number that was not given yet."""
        return self._first + len(self._codes)

    def of(self, thing: object) -> int:
        """The number of a thing."""
        return self._codes.setdefault(thing, self._first + len(self._codes))


@final
class Fleet:
    """Follows slices, nodes and allocations; one for all profiles."""

    def __init__(self) -> None:
        self.epoch = 0
        """Grows when all is laid out anew; in between devices are only added."""
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
        self.common_n: HashN = np.zeros(1, np.uint64)
        """Codes of what a node shares with others: pools, and what is wrong with pools."""
        self.common_version = 0
        """Grows with what is allocated of the devices that nodes share."""
        self.mixed_n: BoolN = np.zeros(1, np.bool_)
        """Nodes with devices of their own and shared ones."""
        self._index: SliceIndex | None = None
        self._generation = -1
        self._slices: dict[str, ResourceSlice] = {}
        self._members: object = None
        self._nodes: dict[int, NodeIdentity] = {}
        self._records: dict[int, Node] = {}
        self.error_at: dict[int, AllocationError] = {}
        """Row of a node whose pools cannot be put together to the reason."""
        self._state: AllocatedState | None = None
        self._uses = Codes(first=TAKEN + 1)
        self._lefts = Codes()
        self._commons = Codes(first=1)
        self._clear()

    def _clear(self) -> None:
        self.candidates, self.pools_at = [], {}
        self._pools: list[Pool] = []
        self._starts: list[int] = []
        self._rows: list[int] = []
        self._counted: list[int] = []
        self._pools_of_row: dict[int, list[int]] = {}
        self._at: dict[DeviceId, list[int]] = {}
        self._counted_at: dict[PoolId, list[int]] = {}
        self._dead = 0
        self.place_d, self.use_d = np.zeros(0, np.uint64), np.zeros(0, np.uint64)
        self.left_codes = np.zeros(0, np.uint64)

    def identity(self, view: View, row: int) -> NodeIdentity:
        """Return what of a node decides which devices it reaches."""
        node = view.nodes.records[row]
        assert node is not None
        return NodeIdentity(node.metadata.name, node.metadata.labels)

    def catch_up(self, view: View, state: AllocatedState, features: Features) -> None:
        """Follow what changed since the last time."""
        rows = self._changed_rows(view, features)
        if rows is None or self._dead > max(MOST_DEAD, len(self.candidates) // 4):
            self._clear()
            self.common_n[:], self.mixed_n[:] = 0, False
            self._commons = Codes(first=self._commons.next)
            self.epoch += 1
            self._nodes, self._records, self.error_at = {}, {}, {}
            rows = view.rows.index.tolist()
        if rows:
            self._lay_out(view, rows)
        if self._state is not state:
            self._state = state
            self.common_version += 1
            self._update_use(range(len(self.candidates)))
            self._update_left(range(len(self._counted)))
            state.take_changes(READER)
            return
        changed = state.take_changes(READER)
        if changed:
            self.common_version += not changed <= self._at.keys()
            self._update_left({i for device in changed for i in self._counted_at.get(device[:2], ())})
            self._update_use([at for device in changed for at in self._at.get(device, ())])

    def _changed_rows(self, view: View, features: Features) -> Iterable[int] | None:
        """The rows whose pools may have changed; None when all may."""
        rows: set[int] = set()
        generation = view.objects.generation(ResourceSlice)
        if generation != self._generation or self._index is None:
            slices = view.objects.all(ResourceSlice)
            names = self._follow_slices(slices, features)
            self._generation = generation
            if names is None:
                return None
            rows |= {row for name in names if (row := view.row_of(name)) is not None}
        assert self._index is not None
        if view.rows.index is not self._members:
            rows |= self._moved(view)
            self._members = view.rows.index
        if self._index.by_labels:
            rows |= self._relabelled(view)
        return rows

    def _follow_slices(self, slices: Mapping[str, ResourceSlice], features: Features) -> set[str] | None:
        """The nodes whose slices changed; None when those that nodes share did."""
        now = dict(slices)
        before, self._slices = self._slices, now
        if self._index is not None:
            changed = [piece for key, piece in now.items() if before.get(key) is not piece]
            changed += [piece for key, piece in before.items() if now.get(key) is not piece]
            names = self._index.change(now, changed)
            if names is not None:
                return names
        self._index = SliceIndex(now.values(), features, self._index)
        return None

    def _moved(self, view: View) -> set[int]:
        names = view.nodes.names
        there = set(view.rows.index.tolist())
        for row in [row for row in self._nodes if row not in there]:
            self._forget(row)
        return {row for row in there if row not in self._nodes or self._nodes[row].name != names[row]}

    def _relabelled(self, view: View) -> set[int]:
        records = view.nodes.records
        touched = [row for row, known in self._records.items() if records[row] is not known]
        found = set()
        for row in touched:
            node = records[row]
            if node is not None and node.metadata.labels != self._nodes[row].labels:
                found.add(row)
            elif node is not None:
                self._records[row] = node
        return found

    def _forget(self, row: int) -> None:
        self._nodes.pop(row, None)
        self._records.pop(row, None)
        self.error_at.pop(row, None)
        self.pools_at.pop(row, None)
        for p in self._pools_of_row.pop(row, ()):
            self._rows[p] = GONE
            self._dead += len(self._pools[p].candidates)
        if row < len(self.common_n) - 1:
            self.common_n[row], self.mixed_n[row] = 0, False

    def _lay_out(self, view: View, rows: Iterable[int]) -> None:
        size = len(view.nodes.records) + 1
        if len(self.common_n) != size:
            common_n, mixed_n = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
            kept = min(size, len(self.common_n)) - 1
            common_n[:kept], mixed_n[:kept] = self.common_n[:kept], self.mixed_n[:kept]
            self.common_n, self.mixed_n = common_n, mixed_n
        first_device, first_counted = len(self.candidates), len(self._counted)
        places: list[int] = []
        for row in rows:
            self._forget(row)
            self._place_node(view, row, places)
        self.pool_start_p, self.pool_row_p = np.array(self._starts, np.int64), np.array(self._rows, np.int64)
        self.counted = np.array(self._counted, np.int64)
        self.place_d = np.concatenate([self.place_d, np.array(places, np.uint64)])
        self.use_d = np.concatenate([self.use_d, np.zeros(len(places), np.uint64)])
        self.left_codes = np.concatenate([self.left_codes, np.zeros(len(self._counted) - first_counted, np.uint64)])
        if self._state is not None:
            self._update_use(range(first_device, len(self.candidates)))
            self._update_left(range(first_counted, len(self._counted)))

    def _place_node(self, view: View, row: int, places: list[int]) -> None:
        index, node = self._index, self.identity(view, row)
        assert index is not None
        record = view.nodes.records[row]
        assert record is not None
        self._nodes[row], self._records[row] = node, record
        try:
            pools = index.gather(node) if index.concerns_all or index.has(node.name) else ()
        except AllocationError as error:
            self.error_at[row] = error
            self.common_n[row] = self._commons.of(str(error))
            return
        if not pools:
            return
        self.pools_at[row] = pools
        own = [pool for pool in pools if pool.candidates and index.is_own(pool) and not _chooses(pool)]
        common = tuple(_common_part(node, pool) for pool in pools if pool not in own)
        self.common_n[row] = self._commons.of(common) if common else 0
        self.mixed_n[row] = bool(common) and bool(own)
        place = 0
        for pool in own:
            p = len(self._pools)
            if pool.counters:
                self._counted_at.setdefault(pool.id, []).append(len(self._counted))
                self._counted.append(p)
            self._pools_of_row.setdefault(row, []).append(p)
            self._pools.append(pool)
            self._starts.append(len(self.candidates))
            self._rows.append(row)
            for candidate in pool.candidates:
                self._at.setdefault(candidate.id, []).append(len(self.candidates))
                self.candidates.append(candidate)
                places.append(place)
                place += 1

    def _update_use(self, places: Iterable[int]) -> None:
        state = self._state
        assert state is not None
        if not (state.whole or state.shares or state.capacity):
            self.use_d[list(places)] = FREE
            return
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
            left = left_in(self._pools[self._counted[i]], self._state)
            self.left_codes[i] = self._lefts.of(tuple(sorted(left.items())))


def _common_part(node: NodeIdentity, pool: Pool) -> object:
    """What tells nodes apart that share a pool: the pool itself, and the devices of it that they reach."""
    if not pool.usable:
        return (pool.id, pool.incomplete)
    if not _chooses(pool):
        return pool
    return (pool, tuple(within_reach(node, candidate) for candidate in pool.candidates))


def _chooses(pool: Pool) -> bool:
    return any(candidate.slice.spec.per_device_node_selection for candidate in pool.candidates)
