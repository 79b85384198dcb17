"""Claims and disks in use, by row."""

import pytest

from stowplan.api.volumes import (
    AWSElasticBlockStoreVolumeSource,
    GCEPersistentDiskVolumeSource,
    ISCSIVolumeSource,
    RBDVolumeSource,
    Volume,
)
from stowplan.columns.pods import PodClass, compile_class
from stowplan.columns.volume_uses import DiskUse, VolumeUses, disk_uses, is_disk
from stowplan.testing.builders import pod

RBD = RBDVolumeSource(monitors=("m1", "m2"), pool="p", image="i", read_only=True)


def cls(*volumes: Volume, claims: tuple[str, ...] = ()) -> PodClass:
    return compile_class(pod(volumes=volumes, claims=claims))


def gce(*, read_only: bool) -> Volume:
    return Volume(gce_persistent_disk=GCEPersistentDiskVolumeSource(pd_name="d", read_only=read_only))


@pytest.mark.parametrize(
    ("volume", "want"),
    [
        pytest.param(gce(read_only=False), [DiskUse(("gce", "d"), False)], id="a disk that is written"),
        pytest.param(gce(read_only=True), [DiskUse(("gce", "d"), True)], id="a disk that is read can be shared"),
        pytest.param(
            Volume(aws_elastic_block_store=AWSElasticBlockStoreVolumeSource(volume_id="v", read_only=True)),
            [DiskUse(("ebs", "v"), False)],
            id="a block store is not shared even to read",
        ),
        pytest.param(
            Volume(iscsi=ISCSIVolumeSource(iqn="q", read_only=True)), [DiskUse(("iscsi", "q"), True)], id="iscsi"
        ),
        pytest.param(
            Volume(rbd=RBD),
            [DiskUse(("rbd", "m1", "p", "i"), True), DiskUse(("rbd", "m2", "p", "i"), True)],
            id="an image is known to each of its monitors",
        ),
        pytest.param(Volume(), [], id="any other volume is no disk"),
    ],
)
def test_disk_uses(volume: Volume, want: list[DiskUse]) -> None:
    assert want == list(disk_uses(volume))
    assert bool(want) == is_disk(volume)


def test_readers_clash_with_writers_only() -> None:
    uses = VolumeUses()
    uses.place(1, cls(gce(read_only=True)))
    uses.place(2, cls(gce(read_only=False)))

    assert {2} == uses.clashing(DiskUse(("gce", "d"), True))
    assert {1, 2} == uses.clashing(DiskUse(("gce", "d"), False))


def test_uses_are_counted_and_forgotten() -> None:
    uses, twice = VolumeUses(), cls(claims=("data", "data"))
    uses.place(3, twice)
    uses.place(3, twice)
    assert {3: 4} == uses.of_claim("default/data")

    uses.leave(3, twice)
    assert {3: 2} == uses.of_claim("default/data")
    uses.leave(3, twice)

    assert {} == uses.of_claim("default/data")
    assert {} == uses._claims


def test_leaving_a_row_one_was_never_on_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="never on"):
        VolumeUses().leave(0, cls(claims=("data",)))
