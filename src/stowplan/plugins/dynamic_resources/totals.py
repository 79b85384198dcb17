"""Totals: how many devices of a class each node reaches, and how many of them are allocated.

Upstream: calculateDRAResourceTotals in
pkg/scheduler/framework/plugins/noderesources/resource_allocation.go (v1.36.4).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, final

import msgspec
import numpy as np

from stowplan.api.affinity import NodeSelector
from stowplan.api.node_selectors import compile_node_selector
from stowplan.api.resource import Device, DeviceClass, ResourceSlice
from stowplan.columns.node_masks import matcher_mask
from stowplan.columns.objects import ObjectStore
from stowplan.columns.view import View
from stowplan.framework.devices import DeviceTotals
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache, SelectorError
from stowplan.plugins.dynamic_resources.extended import classes_by_resource
from stowplan.plugins.dynamic_resources.ledger import Ledger
from stowplan.plugins.dynamic_resources.pools import DeviceId

READER: Final = "totals"

Where = str | NodeSelector | None
"""Which nodes reach devices: one by name, those that a selector matches, or all."""


@dataclass(slots=True)
class _Sum:
    """Devices that the same nodes reach."""

    capacity: int = 0
    allocated: int = 0
    broken: int = 0
    """Slices with a device of which nobody can say whether it is of the class: then nothing counts there."""


@dataclass(frozen=True, slots=True)
class _Share:
    """What one slice adds to one sum."""

    where: Where
    devices: tuple[DeviceId, ...]
    broken: bool


@final
class CountedDevices:
    """Counts devices for all plugins and profiles."""

    def __init__(self, gates: Gates, books: Books) -> None:
        self._on = gates.on("DRAExtendedResource")
        self._shares_apart = gates.on("DRAConsumableCapacity")
        self._ledger = books.of(Ledger)
        self._selectors = books.of(SelectorCache)
        self._objects: ObjectStore | None = None
        self._classes: dict[str, DeviceClass] = {}
        self._classes_generation = -1
        self._state: AllocatedState | None = None
        self._tallies: dict[tuple[str, ...], _Tally] = {}

    def behind(self, view: View, resource: str) -> DeviceTotals | None:
        """The devices of the class that serves a resource; None when there is no such class."""
        if not self._on:
            return None
        objects = view.objects
        generation = objects.generation(DeviceClass)
        if objects is not self._objects or generation != self._classes_generation:
            self._classes = classes_by_resource(objects.all(DeviceClass).values())
            asked = {_expressions(known) for known in self._classes.values()} if objects is self._objects else set()
            self._tallies = {key: tally for key, tally in self._tallies.items() if key in asked}
            self._objects, self._classes_generation = objects, generation
        device_class = self._classes.get(resource)
        if device_class is None:
            return None
        state = self._ledger.state(objects, shares_apart=self._shares_apart)
        changed = state.take_changes(READER)
        if state is not self._state:
            self._state = state
            self._tallies.clear()
        for tally in self._tallies.values():
            tally.note(changed)
        expressions = _expressions(device_class)
        if expressions not in self._tallies:
            self._tallies[expressions] = _Tally(expressions, self._selectors, state)
        return self._tallies[expressions].totals(view)


def _expressions(device_class: DeviceClass) -> tuple[str, ...]:
    return tuple(selector.cel.expression for selector in device_class.spec.selectors if selector.cel is not None)


@final
class _Tally:
    """The devices that some selectors select."""

    def __init__(self, expressions: tuple[str, ...], selectors: SelectorCache, state: AllocatedState) -> None:
        self._expressions = expressions
        self._selectors = selectors
        self._state = state
        self._generation = 0
        self._shares: dict[str, tuple[_Share, ...]] = {}
        self._sums: dict[Where, _Sum] = {}
        self._shared: dict[NodeSelector | None, _Sum] = {}
        """Those of the sums that are not for one node."""
        self._places: dict[DeviceId, list[Where]] = {}
        self._taken: set[DeviceId] = set()
        self._stale: set[Where] = set()
        self._own = _Columns(0)
        self._members: object = None
        self._given: DeviceTotals | None = None

    def note(self, changed: Iterable[DeviceId]) -> None:
        """Follow allocations that came and went."""
        for device in changed:
            places, touched = self._places.get(device), self._state.touched(device)
            if places and touched != (device in self._taken):
                for where in places:
                    self._sums[where].allocated += 1 if touched else -1
                    self._stale.add(where)
                (self._taken.add if touched else self._taken.discard)(device)

    def totals(self, view: View) -> DeviceTotals:
        """Count along the node table."""
        self._follow(view.objects)
        if view.rows.index is not self._members:
            self._members, self._given = view.rows.index, None
            self._own = _Columns(len(view.nodes.records))
            self._stale = set(self._sums)
        by_labels = any(where is not None for where in self._shared)
        if self._given is not None and not self._stale and not by_labels:
            return self._given
        for where in self._stale:
            if isinstance(where, str) and (row := view.row_of(where)) is not None:
                self._own.put(row, self._sums.get(where, _Sum()))
        self._stale = set()
        counted = self._own.copy() if self._shared else self._own
        for where, total in self._shared.items():
            counted.add(total, *_reached(view, where))
        whole_n = counted.broken_n == 0
        capacity_n, allocated_n = counted.capacity_n * whole_n, counted.allocated_n * whole_n
        before = self._given
        if before is None or not (
            np.array_equal(before.capacity_n, capacity_n) and np.array_equal(before.allocated_n, allocated_n)
        ):
            self._given = before = DeviceTotals(capacity_n, allocated_n)
        return before

    def _follow(self, objects: ObjectStore) -> None:
        slices = objects.all(ResourceSlice)
        changed = objects.changed_since(ResourceSlice, self._generation)
        self._generation = objects.generation(ResourceSlice)
        for key in {*slices, *self._shares} if changed is None else set(changed):
            for share in self._shares.pop(key, ()):
                self._count(share, -1)
            if key in slices:
                self._shares[key] = tuple(self._read(slices[key]))
                for share in self._shares[key]:
                    self._count(share, 1)

    def _count(self, share: _Share, sign: int) -> None:
        self._stale.add(share.where)
        total = self._sums.setdefault(share.where, _Sum())
        if not isinstance(share.where, str):
            self._shared[share.where] = total
        total.broken += sign * share.broken
        total.capacity += sign * len(share.devices)
        for device in share.devices:
            if sign > 0:
                self._places.setdefault(device, []).append(share.where)
                if self._state.touched(device):
                    self._taken.add(device)
            total.allocated += sign * (device in self._taken)
            if sign < 0:
                self._places[device].remove(share.where)
                if not self._places[device]:
                    del self._places[device]
                    self._taken.discard(device)
        if total == _Sum():
            del self._sums[share.where]
            if not isinstance(share.where, str):
                del self._shared[share.where]

    def _read(self, piece: ResourceSlice) -> Iterator[_Share]:
        """What a slice adds. Pools and their generations do not matter here, as upstream."""
        spec = piece.spec
        if not spec.per_device_node_selection:
            # parity: here a slice that names no nodes at all is for all of them
            where = None if spec.all_nodes else spec.node_name or spec.node_selector
            yield self._share(piece, where, spec.devices)
            return
        for device in spec.devices:
            if device.all_nodes:
                yield self._share(piece, None, [device])
            elif device.node_name or device.node_selector is not None:
                yield self._share(piece, device.node_name or device.node_selector, [device])

    def _share(self, piece: ResourceSlice, where: Where, devices: Iterable[Device]) -> _Share:
        driver, pool = piece.spec.driver, piece.spec.pool.name
        try:
            selected = tuple((driver, pool, device.name) for device in devices if self._selects(driver, device))
        except SelectorError:
            return _Share(where, (), broken=True)
        return _Share(where, selected, broken=False)

    def _selects(self, driver: str, device: Device) -> bool:
        # parity: whether a device may be shared is not told to the selectors here (deviceMatchesClass)
        plain = msgspec.structs.replace(device, allow_multiple_allocations=None)
        return all(self._selectors.get(expression).matches(driver, plain) for expression in self._expressions)


@final
class _Columns:
    """Sums along the node table."""

    __slots__ = ("allocated_n", "broken_n", "capacity_n")

    def __init__(self, size: int) -> None:
        self.capacity_n: IntN = np.zeros(size, np.int64)
        self.allocated_n: IntN = np.zeros(size, np.int64)
        self.broken_n: IntN = np.zeros(size, np.int64)

    def put(self, row: int, total: _Sum) -> None:
        self.capacity_n[row], self.allocated_n[row] = total.capacity, total.allocated
        self.broken_n[row] = total.broken

    def copy(self) -> "_Columns":
        other = _Columns(0)
        other.capacity_n, other.allocated_n = self.capacity_n.copy(), self.allocated_n.copy()
        other.broken_n = self.broken_n.copy()
        return other

    def add(self, total: _Sum, here_n: BoolN, broken_n: BoolN) -> None:
        self.capacity_n += here_n * total.capacity
        self.allocated_n += here_n * total.allocated
        self.broken_n += here_n * total.broken + broken_n


def _reached(view: View, where: NodeSelector | None) -> tuple[BoolN, BoolN]:
    """Which nodes reach what a selector is for, and for which that cannot be said; along the node table."""
    size = len(view.nodes.records)
    none_n: BoolN = np.zeros(size, np.bool_)
    if where is None:
        return ~none_n, none_n
    matcher = compile_node_selector(where)
    if matcher.error is not None:
        return none_n, ~none_n
    here_n = none_n.copy()
    here_n[view.rows.index] = matcher_mask(view.rows, matcher)
    return here_n, none_n
