"""The volumes of a pod: every source that a plugin inspects, and the presence of the others.

Upstream: staging/src/k8s.io/api/core/v1/types.go (v1.36.4).
"""

from msgspec import field

from stowplan.api.meta import (
    Int32,
    LabelSelector,
    LocalObjectReference,
    ObjectMeta,
    Record,
    ResourceList,
    TypedObjectReference,
)


class VolumeResourceRequirements(Record, frozen=True):
    """The size a claim asks for."""

    limits: ResourceList = {}
    requests: ResourceList = {}


class PersistentVolumeClaimSpec(Record, frozen=True):
    """What a claim asks for, and the volume it is bound to."""

    access_modes: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    resources: VolumeResourceRequirements = VolumeResourceRequirements()
    volume_name: str = ""
    storage_class_name: str | None = None
    volume_mode: str | None = None
    data_source: TypedObjectReference | None = None
    data_source_ref: TypedObjectReference | None = None
    volume_attributes_class_name: str | None = None


class PersistentVolumeClaimTemplate(Record, frozen=True):
    """The claim that an ephemeral volume makes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()


class EphemeralVolumeSource(Record, frozen=True):
    """A volume whose claim lives and dies with the pod."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None


class PersistentVolumeClaimVolumeSource(Record, frozen=True):
    """A volume that is a claim of the pod's namespace."""

    claim_name: str = ""
    read_only: bool = False


class GCEPersistentDiskVolumeSource(Record, frozen=True):
    """A Google Compute Engine disk."""

    pd_name: str = ""
    fs_type: str = field(default="", name="fsType")
    partition: Int32 = 0
    read_only: bool = False


class AWSElasticBlockStoreVolumeSource(Record, frozen=True):
    """An Amazon EBS volume."""

    volume_id: str = field(default="", name="volumeID")
    fs_type: str = field(default="", name="fsType")
    partition: Int32 = 0
    read_only: bool = False


class AzureDiskVolumeSource(Record, frozen=True):
    """An Azure data disk."""

    disk_name: str = ""
    disk_uri: str = field(default="", name="diskURI")
    caching_mode: str | None = None
    fs_type: str | None = field(default=None, name="fsType")
    read_only: bool | None = None
    kind: str | None = None


class AzureFileVolumeSource(Record, frozen=True):
    """An Azure file share; in a persistent volume the secret may be elsewhere."""

    secret_name: str = ""
    share_name: str = ""
    read_only: bool = False
    secret_namespace: str | None = None


class CinderVolumeSource(Record, frozen=True):
    """An OpenStack Cinder volume."""

    volume_id: str = field(default="", name="volumeID")
    fs_type: str = field(default="", name="fsType")
    read_only: bool = False


class VsphereVirtualDiskVolumeSource(Record, frozen=True):
    """A vSphere virtual disk."""

    volume_path: str = ""
    fs_type: str = field(default="", name="fsType")
    storage_policy_name: str = ""
    storage_policy_id: str = field(default="", name="storagePolicyID")


class PortworxVolumeSource(Record, frozen=True):
    """A Portworx volume."""

    volume_id: str = field(default="", name="volumeID")
    fs_type: str = field(default="", name="fsType")
    read_only: bool = False


class RBDVolumeSource(Record, frozen=True):
    """A Ceph block device."""

    monitors: tuple[str, ...] = ()
    image: str = ""
    fs_type: str = field(default="", name="fsType")
    pool: str = ""
    user: str = ""
    keyring: str = ""
    read_only: bool = False


class ISCSIVolumeSource(Record, frozen=True):
    """An iSCSI logical unit."""

    target_portal: str = ""
    iqn: str = ""
    lun: Int32 = 0
    iscsi_interface: str = ""
    fs_type: str = field(default="", name="fsType")
    read_only: bool = False
    portals: tuple[str, ...] = ()
    initiator_name: str | None = None


class CSIVolumeSource(Record, frozen=True):
    """An inline volume of a CSI driver."""

    driver: str = ""
    read_only: bool | None = None
    fs_type: str | None = field(default=None, name="fsType")
    volume_attributes: dict[str, str] = {}
    node_publish_secret_ref: LocalObjectReference | None = None


class HostPathVolumeSource(Record, frozen=True):
    """A path on the node."""

    path: str = ""
    type: str | None = None


class ConfigMapVolumeSource(Record, frozen=True):
    """Files from a config map."""

    name: str = ""
    optional: bool | None = None


class SecretVolumeSource(Record, frozen=True):
    """Files from a secret."""

    secret_name: str = ""
    optional: bool | None = None


class EmptyDirVolumeSource(Record, frozen=True):
    """Scratch space on the node."""

    medium: str = ""
    size_limit: str | int | float | None = None


class ImageVolumeSource(Record, frozen=True):
    """The files of a container image."""

    reference: str = ""


class OtherVolumeSource(Record, frozen=True):
    """A source of which only the presence matters."""


class Volume(Record, frozen=True):
    """One volume of a pod; exactly one source is set."""

    name: str = ""
    persistent_volume_claim: PersistentVolumeClaimVolumeSource | None = None
    ephemeral: EphemeralVolumeSource | None = None
    csi: CSIVolumeSource | None = None
    config_map: ConfigMapVolumeSource | None = None
    secret: SecretVolumeSource | None = None
    empty_dir: EmptyDirVolumeSource | None = None
    host_path: HostPathVolumeSource | None = None
    projected: OtherVolumeSource | None = None
    downward_api: OtherVolumeSource | None = field(default=None, name="downwardAPI")
    image: ImageVolumeSource | None = None
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
