"""Which events may bring back a pod that found no volumes.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go (v1.36.4).
"""

from stowplan.api.claims import uses_claim
from stowplan.api.csi_migration import MIGRATED_PLUGINS
from stowplan.api.storage import CSIDriver, CSINode, CSIStorageCapacity, StorageClass
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.volume_binding.capacities import volume_limit


def class_changed(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A class came, or allows other topologies."""
    old: StorageClass | None = event.old
    new: StorageClass = event.new
    return old is None or old.allowed_topologies != new.allowed_topologies


def claim_changed(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A claim of the pod came or changed."""
    return uses_claim(pod.pod, event.new)


def plugins_migrated(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A CSINode came, or lists other in-tree plugins as taken over."""
    old: CSINode | None = event.old
    new: CSINode = event.new
    return old is None or _migrated(old) != _migrated(new)


def driver_stopped_counting(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """The driver of an inline volume of the pod no longer says how much room there is."""
    old: CSIDriver = event.old
    new: CSIDriver = event.new
    if not old.spec.storage_capacity or new.spec.storage_capacity:
        return False
    return any(volume.csi is not None and volume.csi.driver == new.name for volume in pod.cls.spec.volumes)


def pool_grew(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A pool came, or takes larger volumes than before."""
    old: CSIStorageCapacity | None = event.old
    new: CSIStorageCapacity = event.new
    if old is None:
        return True
    before, after = volume_limit(old), volume_limit(new)
    return after is not None and (before is None or after > before)


def _migrated(csi_node: CSINode) -> str:
    return csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "")
