"""What a changed object means to parked pods: each change as the events upstream derives from it.

Upstream: pkg/scheduler/framework/events.go and eventhandlers.go (v1.36.4).
"""

from collections.abc import Callable, Mapping
from typing import Final

from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.quantity import parse, scaled_value
from stowplan.api.requests import PLACED, request_quantities
from stowplan.api.resource import DeviceClass, ResourceClaim, ResourceSlice
from stowplan.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import Change, Kind, ObjectEvent

KINDS: Final[Mapping[type[KubeObject], Kind]] = {
    PersistentVolume: Kind.PERSISTENT_VOLUME,
    PersistentVolumeClaim: Kind.PERSISTENT_VOLUME_CLAIM,
    CSINode: Kind.CSI_NODE,
    CSIDriver: Kind.CSI_DRIVER,
    VolumeAttachment: Kind.VOLUME_ATTACHMENT,
    CSIStorageCapacity: Kind.CSI_STORAGE_CAPACITY,
    StorageClass: Kind.STORAGE_CLASS,
    ResourceClaim: Kind.RESOURCE_CLAIM,
    ResourceSlice: Kind.RESOURCE_SLICE,
    DeviceClass: Kind.DEVICE_CLASS,
}


def object_events(old: KubeObject | None, new: KubeObject | None) -> list[ObjectEvent]:
    """The events of a change of an object that is neither a node nor a pod; none for kinds nobody waits for."""
    known = new if new is not None else old
    assert known is not None
    kind = KINDS.get(type(known))
    if kind is None:
        return []
    change = Change.ADDED if old is None else Change.DELETED if new is None else Change.UPDATED
    return [ObjectEvent(kind, change, old, new)]


def node_events(old: Node | None, new: Node | None) -> list[ObjectEvent]:
    """The events of a change of a node: one per aspect that changed, none when nothing did that matters."""
    if old is None:
        return [ObjectEvent(Kind.NODE, Change.ADDED, None, new)]
    if new is None:
        return [ObjectEvent(Kind.NODE, Change.DELETED, old, None)]
    return [ObjectEvent(Kind.NODE, change, old, new) for change, changed in NODE_ASPECTS if changed(old, new)]


def _opened(old: Node, new: Node) -> bool:
    return old.spec.unschedulable and not new.spec.unschedulable


def _statuses(node: Node) -> dict[str, str]:
    return {condition.type: condition.status for condition in node.status.conditions}


# parity: opening a cordoned node and changing its taints are the same event, and may come as two
NODE_ASPECTS: Final[tuple[tuple[Change, Callable[[Node, Node], bool]], ...]] = (
    (Change.NODE_TAINTS, _opened),
    (Change.NODE_ALLOCATABLE, lambda old, new: not _same_amounts(old, new)),
    (Change.NODE_LABELS, lambda old, new: old.metadata.labels != new.metadata.labels),
    (Change.NODE_TAINTS, lambda old, new: old.spec.taints != new.spec.taints),
    (Change.NODE_CONDITIONS, lambda old, new: _statuses(old) != _statuses(new)),
    (Change.NODE_ANNOTATIONS, lambda old, new: old.metadata.annotations != new.metadata.annotations),
    (Change.NODE_FEATURES, lambda old, new: old.status.declared_features != new.status.declared_features),
)


def _same_amounts(old: Node, new: Node) -> bool:
    a, b = old.status.allocatable, new.status.allocatable
    if a == b:
        return True
    return a.keys() == b.keys() and all(parse(a[name]) == parse(b[name]) for name in a)


def pod_events(old: PodInfo | None, new: PodInfo | None, *, assigned: bool) -> list[ObjectEvent]:
    """The events of a change of a pod that is placed, or that still waits."""
    kind = Kind.ASSIGNED_POD if assigned else Kind.UNSCHEDULED_POD
    if old is None:
        return [ObjectEvent(kind, Change.ADDED, None, new)]
    if new is None:
        return [ObjectEvent(kind, Change.DELETED, old, None)]
    changes = [change for change, changed in POD_ASPECTS if changed(old.pod, new.pod)]
    # parity: a change of which no aspect is known is told to those only who hear of every update
    return [ObjectEvent(kind, change, old, new) for change in changes or [Change.UPDATED]]


def _scaled_down(old: Pod, new: Pod) -> bool:
    before, after = request_quantities(old, PLACED), request_quantities(new, PLACED)
    return any(
        name not in after or scaled_value(amount, -3) > scaled_value(after[name], -3) for name, amount in before.items()
    )


def _claims_changed(old: Pod, new: Pod) -> bool:
    return (
        old.status.resource_claim_statuses != new.status.resource_claim_statuses
        or old.status.extended_resource_claim_status != new.status.extended_resource_claim_status
    )


POD_ASPECTS: Final[tuple[tuple[Change, Callable[[Pod, Pod], bool]], ...]] = (
    (Change.POD_LABELS, lambda old, new: old.metadata.labels != new.metadata.labels),
    (Change.POD_SCALED_DOWN, _scaled_down),
    (Change.POD_GATES_GONE, lambda old, new: bool(old.spec.scheduling_gates) and not new.spec.scheduling_gates),
    (Change.POD_TOLERATIONS, lambda old, new: len(old.spec.tolerations) != len(new.spec.tolerations)),
    (Change.POD_CLAIMS, _claims_changed),
)
