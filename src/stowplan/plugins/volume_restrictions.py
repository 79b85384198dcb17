"""VolumeRestrictions: a disk that one pod writes, and a claim for one pod only, are not given to a second.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions (v1.36.4).
"""

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.api.claims import READ_WRITE_ONCE_POD, claim_key, claim_not_found
from stowplan.api.storage import PersistentVolumeClaim
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.columns.volume_uses import DiskUse, disks_of, is_disk
from stowplan.columns.worlds import Worlds
from stowplan.framework.plugin import SKIP, FilterPlugin, PreFilterPlugin, Skip
from stowplan.framework.verdict import Rejection, Verdict, rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import BoolN, IntN

DISK_CONFLICT: Final = rejection("node(s) had no available disk")
CLAIM_IN_USE: Final = rejection(
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)


@final
@dataclass(frozen=True, slots=True)
class Restrictions:
    """The disks that the pod mounts, the claims it wants for itself, and how many of these are in use somewhere."""

    disks: tuple[DiskUse, ...]
    own_claims: frozenset[str]
    in_use: int


def claim_came(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A claim that a volume of the pod names was created."""
    claim: PersistentVolumeClaim = event.new
    return claim.key in pod.cls.claim_keys


def volume_released(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A pod of the namespace went that had a disk or a claim that this pod wants."""
    gone: PodInfo = event.old
    if gone.cls.namespace != pod.cls.namespace:
        return False
    return _disks_clash(disks_of(pod.cls), gone) or not set(pod.cls.claim_keys).isdisjoint(gone.cls.claim_keys)


@final
class VolumeRestrictions(PreFilterPlugin[Restrictions], FilterPlugin[Restrictions]):
    """Rejects nodes where a disk is taken, and all nodes while a claim for one pod only is in use."""

    name = "VolumeRestrictions"
    wakes = (
        Wake(Kind.POD, Change.DELETED, volume_released),
        Wake(Kind.NODE, Change.ADDED),
        Wake(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, claim_came),
    )

    def prepare(self, view: View, pod: PodInfo) -> Restrictions | Skip | Rejection:
        """The pod's disks, and its claims with access mode ReadWriteOncePod."""
        volumes = pod.cls.spec.volumes
        own: set[str] = set()
        for volume in volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            claim = view.objects.get(PersistentVolumeClaim, claim_key(pod.cls.namespace, name))
            if claim is None:
                return unresolvable(claim_not_found(name))
            if READ_WRITE_ONCE_POD in claim.spec.access_modes:
                own.add(name)
        in_use = sum(_is_used(view, claim_key(pod.cls.namespace, name)) for name in own)
        if not in_use and not any(is_disk(volume) for volume in volumes):
            return SKIP
        return Restrictions(disks_of(pod.cls), frozenset(own), in_use)

    def filter(self, pod: PodInfo, rows: Rows, plan: Restrictions) -> Verdict:
        """A taken disk counts first."""
        return Verdict.first_of(
            [
                (_disks_taken(rows, plan.disks), DISK_CONFLICT),
                (_claims_in_use(rows, plan) > 0, CLAIM_IN_USE),
            ]
        )


def _is_used(view: View, key: str) -> bool:
    alive = view.nodes.alive.data
    return any(alive[row] for row in view.nodes.volumes.of_claim(key))


def _disks_taken(rows: Rows, disks: tuple[DiskUse, ...]) -> BoolN:
    taken_n: BoolN = np.zeros(len(rows), np.bool_)
    if not disks:
        return taken_n
    clashing = set().union(*(rows.view.nodes.volumes.clashing(use) for use in disks))
    if clashing:
        taken_n = np.isin(rows.index, np.fromiter(clashing, np.int64))
    if isinstance(rows, Worlds):
        for at in range(len(rows)):
            if any(disks_of(other.cls) for other in (*rows.added(at), *rows.removed(at))):
                taken_n[at] = any(_disks_clash(disks, other) for other in rows.pods(at))
    return taken_n


def _disks_clash(disks: tuple[DiskUse, ...], other: PodInfo) -> bool:
    return any(
        use.disk == theirs.disk and not (use.shareable and theirs.shareable)
        for theirs in disks_of(other.cls)
        for use in disks
    )


def _claims_in_use(rows: Rows, plan: Restrictions) -> IntN:
    in_use_n: IntN = np.full(len(rows), plan.in_use, np.int64)
    if plan.own_claims and isinstance(rows, Worlds):
        for at in range(len(rows)):
            in_use_n[at] += sum(_uses(plan, other) for other in rows.added(at))
            in_use_n[at] -= sum(_uses(plan, other) for other in rows.removed(at))
    return in_use_n


def _uses(plan: Restrictions, pod: PodInfo) -> int:
    # parity: conflictingPVCRefCountForPod counts per volume, by the claim's name alone, whatever the pod's namespace
    return sum(
        volume.persistent_volume_claim is not None and volume.persistent_volume_claim.claim_name in plan.own_claims
        for volume in pod.cls.spec.volumes
    )
