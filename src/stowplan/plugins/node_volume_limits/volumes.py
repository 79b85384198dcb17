"""The volumes of a pod that CSI drivers attach: driver and a name that is the same for all pods that share one.

Upstream: filterAttachableVolumes in pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36.4).
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar, final

from stowplan.api.claims import claim_class, claim_key, claim_not_found, ownership_error
from stowplan.api.csi_migration import (
    ALWAYS_MIGRATED,
    DRIVERS,
    CSIVolume,
    MigrationError,
    plugin_of,
    plugin_of_inline,
    translate,
    translate_inline,
)
from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from stowplan.api.volumes import Volume
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pods import PodClass

K = TypeVar("K", bound=KubeObject)

TO_COME: Final = "\0to come"
"""Opens the handles of volumes that are not provisioned yet; no driver's handle does."""

Volumes = dict[str, str]
"""Unique name of a volume to its driver."""

Read = Callable[[type[KubeObject], str], object]


class VolumeError(Exception):
    """Raised when a pod's volumes cannot be counted; `missing` when a claim is not there, which may change."""

    def __init__(self, text: str, *, missing: bool = False) -> None:
        super().__init__(text)
        self.missing = missing


# perf: asked for each pod of a node when the node is counted anew
@lru_cache(maxsize=16_384)
def countable(cls: PodClass) -> tuple[Volume, ...]:
    """The volumes of pods of a class that some driver may attach."""
    return tuple(
        volume
        for volume in cls.spec.volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or plugin_of_inline(volume) is not None
    )


@final
class VolumeReader:
    """Looks up what the volumes of pods are, and tells a listener which objects it looked at."""

    __slots__ = ("_heard", "_objects")

    def __init__(self, objects: ObjectStore, heard: Read | None = None) -> None:
        self._objects = objects
        self._heard = heard

    def new_volumes(self, pod: Pod, volumes: tuple[Volume, ...], *, csi_node: bool) -> Volumes:
        """What a pod that waits would add to a node with, or without, a CSINode. Raises VolumeError."""
        return self._collect(pod, volumes, csi_node=csi_node, new=True)

    def placed_volumes(self, pod: Pod, volumes: tuple[Volume, ...]) -> Volumes:
        """What a placed pod has on a node with a CSINode; claims that are not there do not count. As above."""
        return self._collect(pod, volumes, csi_node=True, new=False)

    def attached_volume(self, name: str) -> PersistentVolume | None:
        """The volume that an attachment names."""
        return self._get(PersistentVolume, name)

    def _collect(self, pod: Pod, volumes: tuple[Volume, ...], *, csi_node: bool, new: bool) -> Volumes:
        found: Volumes = {}
        for volume in volumes:
            if volume.persistent_volume_claim is None and volume.ephemeral is None:
                csi = _inline(volume) if csi_node else None
            else:
                csi = self._claimed(pod, volume, csi_node=csi_node, new=new)
            if csi is not None:
                found[unique_name(csi)] = csi.driver
        return found

    def _claimed(self, pod: Pod, volume: Volume, *, csi_node: bool, new: bool) -> CSIVolume | None:
        ephemeral = volume.persistent_volume_claim is None
        if volume.persistent_volume_claim is None:
            name = f"{pod.name}-{volume.name}"
        else:
            name = volume.persistent_volume_claim.claim_name
        if not name:
            raise VolumeError("PersistentVolumeClaim had no name")
        claim = self._get(PersistentVolumeClaim, claim_key(pod.namespace, name))
        if claim is None:
            if new:
                told = f"looking up PVC {pod.namespace}/{name}: {claim_not_found(name)}"
                raise VolumeError(told, missing=True)
            return None
        if ephemeral and (wrong := ownership_error(pod, claim)) is not None:
            raise VolumeError(wrong)
        csi = self._of_claim(claim, csi_node=csi_node)
        return csi if csi is not None and csi.driver and csi.handle else None

    def _of_claim(self, claim: PersistentVolumeClaim, *, csi_node: bool) -> CSIVolume | None:
        name = claim.spec.volume_name
        bound = self._get(PersistentVolume, name) if name else None
        if bound is None:
            # a volume that is not there, or not yet, is counted by what its class would provide
            return self._to_come(claim, csi_node=csi_node)
        if bound.spec.csi is not None:
            return CSIVolume(bound.spec.csi.driver, bound.spec.csi.volume_handle)
        if not csi_node or plugin_of(bound) not in ALWAYS_MIGRATED:
            return None
        try:
            return translate(bound)
        except MigrationError:
            return None

    def _to_come(self, claim: PersistentVolumeClaim, *, csi_node: bool) -> CSIVolume | None:
        name = claim_class(claim)
        storage_class = self._get(StorageClass, name) if name else None
        if storage_class is None:
            return None
        handle = f"{TO_COME}-{claim.namespace}/{claim.name}"
        provisioner = storage_class.provisioner
        if provisioner not in DRIVERS:
            return CSIVolume(provisioner, handle)
        if not csi_node or provisioner not in ALWAYS_MIGRATED:
            return None
        return CSIVolume(DRIVERS[provisioner], handle)

    def _get(self, kind: type[K], key: str) -> K | None:
        if self._heard is not None:
            self._heard(kind, key)
        return self._objects.get(kind, key)


def unique_name(volume: CSIVolume) -> str:
    """What tells a volume from all others."""
    return f"{volume.driver}/{volume.handle}"


def _inline(volume: Volume) -> CSIVolume | None:
    if plugin_of_inline(volume) not in ALWAYS_MIGRATED:
        return None
    try:
        return translate_inline(volume)
    except MigrationError as error:
        raise VolumeError(f"converting volume({volume.name}) from inline to csi: {error}") from error
