"""Who uses what: persistent volume claims and in-tree disks of the placed pods, by row.

Upstream: PVCRefCounts in pkg/scheduler/framework/types.go,
isVolumeConflict in pkg/scheduler/framework/plugins/volumerestrictions (v1.36.4).
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar, final

from stowplan.api.volumes import Volume

if TYPE_CHECKING:
    from stowplan.columns.pods import PodClass

K = TypeVar("K", bound=Hashable)

DiskKey = tuple[str, ...]
"""A kind of disk and what identifies one."""

NOWHERE: Final[Mapping[int, int]] = {}


@final
@dataclass(frozen=True, slots=True)
class DiskUse:
    """A disk that a pod mounts. Two pods on a node may share it when both only read."""

    disk: DiskKey
    shareable: bool


def disk_uses(volume: Volume) -> Iterator[DiskUse]:
    """The disks of a volume that at most one pod of a node may write."""
    if (gce := volume.gce_persistent_disk) is not None:
        yield DiskUse(("gce", gce.pd_name), gce.read_only)
    if (ebs := volume.aws_elastic_block_store) is not None:
        # parity: two pods do not share one of these, not even to read it
        yield DiskUse(("ebs", ebs.volume_id), False)
    if (iscsi := volume.iscsi) is not None:
        yield DiskUse(("iscsi", iscsi.iqn), iscsi.read_only)
    if (rbd := volume.rbd) is not None:
        for monitor in rbd.monitors:
            yield DiskUse(("rbd", monitor, rbd.pool, rbd.image), rbd.read_only)


def is_disk(volume: Volume) -> bool:
    """Whether a volume is of a kind that pods cannot share at will."""
    return (
        volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    )


@lru_cache(maxsize=4096)
def disks_of(cls: "PodClass") -> tuple[DiskUse, ...]:
    """The disks that pods of a class mount."""
    return tuple(use for volume in cls.spec.volumes for use in disk_uses(volume))


@final
class VolumeUses:
    """Per claim and per disk, how many uses there are on which row."""

    __slots__ = ("_claims", "_readers", "_writers")

    def __init__(self) -> None:
        self._claims: dict[str, dict[int, int]] = {}
        self._writers: dict[DiskKey, dict[int, int]] = {}
        self._readers: dict[DiskKey, dict[int, int]] = {}

    def place(self, row: int, cls: "PodClass") -> None:
        """A pod came to a row."""
        self._move(row, cls, 1)

    def leave(self, row: int, cls: "PodClass") -> None:
        """A pod left a row."""
        self._move(row, cls, -1)

    def of_claim(self, key: str) -> Mapping[int, int]:
        """Row to the number of volumes there that are this claim."""
        return self._claims.get(key, NOWHERE)

    def clashing(self, use: DiskUse) -> set[int]:
        """The rows where a pod cannot mount a disk because of those that do."""
        rows = set(self._writers.get(use.disk, NOWHERE))
        return rows if use.shareable else rows | set(self._readers.get(use.disk, NOWHERE))

    def _move(self, row: int, cls: "PodClass", by: int) -> None:
        for key in cls.claim_keys:
            _shift(self._claims, key, row, by)
        for use in disks_of(cls):
            _shift(self._readers if use.shareable else self._writers, use.disk, row, by)


def _shift(table: dict[K, dict[int, int]], key: K, row: int, by: int) -> None:
    rows = table.setdefault(key, {})
    uses = rows.get(row, 0) + by
    assert uses >= 0, "a volume left a row it was never on"
    if uses:
        rows[row] = uses
        return
    del rows[row]
    if not rows:
        del table[key]
