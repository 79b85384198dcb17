"""Wake: an event that may make a parked pod schedulable, with the hint that says whether it does.

Upstream: ClusterEvent and QueueingHintFn in staging/src/k8s.io/kube-scheduler/framework/types.go (v1.36.4).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntFlag, StrEnum, auto
from typing import Any, Final, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View


class Kind(StrEnum):
    """What changed. A wake on POD hears of assigned and of unscheduled pods."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnschedulablePod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    RESOURCE_CLAIM = "resource.k8s.io/ResourceClaim"
    RESOURCE_SLICE = "resource.k8s.io/ResourceSlice"
    DEVICE_CLASS = "resource.k8s.io/DeviceClass"
    ANY = "*"


class Change(IntFlag):
    """How it changed."""

    ADDED = auto()
    DELETED = auto()
    NODE_ALLOCATABLE = auto()
    NODE_LABELS = auto()
    NODE_TAINTS = auto()
    NODE_CONDITIONS = auto()
    NODE_ANNOTATIONS = auto()
    NODE_FEATURES = auto()
    POD_LABELS = auto()
    POD_SCALED_DOWN = auto()
    POD_TOLERATIONS = auto()
    POD_GATES_GONE = auto()
    POD_CLAIMS = auto()
    UPDATED = (
        NODE_ALLOCATABLE
        | NODE_LABELS
        | NODE_TAINTS
        | NODE_CONDITIONS
        | NODE_ANNOTATIONS
        | NODE_FEATURES
        | POD_LABELS
        | POD_SCALED_DOWN
        | POD_TOLERATIONS
        | POD_GATES_GONE
        | POD_CLAIMS
    )
    ALL = ADDED | DELETED | UPDATED


CHANGE_NAMES: Final[Mapping[Change, str]] = {
    Change.ADDED: "Add",
    Change.DELETED: "Delete",
    Change.NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    Change.NODE_LABELS: "UpdateNodeLabel",
    Change.NODE_TAINTS: "UpdateNodeTaint",
    Change.NODE_CONDITIONS: "UpdateNodeCondition",
    Change.NODE_ANNOTATIONS: "UpdateNodeAnnotation",
    Change.NODE_FEATURES: "UpdateNodeDeclaredFeature",
    Change.POD_LABELS: "UpdatePodLabel",
    Change.POD_SCALED_DOWN: "UpdatePodScaleDown",
    Change.POD_TOLERATIONS: "UpdatePodToleration",
    Change.POD_GATES_GONE: "UpdatePodSchedulingGatesEliminated",
    Change.POD_CLAIMS: "UpdatePodGeneratedResourceClaim",
    Change.UPDATED: "Update",
    Change.ALL: "All",
}
"""Upstream's names, as they stand in the labels of metrics."""


@final
@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """One change of one object. `old` is None for an addition, `new` for a deletion; pods come as PodInfo."""

    kind: Kind
    change: Change
    old: Any = None
    new: Any = None

    @property
    def label(self) -> str:
        """What metrics call it."""
        return f"{self.kind}{CHANGE_NAMES[self.change]}"


Hint = Callable[[PodInfo, ObjectEvent, View], bool]
"""(the parked pod, what happened, the cluster after it) -> may the pod be schedulable now? An error counts as yes."""


@final
@dataclass(frozen=True, slots=True)
class Wake:
    """Hear of some changes of a kind; without a hint every one of them wakes the pod."""

    kind: Kind
    change: Change
    when: Hint | None = None

    def hears(self, event: ObjectEvent) -> bool:
        """Whether the event is among those it asked for."""
        if self.kind is Kind.ANY:
            return self.change is Change.ALL or self._hears_change(event.change)
        of_pods = self.kind is Kind.POD and event.kind in {Kind.ASSIGNED_POD, Kind.UNSCHEDULED_POD}
        return (of_pods or self.kind is event.kind) and self._hears_change(event.change)

    def _hears_change(self, change: Change) -> bool:
        # parity: an unspecific update, which is all bits, is heard only by who hears of every update; upstream
        # compares the bit patterns as numbers (MatchClusterEvents in pkg/scheduler/framework/types.go)
        return bool(self.change & change) and change <= self.change


EVERY_EVENT: Final = tuple(
    Wake(kind, Change.ALL)
    for kind in (
        Kind.POD,
        Kind.NODE,
        Kind.PERSISTENT_VOLUME,
        Kind.PERSISTENT_VOLUME_CLAIM,
        Kind.CSI_NODE,
        Kind.CSI_DRIVER,
        Kind.CSI_STORAGE_CAPACITY,
        Kind.STORAGE_CLASS,
        Kind.RESOURCE_CLAIM,
        Kind.DEVICE_CLASS,
    )
)
"""What a plugin that names no wakes hears of."""
