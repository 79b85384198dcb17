"""VolumeZone: pods go where the zone and region labels of their bound volumes point.

Upstream: pkg/scheduler/framework/plugins/volumezone (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.api.claims import WAIT_FOR_FIRST_CONSUMER, claim_class, claim_key, claim_not_found
from stowplan.api.selectors import Operator, Requirement
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.columns.node_masks import requirement_mask
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import SKIP, FilterPlugin, PreFilterPlugin, Skip
from stowplan.framework.verdict import Rejection, Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import BoolN

CONFLICT: Final = unresolvable("node(s) had no available volume zone")

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
SUCCESSORS: Final[Mapping[str, str]] = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
}
"""Old label keys and those that took their place."""
TOPOLOGY_KEYS: Final = (*SUCCESSORS, ZONE, REGION)
BETWEEN_ZONES: Final = "__"


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A label that says from where a volume can be reached."""

    volume: str
    key: str
    values: frozenset[str]


Places = tuple[Place, ...]


def places_of(volume: PersistentVolume) -> Places:
    """The labels of a volume that bind it to zones or regions; malformed ones do not count."""
    found = []
    for key in TOPOLOGY_KEYS:
        written = volume.labels.get(key)
        if written is None:
            continue
        values = frozenset(value.strip() for value in written.split(BETWEEN_ZONES))
        if "" not in values:
            found.append(Place(volume.name, key, values))
    return tuple(found)


def class_lets_wait(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A class came whose claims wait for their first pod."""
    added: StorageClass = event.new
    return added.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def claim_changed(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A claim that a volume of the pod names came or changed."""
    claim: PersistentVolumeClaim = event.new
    return claim.key in pod.cls.claim_keys


def volume_moved(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A volume came, or its places changed."""
    old: PersistentVolume | None = event.old
    return old is None or places_of(old) != places_of(event.new)


@final
class VolumeZone(PreFilterPlugin[Places], FilterPlugin[Places]):
    """Rejects nodes with zone or region labels other than those of the pod's bound volumes."""

    name = "VolumeZone"
    wakes = (
        Wake(Kind.STORAGE_CLASS, Change.ADDED, class_lets_wait),
        Wake(Kind.NODE, Change.ADDED | Change.NODE_LABELS),
        Wake(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED | Change.UPDATED, claim_changed),
        Wake(Kind.PERSISTENT_VOLUME, Change.ADDED | Change.UPDATED, volume_moved),
    )

    def prepare(self, view: View, pod: PodInfo) -> Places | Skip | Rejection:
        """The places of the volumes that the pod's claims are bound to."""
        places: list[Place] = []
        for volume in pod.cls.spec.volumes:
            if volume.persistent_volume_claim is None:
                continue
            name = volume.persistent_volume_claim.claim_name
            if not name:
                return unresolvable("PersistentVolumeClaim had no name")
            claim = view.objects.get(PersistentVolumeClaim, claim_key(pod.cls.namespace, name))
            if claim is None:
                return unresolvable(claim_not_found(name))
            if not claim.spec.volume_name:
                rejected = _judge_unbound(view, claim)
                if rejected is not None:
                    return rejected
                continue
            bound = view.objects.get(PersistentVolume, claim.spec.volume_name)
            if bound is None:
                return unresolvable(f'persistentvolume "{claim.spec.volume_name}" not found')
            places += places_of(bound)
        return tuple(places) or SKIP

    def filter(self, pod: PodInfo, rows: Rows, plan: Places) -> Verdict:
        """Nodes with topology labels fail when one of the places is elsewhere."""
        labelled_n = np.logical_or.reduce([rows.label(key) >= 0 for key in TOPOLOGY_KEYS])
        elsewhere_n = np.logical_or.reduce([~_within(rows, place) for place in plan])
        return Verdict.reject_where(labelled_n & elsewhere_n, CONFLICT)


def _judge_unbound(view: View, claim: PersistentVolumeClaim) -> Rejection | None:
    name = claim_class(claim)
    if not name:
        return unresolvable("PersistentVolumeClaim had no pv name and storageClass name")
    found = view.objects.get(StorageClass, name)
    if found is None:
        return unresolvable(f'storageclass.storage.k8s.io "{name}" not found')
    if found.volume_binding_mode is None:
        return unresolvable(f'VolumeBindingMode not set for StorageClass "{name}"')
    if found.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
        return None
    return unresolvable("PersistentVolume had no name")


def _within(rows: Rows, place: Place) -> BoolN:
    """Where the node's label has one of the values; nodes without an old key are asked for its successor."""
    values = tuple(sorted(place.values))
    within_n = requirement_mask(rows, Requirement(place.key, Operator.IN, values))
    successor = SUCCESSORS.get(place.key)
    if successor is None:
        return within_n
    by_successor_n = requirement_mask(rows, Requirement(successor, Operator.IN, values))
    return within_n | ((rows.label(place.key) < 0) & by_successor_n)
