"""Storage pools as columns: which nodes reach one of a class with room for a volume.

Upstream: hasEnoughCapacity in pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final, final

import numpy as np

from stowplan.api.errors import SelectorError
from stowplan.api.node_selectors import NodeMatcher, Term
from stowplan.api.quantity import value
from stowplan.api.selectors import compile_label_selector
from stowplan.api.storage import CSIStorageCapacity
from stowplan.columns.column import Table
from stowplan.columns.interning import Interner
from stowplan.columns.objects import ObjectStore
from stowplan.columns.reach import FAR, Reach
from stowplan.columns.rows import Rows
from stowplan.goarith import IntN

NOWHERE: Final = NodeMatcher(())
NO_VOLUME: Final = -1
"""The limit of a pool that takes no volume, however small."""
NONE: Final = -1


def volume_limit(pool: CSIStorageCapacity) -> int | None:
    """How large a volume of a pool may be."""
    raw = pool.capacity if pool.maximum_volume_size is None else pool.maximum_volume_size
    return None if raw is None else value(raw)


@final
class CapacityTable:
    """One slot a pool; `catch_up` before reading."""

    def __init__(self) -> None:
        self._objects: ObjectStore | None = None
        self._generation = 0
        self._start_over()

    def catch_up(self, objects: ObjectStore) -> None:
        """Take over what changed."""
        keys: Sequence[str] | None = None
        if objects is self._objects:
            keys = objects.changed_since(CSIStorageCapacity, self._generation)
        if keys is None:
            self._start_over()
            keys = list(objects.all(CSIStorageCapacity))
        for key in dict.fromkeys(keys):
            self._put(key, objects.get(CSIStorageCapacity, key))
        self._objects = objects
        self._generation = objects.generation(CSIStorageCapacity)

    def enough(self, rows: Rows, class_name: str, size: int) -> IntN:
        """Per row the slot of a pool of a class with room for so many bytes, NONE when there is none."""
        room_s = (self._class.data == self._classes.code(class_name)) & (self._limit.data >= size)
        at = np.flatnonzero(room_s & (self._limit.data != NO_VOLUME))
        best_n: IntN = np.full(len(rows), FAR)
        for rank_n in self._reach.nearest(rows, at, at):
            np.minimum(best_n, rank_n, out=best_n)
        return np.where(best_n == FAR, NONE, best_n)

    def room(self, slot_n: IntN) -> IntN:
        """How many bytes are left in these pools."""
        return self._room.data[slot_n]

    def _start_over(self) -> None:
        table = self._table = Table()
        self._slots: dict[str, int] = {}
        self._topologies: dict[int, object] = {}
        self._reach = Reach(table)
        self._classes: Interner[str] = Interner()
        self._class = table.column(np.int32, -1)
        self._limit = table.column(np.int64, NO_VOLUME)
        self._room = table.column(np.int64, 0)

    def _put(self, key: str, pool: CSIStorageCapacity | None) -> None:
        slot = self._slots.get(key)
        if pool is None:
            if slot is not None:
                del self._slots[key], self._topologies[slot]
                self._table.free_row(slot)
            return
        if slot is None:
            slot = self._slots[key] = self._table.take_row()
            self._reach.set(slot, _matcher(pool))
        elif self._topologies[slot] != pool.node_topology:
            self._reach.clear(slot)
            self._reach.set(slot, _matcher(pool))
        self._topologies[slot] = pool.node_topology
        limit = volume_limit(pool)
        self._class.data[slot] = self._classes.code(pool.storage_class_name)
        self._limit.data[slot] = NO_VOLUME if limit is None else limit
        self._room.data[slot] = 0 if pool.capacity is None else value(pool.capacity)


def _matcher(pool: CSIStorageCapacity) -> NodeMatcher | None:
    if pool.node_topology is None:
        return NOWHERE
    try:
        wanted = compile_label_selector(pool.node_topology).requirements
    except SelectorError:
        return NOWHERE
    if wanted is None:
        return NOWHERE
    return NodeMatcher((Term(wanted),)) if wanted else None
