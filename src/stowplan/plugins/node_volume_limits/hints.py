"""Which events may bring back a pod that found no node with room for its volumes.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36.4).
"""

from stowplan.api.claims import uses_claim
from stowplan.api.csi_migration import ALWAYS_MIGRATED, DRIVERS, MigrationError, plugin_of_inline, translate_inline
from stowplan.api.storage import CSINode, CSINodeDriver, VolumeAttachment
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.node_volume_limits.volumes import countable


def pod_left(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A pod with volumes went that had, or was to have, a node."""
    gone: PodInfo = event.old
    placed = gone.pod.spec.node_name or gone.pod.status.nominated_node_name
    return bool(placed and countable(gone.cls))


def claim_came(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A claim of the pod was created."""
    return uses_claim(pod.pod, event.new)


def attachment_deleted(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """An attachment went and the pod has a claim, or an inline volume for the same driver."""
    gone: VolumeAttachment = event.old
    for volume in pod.cls.spec.volumes:
        if volume.persistent_volume_claim is not None:
            return True
        plugin = plugin_of_inline(volume)
        if plugin is None:
            continue
        if DRIVERS[plugin] == gone.spec.attacher:
            return True
        try:
            if plugin in ALWAYS_MIGRATED:
                translate_inline(volume)
        except MigrationError:
            return True
    return False


def limit_raised(_: PodInfo, event: ObjectEvent, __: View) -> bool:
    """A node can take more volumes of some driver; a limit that is not there reads as 0."""
    old: CSINode = event.old
    new: CSINode = event.new
    before = {driver.name: _limit(driver) for driver in old.spec.drivers}
    return any(_limit(driver) > before.get(driver.name, 0) for driver in new.spec.drivers)


def _limit(driver: CSINodeDriver) -> int:
    return (driver.allocatable.count or 0) if driver.allocatable is not None else 0
