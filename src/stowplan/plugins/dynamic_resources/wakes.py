"""Hints: whether a change of a claim or of the pod itself may make the pod schedulable.

Upstream: isSchedulableAfterClaimChange and isSchedulableAfterPodChange in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

from stowplan.api.pod import Pod
from stowplan.api.resource import ResourceClaim
from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.dynamic_resources.claims import FindClaim, claims_of
from stowplan.plugins.dynamic_resources.errors import ClaimError


def claim_changed(pod: Pod, event: ObjectEvent, find: FindClaim) -> bool:
    """A claim of the pod came or has another status, or any claim gave back its devices."""
    old: ResourceClaim | None = event.old
    new: ResourceClaim = event.new
    try:
        claims = claims_of(pod, find)
    except ClaimError:
        return False
    if old is not None and old.status.allocation is not None and new.status.allocation is None:
        return True
    if all(claim.uid != new.uid for claim in claims):
        return False
    return old is None or old.status != new.status


def pod_got_claims(pod: Pod, event: ObjectEvent, find: FindClaim) -> bool:
    """All claims of the pod exist now."""
    changed: PodInfo = event.new
    if changed.pod.uid != pod.uid:
        return False
    try:
        claims_of(changed.pod, find)
    except ClaimError:
        return False
    return True
