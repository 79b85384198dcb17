"""Which events may let a pod in that required terms kept out.

Upstream: isSchedulableAfterPodChange and isSchedulableAfterNodeChange in interpodaffinity/plugin.go (v1.36.4).
"""

from stowplan.api.node import Node
from stowplan.columns.pods import PodInfo
from stowplan.columns.term_counts import TermKind
from stowplan.columns.view import View
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.inter_pod_affinity.terms import matches_all_as_written

REQUIRED = "required"
REQUIRED_FAR = "requiredAntiAffinityTerms"


def pod_change_helps(pod: PodInfo, event: ObjectEvent, _view: View) -> bool:
    """Company came, or somebody the pod shuns, or who shuns it, went."""
    old: PodInfo | None = event.old
    new: PodInfo | None = event.new
    if old is not None and new is not None and new.uid == pod.uid:
        return True
    if any(other is not None and not _is_placed(other) for other in (old, new)):
        return False
    if _malformed(pod, REQUIRED):
        return True
    near = pod.cls.terms_of(TermKind.REQUIRED_AFFINITY)
    far = pod.cls.terms_of(TermKind.REQUIRED_ANTI_AFFINITY)
    if new is not None:
        if old is None:
            return matches_all_as_written(near, new)
        becomes_company = matches_all_as_written(near, new) and not matches_all_as_written(near, old)
        # parity: only a pod that meets all anti-affinity terms at once counts, though any one of them keeps pods apart
        return becomes_company or (matches_all_as_written(far, old) and not matches_all_as_written(far, new))
    assert old is not None
    if matches_all_as_written(far, old) or _malformed(old, REQUIRED_FAR):
        return True
    return matches_all_as_written(old.cls.terms_of(TermKind.REQUIRED_ANTI_AFFINITY), pod)


def node_change_helps(pod: PodInfo, event: ObjectEvent, _view: View) -> bool:
    """A node came into, moved between, or left the domains that the terms speak of."""
    old: Node | None = event.old
    new: Node = event.new
    if _malformed(pod, REQUIRED):
        return True
    near = {term.topology_key for term in pod.cls.terms_of(TermKind.REQUIRED_AFFINITY)}
    far = {term.topology_key for term in pod.cls.terms_of(TermKind.REQUIRED_ANTI_AFFINITY)}
    after = new.metadata.labels
    if old is None:
        return bool(far) or any(key in after for key in near)
    before = old.metadata.labels
    joins = any(key in after and before.get(key) != after[key] for key in near)
    leaves = any(key in before and before[key] != after.get(key) for key in far)
    return joins or leaves


def _is_placed(pod: PodInfo) -> bool:
    return bool(pod.pod.spec.node_name or pod.pod.status.nominated_node_name)


def _malformed(pod: PodInfo, kinds: str) -> bool:
    """Whether terms of these kinds could not be read; then any event may help, as upstream has it."""
    return any(error.startswith(kinds) for error in pod.cls.term_errors)
