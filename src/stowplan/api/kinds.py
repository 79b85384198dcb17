"""The table of kinds: which record reads which apiVersion and kind, and where the API keeps it."""

from collections.abc import Mapping
from dataclasses import dataclass

from stowplan.api.meta import KubeObject, Namespace
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.policy import PodDisruptionBudget, PriorityClass
from stowplan.api.resource import DeviceClass, DeviceTaintRule, ResourceClaim, ResourceClaimTemplate, ResourceSlice
from stowplan.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stowplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind that the scheduler reads."""

    record: type[KubeObject]
    plural: str
    namespaced: bool

    @property
    def name(self) -> str:
        """The kind as objects carry it, such as Pod."""
        return self.record.kind

    @property
    def api_version(self) -> str:
        """Group and version as objects carry them, such as apps/v1."""
        return self.record.api_version

    @property
    def path(self) -> str:
        """The URL path of the collection over all namespaces, such as /apis/apps/v1/replicasets."""
        root = "api" if "/" not in self.api_version else "apis"
        return f"/{root}/{self.api_version}/{self.plural}"


KINDS: tuple[Kind, ...] = (
    Kind(record=Namespace, plural="namespaces", namespaced=False),
    Kind(record=Node, plural="nodes", namespaced=False),
    Kind(record=Pod, plural="pods", namespaced=True),
    Kind(record=PersistentVolume, plural="persistentvolumes", namespaced=False),
    Kind(record=PersistentVolumeClaim, plural="persistentvolumeclaims", namespaced=True),
    Kind(record=Service, plural="services", namespaced=True),
    Kind(record=ReplicationController, plural="replicationcontrollers", namespaced=True),
    Kind(record=ReplicaSet, plural="replicasets", namespaced=True),
    Kind(record=StatefulSet, plural="statefulsets", namespaced=True),
    Kind(record=PodDisruptionBudget, plural="poddisruptionbudgets", namespaced=True),
    Kind(record=PriorityClass, plural="priorityclasses", namespaced=False),
    Kind(record=StorageClass, plural="storageclasses", namespaced=False),
    Kind(record=CSINode, plural="csinodes", namespaced=False),
    Kind(record=CSIDriver, plural="csidrivers", namespaced=False),
    Kind(record=CSIStorageCapacity, plural="csistoragecapacities", namespaced=True),
    Kind(record=VolumeAttachment, plural="volumeattachments", namespaced=False),
    Kind(record=ResourceClaim, plural="resourceclaims", namespaced=True),
    Kind(record=ResourceClaimTemplate, plural="resourceclaimtemplates", namespaced=True),
    Kind(record=DeviceClass, plural="deviceclasses", namespaced=False),
    Kind(record=ResourceSlice, plural="resourceslices", namespaced=False),
    Kind(record=DeviceTaintRule, plural="devicetaintrules", namespaced=False),
)

BY_KIND: Mapping[tuple[str, str], Kind] = {(kind.api_version, kind.name): kind for kind in KINDS}
BY_RECORD: Mapping[type[KubeObject], Kind] = {kind.record: kind for kind in KINDS}
