"""Finding: where the pod's bound volumes can be reached, and where its other claims would find or get volumes.

Upstream: FindPodVolumes in pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np

from stowplan.api.affinity import TopologySelectorTerm
from stowplan.api.claims import NO_PROVISIONER, SELECTED_NODE, STORAGE, claim_class
from stowplan.api.csi_migration import ALWAYS_MIGRATED, MigrationError, plugin_of, translate, translated_affinity
from stowplan.api.errors import SelectorError
from stowplan.api.quantity import value
from stowplan.api.selectors import Operator, Requirement, requirement_errors
from stowplan.api.storage import CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeNodeAffinity
from stowplan.columns.csi_nodes import CSINodeColumns
from stowplan.columns.node_masks import matcher_mask, requirement_mask
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.verdict import Rejection, Verdict, fatal
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.volume_binding.affinity import matcher_of
from stowplan.plugins.volume_binding.assume_cache import AssumeCache
from stowplan.plugins.volume_binding.capacities import NONE as NO_POOL
from stowplan.plugins.volume_binding.capacities import CapacityTable
from stowplan.plugins.volume_binding.plan import Match, Reservation, VolumePlan
from stowplan.plugins.volume_binding.volumes import NONE, VolumeTable, size_of

NODE_CONFLICT: Final = "node(s) didn't match PersistentVolume's node affinity"
BIND_CONFLICT: Final = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE: Final = "node(s) did not have enough free storage"
VOLUME_MISSING: Final = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"

NO_ROW: Final = -1


@final
@dataclass(frozen=True, slots=True)
class Static:
    """A claim, and per row the slot of the volume it would get."""

    claim: PersistentVolumeClaim
    slot_n: IntN


@final
@dataclass(frozen=True, slots=True)
class Dynamic:
    """A claim, where it would be provisioned, and from which pool, as far as pools are counted."""

    claim: PersistentVolumeClaim
    here_n: BoolN
    pool_n: IntN


@final
@dataclass(slots=True)
class Found:
    """What was found along some rows."""

    node_conflict_n: BoolN
    bind_conflict_n: BoolN
    no_space_n: BoolN
    missing_n: BoolN
    errors: list[tuple[BoolN, str]] = field(default_factory=list)
    static: list[Static] = field(default_factory=list)
    dynamic: list[Dynamic] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """All reasons of a row; none of them goes away by evicting pods. An error is the only word on its row."""
        reasons = [
            (self.node_conflict_n, NODE_CONFLICT),
            (self.bind_conflict_n, BIND_CONFLICT),
            (self.no_space_n, NOT_ENOUGH_SPACE),
            (self.missing_n, VOLUME_MISSING),
        ]
        verdict = Verdict.all_of(reasons, np.ones(len(self.missing_n), np.bool_))
        for wrong_n, text in reversed(self.errors):
            verdict = _overruled(verdict, wrong_n, fatal(text))
        return verdict


@final
class Finder:
    """Looks for volumes on all nodes at once."""

    def __init__(self, cache: AssumeCache[PersistentVolume], csi_nodes: CSINodeColumns, volumes: VolumeTable) -> None:
        self._cache = cache
        self._csi_nodes = csi_nodes
        self.volumes = volumes
        self.capacities = CapacityTable()

    def find(self, rows: Rows, plan: VolumePlan) -> Found:
        """Judge the rows by all claims of the pod."""
        n = len(rows)
        none = np.zeros(n, np.bool_)
        found = Found(none, none.copy(), none.copy(), none.copy())
        open_n = np.ones(n, np.bool_)
        if plan.bound:
            open_n = self._check_bound(rows, plan.bound, found)
        if plan.delayed:
            self._find_delayed(rows, plan.delayed, open_n, found)
        return found

    def reserve(self, view: View, plan: VolumePlan, node_name: str) -> Reservation | str:
        """What the pod gets on a node, or why it gets nothing there."""
        rows = view.only([node_name])
        if not len(rows):
            return f'node "{node_name}" not found'
        found = self.find(rows, plan)
        why = found.verdict.at(0)
        if why is not None:
            return why.message
        return Reservation(
            [
                Match(self.volumes.volume(int(static.slot_n[0])), static.claim)
                for static in found.static
                if static.slot_n[0] != NONE
            ],
            [dynamic.claim for dynamic in found.dynamic if dynamic.here_n[0]],
        )

    def _check_bound(self, rows: Rows, claims: Sequence[PersistentVolumeClaim], found: Found) -> BoolN:
        """Where the bound volumes can be reached, the first that cannot decides; returns where nothing went wrong."""
        open_n = np.ones(len(rows), np.bool_)
        wrong_n = np.zeros(len(rows), np.bool_)
        for claim in claims:
            volume = self._cache.get(claim.spec.volume_name)
            if volume is None:
                found.missing_n |= open_n
                break
            conflict_n = ~reached(rows, volume.spec.node_affinity)
            migrated_n = self._migrated(rows, volume)
            if migrated_n is not None:
                try:
                    translate(volume)
                    conflict_n = np.where(migrated_n, ~reached(rows, translated_affinity(volume)), conflict_n)
                except MigrationError as error:
                    found.errors.append((open_n & migrated_n, f"could not translate pv: {error}"))
                    wrong_n |= open_n & migrated_n
                    open_n = open_n & ~migrated_n
            found.node_conflict_n |= open_n & conflict_n
            open_n = open_n & ~conflict_n
            if not open_n.any():
                break
        return ~wrong_n

    def _migrated(self, rows: Rows, volume: PersistentVolume) -> BoolN | None:
        plugin = plugin_of(volume)
        if plugin not in ALWAYS_MIGRATED:
            return None
        self._csi_nodes.catch_up(rows.view)
        column = self._csi_nodes.migrated(plugin)
        return None if column is None else rows.take(column)

    def _find_delayed(self, rows: Rows, claims: Sequence[PersistentVolumeClaim], open_n: BoolN, found: Found) -> None:
        selected = [claim for claim in claims if SELECTED_NODE in claim.metadata.annotations]
        for claim in selected:
            row = rows.view.row_of(claim.metadata.annotations[SELECTED_NODE])
            found.bind_conflict_n |= open_n & (rows.index != (NO_ROW if row is None else row))
        open_n = open_n & ~found.bind_conflict_n
        to_match = sorted((claim for claim in claims if SELECTED_NODE not in claim.metadata.annotations), key=size_of)
        self.volumes.catch_up(rows.view.objects)
        for claim in to_match:
            try:
                slot_n = self.volumes.match(rows, claim, [static.slot_n for static in found.static])
            except SelectorError as error:
                text = f"error creating internal label selector for claim: {claim.namespace}/{claim.name}: {error}"
                found.errors.append((open_n, text))
                return
            found.static.append(Static(claim, slot_n))
        for claim in selected:
            open_n = self._provision(rows, claim, open_n, open_n, found)
        for static in tuple(found.static):
            open_n = self._provision(rows, static.claim, open_n, open_n & (static.slot_n == NONE), found)

    def _provision(self, rows: Rows, claim: PersistentVolumeClaim, open_n: BoolN, here_n: BoolN, found: Found) -> BoolN:
        """Where a claim could be provisioned; returns the rows on which nothing stands in the way yet."""
        if not here_n.any():
            return open_n
        name = claim_class(claim)
        if not name:
            found.errors.append((here_n, f'no class for claim "{claim.namespace}/{claim.name}"'))
            return open_n & ~here_n
        storage_class = rows.view.objects.get(StorageClass, name)
        if storage_class is None:
            found.errors.append((here_n, f'failed to find storage class "{name}"'))
            return open_n & ~here_n
        if storage_class.provisioner in {"", NO_PROVISIONER}:
            found.bind_conflict_n |= here_n
            return open_n & ~here_n
        if storage_class.allowed_topologies:
            outside_n = here_n & ~within(rows, storage_class.allowed_topologies)
            found.bind_conflict_n |= outside_n
            here_n, open_n = here_n & ~outside_n, open_n & ~outside_n
        pool_n = self._pools(rows, claim, storage_class)
        if pool_n is None:
            found.dynamic.append(Dynamic(claim, here_n, np.full(len(rows), NO_POOL, np.int64)))
            return open_n
        short_n: BoolN = here_n & (pool_n == NO_POOL)
        found.no_space_n |= short_n
        found.dynamic.append(Dynamic(claim, here_n & ~short_n, pool_n))
        left_n: BoolN = open_n & ~short_n
        return left_n

    def _pools(self, rows: Rows, claim: PersistentVolumeClaim, storage_class: StorageClass) -> IntN | None:
        """Per row a pool with room for the claim; None where pools are not counted."""
        wanted = claim.spec.resources.requests.get(STORAGE)
        driver = rows.view.objects.get(CSIDriver, storage_class.provisioner)
        if wanted is None or driver is None or not driver.spec.storage_capacity:
            return None
        self.capacities.catch_up(rows.view.objects)
        return self.capacities.enough(rows, storage_class.name, value(wanted))


def reached(rows: Rows, affinity: VolumeNodeAffinity | None) -> BoolN:
    """From where a volume with such an affinity can be reached."""
    matcher = matcher_of(affinity)
    return np.ones(len(rows), np.bool_) if matcher is None else matcher_mask(rows, matcher)


def within(rows: Rows, terms: Sequence[TopologySelectorTerm]) -> BoolN:
    """Where one of the terms of allowed topologies holds; empty and malformed ones hold nowhere."""
    within_n: BoolN = np.zeros(len(rows), np.bool_)
    for term in terms:
        wanted = term.match_label_expressions
        if not wanted or any(requirement_errors(want.key, Operator.IN, want.values) for want in wanted):
            continue
        masks = (
            requirement_mask(rows, Requirement(want.key, Operator.IN, tuple(sorted(set(want.values)))))
            for want in wanted
        )
        within_n |= np.logical_and.reduce(list(masks))
    return within_n


def _overruled(verdict: Verdict, mask_n: BoolN, why: Rejection) -> Verdict:
    if not mask_n.any():
        return verdict
    number = len(verdict.rejections) + 1
    outcome_n = np.zeros(len(mask_n), np.int32) if verdict.outcome_n is None else verdict.outcome_n.copy()
    outcome_n[mask_n] = number
    return Verdict(outcome_n, (*verdict.rejections, why))
