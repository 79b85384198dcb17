"""The persistent volumes as columns, and the best of them for a claim, for all nodes at once.

Upstream: FindMatchingVolume in staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final, final

import numpy as np

from stowplan.api.claims import STORAGE, claim_class, volume_class
from stowplan.api.quantity import nano_value, value
from stowplan.api.selectors import Selector, compile_label_selector
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim
from stowplan.columns.column import Table
from stowplan.columns.interning import Interner
from stowplan.columns.node_masks import matcher_mask
from stowplan.columns.objects import ObjectStore
from stowplan.columns.reach import FAR, Reach
from stowplan.columns.rows import Rows
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.volume_binding.affinity import matcher_of
from stowplan.plugins.volume_binding.assume_cache import AssumeCache

AVAILABLE: Final = "Available"
FILESYSTEM: Final = "Filesystem"
NONE: Final = -1
"""The slot of no volume."""


def size_of(claim: PersistentVolumeClaim) -> int:
    """How much a claim asks for, exactly, in billionths."""
    return nano_value(claim.spec.resources.requests.get(STORAGE, 0))


@final
class VolumeTable:
    """One slot a volume, as it is stored or assumed; `catch_up` before reading."""

    def __init__(self, cache: AssumeCache[PersistentVolume]) -> None:
        self._cache = cache
        self._objects: ObjectStore | None = None
        self._generation = 0
        self._start_over()

    def catch_up(self, objects: ObjectStore) -> None:
        """Take over what changed, in the API or by assuming."""
        keys: Sequence[str] | None = None
        if objects is self._objects:
            keys = objects.changed_since(PersistentVolume, self._generation)
        if keys is None:
            self._start_over()
            keys = list(objects.all(PersistentVolume))
        for key in dict.fromkeys((*keys, *sorted(self._cache.touched))):
            self._put(key, self._cache.get(key))
        self._cache.touched.clear()
        self._objects = objects
        self._generation = objects.generation(PersistentVolume)

    def volume(self, slot: int) -> PersistentVolume:
        """The volume of a slot."""
        found = self._volumes[slot]
        assert found is not None, "a slot that is in use"
        return found

    def slot(self, name: str) -> int:
        """The slot of a volume that is there; of equal volumes the one with the lower slot is taken."""
        return self._slots[name]

    def offers(self, slot_n: IntN) -> tuple[IntN, IntN]:
        """Per slot a code for the class that the volume's spec names, and its size in bytes."""
        return self._written_class.data[slot_n].astype(np.int64), self._bytes.data[slot_n]

    def class_name(self, code: int) -> str:
        """The class that a code stands for."""
        return self._names.values[code]

    def match(self, rows: Rows, claim: PersistentVolumeClaim, taken: Sequence[IntN]) -> IntN:
        """Per row the slot of the volume that the claim would get, NONE when it gets none.

        `taken` are the slots that other claims of the pod get there. Raises SelectorError.
        """
        selector = None if claim.spec.selector is None else compile_label_selector(claim.spec.selector)
        slot_n: IntN = np.full(len(rows), NONE, np.int64)
        open_n = np.ones(len(rows), np.bool_)
        for slot in sorted(self._meant_for(claim)):
            # parity: a volume that was made for the claim decides, also where it cannot be reached
            free_n = open_n & ~_among(slot, taken, len(rows))
            slot_n[free_n & self._reached(rows, slot)] = slot
            open_n &= ~free_n
        if open_n.any():
            at = self._candidates(claim, selector)
            if len(at):
                smallest_n = self._smallest(rows, at, taken)
                slot_n[open_n] = smallest_n[open_n]
        return slot_n

    def _start_over(self) -> None:
        table = self._table = Table()
        self._slots: dict[str, int] = {}
        self._volumes: list[PersistentVolume | None] = []
        self._reach = Reach(table)
        self._sizes: Interner[int] = Interner()
        self._names: Interner[str] = Interner()
        self._modes: Interner[frozenset[str]] = Interner()
        self._labels: Interner[frozenset[tuple[str, str]]] = Interner()
        self._by_claim: dict[str, set[int]] = {}
        self._size = table.column(np.int32, -1)
        self._bytes = table.column(np.int64, 0)
        self._class = table.column(np.int32, -1)
        self._written_class = table.column(np.int32, -1)
        self._volume_mode = table.column(np.int32, -1)
        self._attributes = table.column(np.int32, -1)
        self._mode_set = table.column(np.int32, -1)
        self._label_set = table.column(np.int32, -1)
        self._open = table.column(np.bool_, False)

    def _put(self, key: str, volume: PersistentVolume | None) -> None:
        slot = self._slots.get(key)
        before = None if slot is None else self._volumes[slot]
        if volume is before:
            return
        if before is not None and before.spec.claim_ref is not None:
            self._refer(slot, before, gone=True)
        if volume is None:
            assert slot is not None
            del self._slots[key]
            self._volumes[slot] = None
            self._table.free_row(slot)
            return
        if slot is None:
            slot = self._slots[key] = self._table.take_row()
            if slot == len(self._volumes):
                self._volumes.append(None)
        if before is None or before.spec.node_affinity != volume.spec.node_affinity:
            self._reach.clear(slot)
            self._reach.set(slot, matcher_of(volume.spec.node_affinity))
        self._volumes[slot] = volume
        self._describe(slot, volume)

    def _describe(self, slot: int, volume: PersistentVolume) -> None:
        spec = volume.spec
        self._size.data[slot] = self._sizes.code(nano_value(spec.capacity.get(STORAGE, 0)))
        self._bytes.data[slot] = value(spec.capacity.get(STORAGE, 0))
        self._class.data[slot] = self._names.code(volume_class(volume))
        self._written_class.data[slot] = self._names.code(spec.storage_class_name)
        self._volume_mode.data[slot] = self._names.code(spec.volume_mode or FILESYSTEM)
        self._attributes.data[slot] = self._names.code(spec.volume_attributes_class_name or "")
        self._mode_set.data[slot] = self._modes.code(frozenset(spec.access_modes))
        self._label_set.data[slot] = self._labels.code(frozenset(volume.labels.items()))
        self._open.data[slot] = (
            volume.status.phase == AVAILABLE and spec.claim_ref is None and volume.metadata.deletion_timestamp is None
        )
        if spec.claim_ref is not None:
            self._refer(slot, volume)

    def _refer(self, slot: int | None, volume: PersistentVolume, *, gone: bool = False) -> None:
        assert slot is not None
        assert volume.spec.claim_ref is not None
        ref = volume.spec.claim_ref
        slots = self._by_claim.setdefault(f"{ref.namespace}/{ref.name}", set())
        if gone:
            slots.discard(slot)
        else:
            slots.add(slot)
        if not slots:
            del self._by_claim[f"{ref.namespace}/{ref.name}"]

    def _fitting(self, claim: PersistentVolumeClaim, at: IntN) -> IntN:
        """Those among some slots whose volumes are of the claim's class and kind and large enough."""
        spec, wanted = claim.spec, size_of(claim)
        fits = self._class.data[at] == self._names.code(claim_class(claim))
        fits &= self._sizes.answers(wanted, wanted.__le__, np.bool_)[self._size.data[at]]
        fits &= self._volume_mode.data[at] == self._names.code(spec.volume_mode or FILESYSTEM)
        fits &= self._attributes.data[at] == self._names.code(spec.volume_attributes_class_name or "")
        fitting: IntN = at[fits]
        return fitting

    def _candidates(self, claim: PersistentVolumeClaim, selector: Selector | None) -> IntN:
        """Slots of the volumes that nobody has and that would do for the claim."""
        # perf: most volumes are bound; the rest is looked at more closely
        free_s = self._open.data & (self._class.data == self._names.code(claim_class(claim)))
        at = self._fitting(claim, np.flatnonzero(free_s))
        wanted = frozenset(claim.spec.access_modes)
        at = at[self._modes.answers(wanted, wanted.issubset, np.bool_)[self._mode_set.data[at]]]
        if selector is not None:
            matching = self._labels.answers(selector, lambda pairs: selector.matches(dict(pairs)), np.bool_)
            at = at[matching[self._label_set.data[at]]]
        return at

    def _meant_for(self, claim: PersistentVolumeClaim) -> list[int]:
        """Slots of volumes that refer to the claim, and would do for it."""
        found = []
        for slot in self._by_claim.get(f"{claim.namespace}/{claim.name}", ()):
            volume = self.volume(slot)
            ref = volume.spec.claim_ref
            if ref is not None and ref.uid in {"", claim.uid} and volume.metadata.deletion_timestamp is None:
                found.append(slot)
        fitting: list[int] = self._fitting(claim, np.array(found, np.int64)).tolist()
        return fitting

    def _reached(self, rows: Rows, slot: int) -> BoolN:
        matcher = matcher_of(self.volume(slot).spec.node_affinity)
        return np.ones(len(rows), np.bool_) if matcher is None else matcher_mask(rows, matcher)

    def _smallest(self, rows: Rows, at: IntN, taken: Sequence[IntN]) -> IntN:
        """The smallest that reaches each row and is not taken there; of equals, the one that came first."""
        capacity = self._table.capacity
        sizes = self._sizes.values
        order = np.empty(len(sizes), np.int64)
        order[sorted(range(len(sizes)), key=sizes.__getitem__)] = np.arange(len(sizes))
        rank = order[self._size.data[at]] * capacity + at
        best_n: IntN = np.full(len(rows), FAR)
        for rank_n in self._reach.nearest(rows, at, rank, 1 + len(taken)):
            found_n = rank_n
            if taken:
                at_n = rank_n % capacity
                used_n = np.logical_or.reduce([at_n == other_n for other_n in taken])
                found_n = np.where(used_n, FAR, rank_n)
            np.minimum(best_n, found_n, out=best_n)
        return np.where(best_n == FAR, NONE, best_n % capacity)


def _among(slot: int, taken: Sequence[IntN], n: int) -> BoolN:
    found_n: BoolN = np.zeros(n, np.bool_)
    for other_n in taken:
        found_n |= other_n == slot
    return found_n
