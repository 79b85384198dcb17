"""Persistent storage: volumes, claims, classes, and what CSI drivers say of nodes and capacity.

Upstream: staging/src/k8s.io/api/core/v1/types.go and storage/v1/types.go (v1.36.4).
"""

from typing import ClassVar

from msgspec import field

from stowplan.api.affinity import NodeSelector, TopologySelectorTerm
from stowplan.api.meta import (
    Condition,
    Int32,
    KubeObject,
    LabelSelector,
    ObjectReference,
    RawQuantity,
    Record,
    ResourceList,
    SecretReference,
)
from stowplan.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    HostPathVolumeSource,
    ISCSIVolumeSource,
    OtherVolumeSource,
    PersistentVolumeClaimSpec,
    PortworxVolumeSource,
    RBDVolumeSource,
    VsphereVirtualDiskVolumeSource,
)


class CSIPersistentVolumeSource(Record, frozen=True):
    """A volume of a CSI driver."""

    driver: str = ""
    volume_handle: str = ""
    read_only: bool = False
    fs_type: str = field(default="", name="fsType")
    volume_attributes: dict[str, str] = {}
    controller_publish_secret_ref: SecretReference | None = None
    node_stage_secret_ref: SecretReference | None = None
    node_publish_secret_ref: SecretReference | None = None


class LocalVolumeSource(Record, frozen=True):
    """A disk of one node."""

    path: str = ""
    fs_type: str | None = field(default=None, name="fsType")


class VolumeNodeAffinity(Record, frozen=True):
    """The nodes from which a volume can be reached."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(Record, frozen=True):
    """A volume's size, source and reach."""

    capacity: ResourceList = {}
    access_modes: tuple[str, ...] = ()
    claim_ref: ObjectReference | None = None
    persistent_volume_reclaim_policy: str = ""
    storage_class_name: str = ""
    mount_options: tuple[str, ...] = ()
    volume_mode: str | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str | None = None
    csi: CSIPersistentVolumeSource | None = None
    local: LocalVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    nfs: OtherVolumeSource | None = None
    gce_persistent_disk: GCEPersistentDiskVolumeSource | None = None
    aws_elastic_block_store: AWSElasticBlockStoreVolumeSource | None = None
    azure_disk: AzureDiskVolumeSource | None = None
    azure_file: AzureFileVolumeSource | None = None
    cinder: CinderVolumeSource | None = None
    vsphere_volume: VsphereVirtualDiskVolumeSource | None = None
    portworx_volume: PortworxVolumeSource | None = None
    rbd: RBDVolumeSource | None = None
    iscsi: ISCSIVolumeSource | None = None


class PersistentVolumeStatus(Record, frozen=True):
    """The binding phase of a volume."""

    phase: str = ""
    message: str = ""
    reason: str = ""


class PersistentVolume(KubeObject, frozen=True):
    """A persistent volume."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolume"

    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: PersistentVolumeStatus = PersistentVolumeStatus()


class PersistentVolumeClaimStatus(Record, frozen=True):
    """The binding phase of a claim, and what it got."""

    phase: str = ""
    access_modes: tuple[str, ...] = ()
    capacity: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    allocated_resources: ResourceList = {}


class PersistentVolumeClaim(KubeObject, frozen=True):
    """A claim to a persistent volume."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "PersistentVolumeClaim"

    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: PersistentVolumeClaimStatus = PersistentVolumeClaimStatus()


class StorageClass(KubeObject, frozen=True):
    """A way to get volumes."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "StorageClass"

    provisioner: str = ""
    parameters: dict[str, str] = {}
    reclaim_policy: str | None = None
    mount_options: tuple[str, ...] = ()
    allow_volume_expansion: bool | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] = ()


class VolumeNodeResources(Record, frozen=True):
    """How many volumes a driver can attach to a node; None is no limit."""

    count: Int32 | None = None


class CSINodeDriver(Record, frozen=True):
    """A CSI driver on a node."""

    name: str = ""
    node_id: str = field(default="", name="nodeID")
    topology_keys: tuple[str, ...] = ()
    allocatable: VolumeNodeResources | None = None


class CSINodeSpec(Record, frozen=True):
    """The CSI drivers of a node."""

    drivers: tuple[CSINodeDriver, ...] = ()


class CSINode(KubeObject, frozen=True):
    """What CSI drivers say of the node of the same name."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSINode"

    spec: CSINodeSpec = CSINodeSpec()


class CSIDriverSpec(Record, frozen=True):
    """How volumes of a CSI driver are to be treated."""

    attach_required: bool | None = None
    pod_info_on_mount: bool | None = None
    volume_lifecycle_modes: tuple[str, ...] = ()
    storage_capacity: bool | None = None
    prevent_pod_scheduling_if_missing: bool | None = None


class CSIDriver(KubeObject, frozen=True):
    """A CSI driver."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIDriver"

    spec: CSIDriverSpec = CSIDriverSpec()


class CSIStorageCapacity(KubeObject, frozen=True):
    """How much a storage class can still provide in a part of the cluster."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "CSIStorageCapacity"

    node_topology: LabelSelector | None = None
    storage_class_name: str = ""
    capacity: RawQuantity | None = None
    maximum_volume_size: RawQuantity | None = None


class VolumeAttachmentSource(Record, frozen=True):
    """The volume that is attached."""

    persistent_volume_name: str | None = None
    inline_volume_spec: PersistentVolumeSpec | None = None


class VolumeAttachmentSpec(Record, frozen=True):
    """Who attaches what to which node."""

    attacher: str = ""
    source: VolumeAttachmentSource = VolumeAttachmentSource()
    node_name: str = ""


class VolumeAttachmentStatus(Record, frozen=True):
    """Whether it is attached."""

    attached: bool = False


class VolumeAttachment(KubeObject, frozen=True):
    """A volume attached, or to be attached, to a node."""

    api_version: ClassVar[str] = "storage.k8s.io/v1"
    kind: ClassVar[str] = "VolumeAttachment"

    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
