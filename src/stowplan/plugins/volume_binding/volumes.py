"""The persistent volumes as columns, and the best of them for a claim, for all nodes at once.

Upstream: FindMatchingVolume in staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final, final

import numpy as np

from stowplan.api.claims import STORAGE, claim_class, volume_class
from stowplan.api.quantity import nano_value, value
from stowplan.api.selectors import compile_label_selector
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
        fitting_s = self._fitting(claim)
        slot_n: IntN = np.full(len(rows), NONE, np.int64)
        open_n = np.ones(len(rows), np.bool_)
        for slot in sorted(self._meant_for(claim)):
            # parity: a volume that was made for the claim decides, also where it cannot be reached
            if fitting_s[slot]:
                free_n = open_n & ~_among(slot, taken, len(rows))
                slot_n[free_n & self._reached(rows, slot)] = slot
                open_n &= ~free_n
        candidate_s = fitting_s & self._available.data & ~self._claimed.data
        candidate_s &= self._modes.answers(
            frozenset(claim.spec.access_modes), frozenset(claim.spec.access_modes).issubset, np.bool_
        )[self._mode_set.data]
        if selector is not None:
            labels_match = self._labels.answers(selector, lambda pairs: selector.matches(dict(pairs)), np.bool_)
            candidate_s &= labels_match[self._label_set.data]
        if open_n.any() and candidate_s.any():
            smallest_n = self._smallest(rows, candidate_s, taken)
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
        self._available = table.column(np.bool_, False)
        self._claimed = table.column(np.bool_, False)
        self._deleting = table.column(np.bool_, False)

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
        self._available.data[slot] = volume.status.phase == AVAILABLE
        self._deleting.data[slot] = volume.metadata.deletion_timestamp is not None
        self._claimed.data[slot] = spec.claim_ref is not None
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

    def _fitting(self, claim: PersistentVolumeClaim) -> BoolN:
        """Volumes of the claim's class and kind that are large enough and will stay."""
        spec = claim.spec
        wanted = size_of(claim)
        fitting_s: BoolN = self._class.data == self._names.code(claim_class(claim))
        fitting_s &= self._sizes.answers(wanted, wanted.__le__, np.bool_)[self._size.data]
        fitting_s &= self._volume_mode.data == self._names.code(spec.volume_mode or FILESYSTEM)
        fitting_s &= self._attributes.data == self._names.code(spec.volume_attributes_class_name or "")
        return fitting_s & ~self._deleting.data

    def _meant_for(self, claim: PersistentVolumeClaim) -> set[int]:
        """Slots of volumes that refer to the claim."""
        found = set()
        for slot in self._by_claim.get(f"{claim.namespace}/{claim.name}", ()):
            ref = self.volume(slot).spec.claim_ref
            if ref is not None and ref.uid in {"", claim.uid}:
                found.add(slot)
        return found

    def _reached(self, rows: Rows, slot: int) -> BoolN:
        matcher = matcher_of(self.volume(slot).spec.node_affinity)
        return np.ones(len(rows), np.bool_) if matcher is None else matcher_mask(rows, matcher)

    def _smallest(self, rows: Rows, candidate_s: BoolN, taken: Sequence[IntN]) -> IntN:
        """The smallest candidate that reaches each row and is not taken there; of equals, the first that came."""
        capacity = self._table.capacity
        order = np.zeros(len(self._sizes) + 1, np.int64)
        order[np.array(sorted(range(len(self._sizes)), key=self._sizes.values.__getitem__))] = np.arange(
            len(self._sizes)
        )
        rank_s: IntN = np.where(candidate_s, order[self._size.data] * capacity + np.arange(capacity), FAR)
        best_n: IntN = np.full(len(rows), FAR)
        for rank_n in self._reach.nearest(rows, rank_s, 1 + len(taken)):
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
