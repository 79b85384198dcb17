"""In-tree volumes as their CSI drivers know them."""

from typing import Any

import pytest

from stowplan.api.affinity import NodeSelectorTerm
from stowplan.api.csi_migration import (
    CSIVolume,
    MigrationError,
    plugin_of,
    plugin_of_inline,
    translate,
    translate_inline,
    translated_affinity,
)
from stowplan.api.storage import PersistentVolume
from stowplan.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    AzureDiskVolumeSource,
    AzureFileVolumeSource,
    CinderVolumeSource,
    GCEPersistentDiskVolumeSource,
    PortworxVolumeSource,
    Volume,
    VsphereVirtualDiskVolumeSource,
)
from stowplan.testing.builders import ZONE, node_term
from stowplan.testing.storage import volume

OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"
EBS = "ebs.csi.aws.com"
GCE = "pd.csi.storage.gke.io"
DISK = "disk.csi.azure.com"


def ebs(volume_id: str) -> AWSElasticBlockStoreVolumeSource:
    return AWSElasticBlockStoreVolumeSource(volume_id=volume_id)


def gce(**labels: str) -> PersistentVolume:
    return volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"), labels=labels)


@pytest.mark.parametrize(
    ("inline", "want"),
    [
        pytest.param(Volume(aws_elastic_block_store=ebs("vol-1")), CSIVolume(EBS, "vol-1"), id="a bare id"),
        pytest.param(
            Volume(aws_elastic_block_store=ebs("aws://a/vol-1")), CSIVolume(EBS, "vol-1"), id="an id in a zone"
        ),
        pytest.param(Volume(aws_elastic_block_store=ebs("aws:///vol-1")), CSIVolume(EBS, "vol-1"), id="in no zone"),
        pytest.param(
            Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d")),
            CSIVolume(GCE, "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"),
            id="a disk of an unspecified zone",
        ),
        pytest.param(
            Volume(azure_disk=AzureDiskVolumeSource(disk_uri="/d", kind="managed")), CSIVolume(DISK, "/d"), id="a uri"
        ),
        pytest.param(
            Volume(cinder=CinderVolumeSource(volume_id="c")), CSIVolume("cinder.csi.openstack.org", "c"), id="cinder"
        ),
        pytest.param(
            Volume(portworx_volume=PortworxVolumeSource(volume_id="p")),
            CSIVolume("pxd.portworx.com", "p"),
            id="portworx",
        ),
    ],
)
def test_inline_volumes(inline: Volume, want: CSIVolume) -> None:
    assert want == translate_inline(inline)


@pytest.mark.parametrize(
    ("persistent", "want"),
    [
        pytest.param(volume(aws_elastic_block_store=ebs("vol-1")), "vol-1", id="a bare id"),
        pytest.param(gce(), "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d", id="a disk of an unknown zone"),
        pytest.param(gce(**{ZONE: "z"}), "projects/UNSPECIFIED/zones/z/disks/d", id="a disk of a zone"),
        pytest.param(
            gce(**{ZONE: "z", OLD_ZONE: "o"}), "projects/UNSPECIFIED/zones/o/disks/d", id="the old label counts first"
        ),
        pytest.param(
            gce(**{ZONE: "us-east1-a__us-east1-b"}),
            "projects/UNSPECIFIED/regions/us-east1/disks/d",
            id="a disk of several zones is of their region",
        ),
        pytest.param(volume(azure_disk=AzureDiskVolumeSource(disk_uri="/d")), "/d", id="a uri"),
        pytest.param(volume(cinder=CinderVolumeSource(volume_id="c")), "c", id="cinder"),
        pytest.param(volume(portworx_volume=PortworxVolumeSource(volume_id="p")), "p", id="portworx"),
    ],
)
def test_persistent_volumes(persistent: PersistentVolume, want: str) -> None:
    assert want == translate(persistent).handle


@pytest.mark.parametrize(
    ("persistent", "want"),
    [
        pytest.param(
            volume(aws_elastic_block_store=ebs("aws://a/disk-1")),
            "failed to translate Kubernetes ID to EBS Volume ID Invalid format for AWS volume (aws://a/disk-1)",
            id="an id of another form",
        ),
        pytest.param(
            gce(**{ZONE: "a__b"}),
            "failed to get region from zones: zone in unexpected format, expected: {locale}-{region}-{zone}, got: a",
            id="zones that do not name their region",
        ),
        pytest.param(
            gce(**{ZONE: "us-east1-a__us-west1-b"}),
            "failed to get region from zones: multiple or no regions gotten from zones, "
            "got: map[us-east1:{} us-west1:{}]",
            id="zones of several regions",
        ),
        pytest.param(
            volume(azure_disk=AzureDiskVolumeSource(kind="Dedicated")),
            "kind(Dedicated) is not supported in csi migration",
            id="a disk that is not managed",
        ),
    ],
)
def test_what_cannot_be_translated_is_said_in_upstreams_words(persistent: PersistentVolume, want: str) -> None:
    with pytest.raises(MigrationError) as raised:
        translate(persistent)

    assert want == str(raised.value)


@pytest.mark.parametrize(
    ("source", "want"),
    [
        pytest.param({"azure_file": AzureFileVolumeSource()}, "kubernetes.io/azure-file", id="azure file"),
        pytest.param(
            {"vsphere_volume": VsphereVirtualDiskVolumeSource()}, "kubernetes.io/vsphere-volume", id="vsphere"
        ),
        pytest.param({"cinder": CinderVolumeSource()}, "kubernetes.io/cinder", id="cinder"),
        pytest.param({}, None, id="none"),
    ],
)
def test_plugins_that_were_taken_over_are_known_in_pods_and_in_volumes(
    source: dict[str, Any], want: str | None
) -> None:
    assert want == plugin_of(volume(**source))
    assert want == plugin_of_inline(Volume(**source))


DRIVER_ZONE = "topology.gke.io/zone"


def affinity_terms(of: PersistentVolume) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = translated_affinity(of)
    return None if affinity is None or affinity.required is None else affinity.required.node_selector_terms


@pytest.mark.parametrize(
    ("on", "labels", "want"),
    [
        pytest.param(None, {}, None, id="nothing asked, nothing labelled"),
        pytest.param(
            [node_term((ZONE, "In", ["a"]))],
            {ZONE: "b"},
            (node_term((DRIVER_ZONE, "In", ["a"])),),
            id="zones are asked for under the driver's label, and the volume's label does not count",
        ),
        pytest.param(
            None, {ZONE: "b__a"}, (node_term((DRIVER_ZONE, "In", ["a", "b"])),), id="zones of the volume's own label"
        ),
        pytest.param(
            [node_term(("disk", "Exists", []))],
            {OLD_ZONE: "a"},
            (node_term(("disk", "Exists", []), (DRIVER_ZONE, "In", ["a"])),),
            id="zones are added to every term",
        ),
        pytest.param(
            [node_term((OLD_ZONE, "In", ["a"]), (OLD_REGION, "In", ["r"]))],
            {},
            (node_term((DRIVER_ZONE, "In", ["a"]), ("topology.kubernetes.io/region", "In", ["r"])),),
            id="old regions are asked for under the new label",
        ),
        pytest.param(None, {ZONE: "__"}, None, id="a label without zones"),
    ],
)
def test_topology_is_translated(
    on: list[NodeSelectorTerm] | None, labels: dict[str, str], want: tuple[NodeSelectorTerm, ...] | None
) -> None:
    disk = volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d"), on=on, labels=labels)

    assert want == affinity_terms(disk)


def test_topology_of_other_plugins_stays_as_it_is() -> None:
    disk = volume(azure_disk=AzureDiskVolumeSource(), labels={ZONE: "a"}, on=[node_term((ZONE, "In", ["a"]))])

    assert (node_term((ZONE, "In", ["a"])),) == affinity_terms(disk)
