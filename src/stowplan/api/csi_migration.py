"""In-tree volumes as the CSI drivers that took them over know them: driver, volume handle, topology.

Upstream: staging/src/k8s.io/csi-translation-lib (v1.36.4).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final
from urllib.parse import unquote

from msgspec.structs import replace

from stowplan.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.api.errors import ApiError
from stowplan.api.storage import PersistentVolume, VolumeNodeAffinity
from stowplan.api.volumes import AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, Volume

ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"
BETWEEN_ZONES: Final = "__"
UNSPECIFIED: Final = "UNSPECIFIED"
MIGRATED_PLUGINS: Final = "storage.alpha.kubernetes.io/migrated-plugins"
"""The annotation in which a CSINode lists the in-tree plugins whose volumes CSI drivers serve there."""

AWS_EBS: Final = "kubernetes.io/aws-ebs"
GCE_PD: Final = "kubernetes.io/gce-pd"
CINDER: Final = "kubernetes.io/cinder"
AZURE_DISK: Final = "kubernetes.io/azure-disk"
AZURE_FILE: Final = "kubernetes.io/azure-file"
VSPHERE: Final = "kubernetes.io/vsphere-volume"
PORTWORX: Final = "kubernetes.io/portworx-volume"

DRIVERS: Final[Mapping[str, str]] = {
    GCE_PD: "pd.csi.storage.gke.io",
    AWS_EBS: "ebs.csi.aws.com",
    CINDER: "cinder.csi.openstack.org",
    AZURE_DISK: "disk.csi.azure.com",
    AZURE_FILE: "file.csi.azure.com",
    VSPHERE: "csi.vsphere.vmware.com",
    PORTWORX: "pxd.portworx.com",
}
"""In-tree plugin to the CSI driver that took it over."""
ALWAYS_MIGRATED: Final = frozenset({AWS_EBS, PORTWORX, GCE_PD, AZURE_DISK, CINDER})
"""Plugins for which the scheduler counts on the driver wherever the node has a CSINode."""
TOPOLOGY_KEYS: Final[Mapping[str, str]] = {
    GCE_PD: "topology.gke.io/zone",
    AWS_EBS: "topology.ebs.csi.aws.com/zone",
    CINDER: "topology.cinder.csi.openstack.org/zone",
}
"""The node label by which a driver knows zones, for the plugins whose volumes are translated to it."""

_EBS_ID = re.compile("vol-[^/]*")


class MigrationError(ApiError):
    """Raised when an in-tree volume cannot be expressed as a CSI volume; the text is upstream's."""


@final
@dataclass(frozen=True, slots=True)
class CSIVolume:
    """A volume by the driver that serves it and the driver's name for it."""

    driver: str
    handle: str


def plugin_of_inline(volume: Volume) -> str | None:
    """The in-tree plugin of a pod's volume; None when no driver took it over."""
    sources = (
        (GCE_PD, volume.gce_persistent_disk),
        (AWS_EBS, volume.aws_elastic_block_store),
        (CINDER, volume.cinder),
        (AZURE_DISK, volume.azure_disk),
        (AZURE_FILE, volume.azure_file),
        (VSPHERE, volume.vsphere_volume),
        (PORTWORX, volume.portworx_volume),
    )
    return next((plugin for plugin, source in sources if source is not None), None)


def plugin_of(volume: PersistentVolume) -> str | None:
    """The in-tree plugin of a persistent volume; None when no driver took it over."""
    spec = volume.spec
    sources = (
        (GCE_PD, spec.gce_persistent_disk),
        (AWS_EBS, spec.aws_elastic_block_store),
        (CINDER, spec.cinder),
        (AZURE_DISK, spec.azure_disk),
        (AZURE_FILE, spec.azure_file),
        (VSPHERE, spec.vsphere_volume),
        (PORTWORX, spec.portworx_volume),
    )
    return next((plugin for plugin, source in sources if source is not None), None)


def translate_inline(volume: Volume) -> CSIVolume:
    """A pod's volume of one of the plugins that are always migrated. Raises MigrationError."""
    plugin = plugin_of_inline(volume)
    assert plugin in ALWAYS_MIGRATED, f"{volume.name} is not migrated"
    handle = ""
    if (ebs := volume.aws_elastic_block_store) is not None:
        handle = _ebs_handle(ebs)
    elif (gce := volume.gce_persistent_disk) is not None:
        handle = f"projects/{UNSPECIFIED}/zones/{UNSPECIFIED}/disks/{gce.pd_name}"
    elif (azure := volume.azure_disk) is not None:
        handle = _azure_handle(azure)
    elif (cinder := volume.cinder) is not None:
        handle = cinder.volume_id
    elif (portworx := volume.portworx_volume) is not None:
        handle = portworx.volume_id
    return CSIVolume(DRIVERS[plugin], handle)


def translate(volume: PersistentVolume) -> CSIVolume:
    """A persistent volume of one of the plugins that are always migrated. Raises MigrationError."""
    plugin, spec = plugin_of(volume), volume.spec
    assert plugin in ALWAYS_MIGRATED, f"{volume.name} is not migrated"
    handle = ""
    if spec.aws_elastic_block_store is not None:
        handle = _ebs_handle(spec.aws_elastic_block_store)
    elif spec.gce_persistent_disk is not None:
        zones = volume.labels.get(OLD_ZONE) or volume.labels.get(ZONE, "")
        handle = f"{_gce_place(zones.split(BETWEEN_ZONES))}/disks/{spec.gce_persistent_disk.pd_name}"
    elif spec.azure_disk is not None:
        handle = _azure_handle(spec.azure_disk)
    elif spec.cinder is not None:
        handle = spec.cinder.volume_id
    elif spec.portworx_volume is not None:
        handle = spec.portworx_volume.volume_id
    return CSIVolume(DRIVERS[plugin], handle)


def translated_affinity(volume: PersistentVolume) -> VolumeNodeAffinity | None:
    """The node affinity that the driver's volume would have: zones under the driver's own label."""
    plugin = plugin_of(volume)
    key = TOPOLOGY_KEYS.get(plugin or "")
    affinity = volume.spec.node_affinity
    if key is None:
        return affinity
    zone, region = _topology_labels(volume)
    terms = _terms(affinity)
    if _has_values(terms, zone):
        terms = _renamed(terms, zone, key)
    elif zone in volume.labels:
        terms = _with_zones(terms, key, volume.labels[zone].split(BETWEEN_ZONES))
    if region == OLD_REGION and _has_values(terms, region):
        terms = _renamed(terms, region, REGION)
    if terms == _terms(affinity):
        return affinity
    return VolumeNodeAffinity(required=NodeSelector(node_selector_terms=terms))


def _ebs_handle(source: AWSElasticBlockStoreVolumeSource) -> str:
    written = source.volume_id
    if not written.startswith("aws://"):
        return written
    path = re.split("[?#]", written.removeprefix("aws://"), maxsplit=1)[0].partition("/")[2]
    handle = unquote(path).strip("/")
    if not _EBS_ID.fullmatch(handle):
        told = f"failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume ({written})"
        raise MigrationError(told)
    return handle


def _azure_handle(source: AzureDiskVolumeSource) -> str:
    if source.kind is not None and source.kind.casefold() != "managed":
        raise MigrationError(f"kind({source.kind}) is not supported in csi migration")
    return source.disk_uri


def _gce_place(zones: Sequence[str]) -> str:
    if len(zones) == 1:
        return f"projects/{UNSPECIFIED}/zones/{zones[0] or UNSPECIFIED}"
    regions = set()
    for zone in zones:
        parts = zone.split("-")
        if len(parts) != 3:
            raise MigrationError(
                "failed to get region from zones: zone in unexpected format, "
                f"expected: {{locale}}-{{region}}-{{zone}}, got: {zone}"
            )
        regions.add("-".join(parts[:2]))
    if len(regions) != 1:
        shown = " ".join(f"{region}:{{}}" for region in sorted(regions))
        raise MigrationError(
            f"failed to get region from zones: multiple or no regions gotten from zones, got: map[{shown}]"
        )
    return f"projects/{UNSPECIFIED}/regions/{regions.pop()}"


def _topology_labels(volume: PersistentVolume) -> tuple[str, str]:
    """The labels for zone and region that the volume uses: the new ones, unless it only knows the old."""
    keys = {wanted.key for term in _terms(volume.spec.node_affinity) for wanted in term.match_expressions}
    for known in (keys, volume.labels):
        if ZONE in known:
            return ZONE, REGION
        if OLD_ZONE in known:
            return OLD_ZONE, OLD_REGION
    return ZONE, REGION


def _terms(affinity: VolumeNodeAffinity | None) -> tuple[NodeSelectorTerm, ...]:
    return () if affinity is None or affinity.required is None else affinity.required.node_selector_terms


def _has_values(terms: Iterable[NodeSelectorTerm], key: str) -> bool:
    return any(wanted.key == key and wanted.values for term in terms for wanted in term.match_expressions)


def _renamed(terms: Sequence[NodeSelectorTerm], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        replace(
            term,
            match_expressions=tuple(
                replace(wanted, key=new) if wanted.key == old else wanted for wanted in term.match_expressions
            ),
        )
        for term in terms
    )


def _with_zones(terms: Sequence[NodeSelectorTerm], key: str, zones: Iterable[str]) -> tuple[NodeSelectorTerm, ...]:
    values = tuple(sorted({zone.strip() for zone in zones} - {""}))
    if not values:
        return tuple(terms)
    wanted = NodeSelectorRequirement(key=key, operator="In", values=values)
    return tuple(
        replace(term, match_expressions=(*term.match_expressions, wanted)) for term in terms or (NodeSelectorTerm(),)
    )
