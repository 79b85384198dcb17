"""Wake: an event that may make a parked pod schedulable, with the hint that says whether it does.

Upstream: ClusterEvent and QueueingHintFn in staging/src/k8s.io/kube-scheduler/framework/types.go (v1.36.4).
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntFlag, StrEnum, auto
from typing import Any, final

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


@final
@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """One change of one object. `old` is None for an addition, `new` for a deletion; pods come as PodInfo."""

    kind: Kind
    change: Change
    old: Any = None
    new: Any = None


Hint = Callable[[PodInfo, ObjectEvent, View], bool]
"""(the parked pod, what happened, the cluster after it) -> may the pod be schedulable now? An error counts as yes."""


@final
@dataclass(frozen=True, slots=True)
class Wake:
    """Hear of some changes of a kind; without a hint every one of them wakes the pod."""

    kind: Kind
    change: Change
    when: Hint | None = None
