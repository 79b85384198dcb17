"""The claims of a pod: by name, or made from a template and named in the pod's status.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/resourceclaim/resourceclaim.go and foreachPodResourceClaim in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

import json
from collections.abc import Callable

from stowplan.api.meta import controller_of
from stowplan.api.pod import Pod, PodResourceClaim
from stowplan.api.resource import ResourceClaim
from stowplan.plugins.dynamic_resources.errors import ClaimError

FindClaim = Callable[[str], ResourceClaim | None]
"""A claim by namespace/name."""


def claim_name(pod: Pod, entry: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of an entry's claim, None when none is needed, and whether the pod must own the claim."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name, False
    if entry.resource_claim_template_name is None:
        told = f'pod "{pod.key}", spec.resourceClaim {json.dumps(entry.name)}: none of the supported fields are set'
        raise ClaimError(told)
    for status in pod.status.resource_claim_statuses:
        if status.name == entry.name:
            return status.resource_claim_name, True
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


def claims_of(pod: Pod, find: FindClaim) -> tuple[ResourceClaim, ...]:
    """Return the claims of a pod in the order of its spec; ClaimError with upstream's text when one cannot be used."""
    found = []
    for entry in pod.spec.resource_claims:
        name, must_own = claim_name(pod, entry)
        if name is None:
            continue
        key = f"{pod.namespace}/{name}"
        claim = find(key)
        if claim is None:
            raise ClaimError(f'could not find ResourceClaim "{key}"')
        if claim.metadata.deletion_timestamp is not None:
            raise ClaimError(f"resourceclaim {json.dumps(claim.name)} is being deleted")
        if must_own and not is_controlled_by(claim, pod):
            raise ClaimError(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
        found.append(claim)
    return tuple(found)


def is_controlled_by(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether the pod controls the claim."""
    owner = controller_of(claim.metadata)
    return owner is not None and owner.uid == pod.uid


def is_reserved_for(claim: ResourceClaim, uid: str) -> bool:
    """Whether the claim lists a pod among its consumers."""
    return any(consumer.uid == uid for consumer in claim.status.reserved_for)
