"""Which events may let a pod in that hard constraints kept out.

Upstream: isSchedulableAfterPodChange and isSchedulableAfterNodeChange in podtopologyspread/plugin.go (v1.36.4).
"""

from collections.abc import Sequence

from stowplan.api.node import Node
from stowplan.columns.pod_selectors import Labels
from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.pod_topology_spread.constraints import Constraint


def pod_change_helps(pod: PodInfo, event: ObjectEvent, constraints: Sequence[Constraint]) -> bool:
    """A pod that counts came, went, or changed its labels; or the pod itself tolerates more nodes."""
    old: PodInfo | None = event.old
    new: PodInfo | None = event.new
    if any(other is not None and not _is_involved(other, pod) for other in (old, new)):
        return False
    if old is not None and new is not None:
        if (
            new.uid == pod.uid
            and new.cls.spec.tolerations != old.cls.spec.tolerations
            and any(constraint.honors_taints for constraint in constraints)
        ):
            return True
        return any(_matches(constraint, old) != _matches(constraint, new) for constraint in constraints)
    changed = old if new is None else new
    return changed is not None and any(_matches(constraint, changed) for constraint in constraints)


def node_change_helps(event: ObjectEvent, constraints: Sequence[Constraint]) -> bool:
    """A node that counts came or went, moved to other domains, or changed its taints."""
    old: Node | None = event.old
    new: Node | None = event.new
    counted_before = old is not None and _has_keys(old.metadata.labels, constraints)
    counts_now = new is not None and _has_keys(new.metadata.labels, constraints)
    if old is None or new is None:
        return counted_before or counts_now
    if counted_before != counts_now:
        return True
    return counts_now and (_moved(old, new, constraints) or old.spec.taints != new.spec.taints)


def _is_involved(other: PodInfo, pod: PodInfo) -> bool:
    if other.uid == pod.uid:
        return True
    placed = other.pod.spec.node_name or other.pod.status.nominated_node_name
    return bool(placed) and other.cls.namespace == pod.cls.namespace


def _matches(constraint: Constraint, pod: PodInfo) -> bool:
    return constraint.what.selector.matches(pod.cls.labels)


def _has_keys(labels: Labels, constraints: Sequence[Constraint]) -> bool:
    return all(constraint.topology_key in labels for constraint in constraints)


def _moved(old: Node, new: Node, constraints: Sequence[Constraint]) -> bool:
    before, after = old.metadata.labels, new.metadata.labels
    keys = {constraint.topology_key for constraint in constraints}
    return any(before.get(key, "") != after.get(key, "") for key in keys)
