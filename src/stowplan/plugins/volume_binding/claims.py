"""The claims of a pod: which are bound, which wait for its node, which somebody else has to bind first.

Upstream: podHasPVCs in volumebinding/volume_binding.go, GetPodVolumeClaims in volumebinding/binder.go (v1.36.4).
"""

from typing import Final

from stowplan.api.claims import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_key,
    claim_not_found,
    claim_uses,
    is_bound,
    ownership_error,
)
from stowplan.api.pod import Pod
from stowplan.api.storage import PersistentVolumeClaim, StorageClass
from stowplan.columns.objects import ObjectStore
from stowplan.framework.plugin import PluginError
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.volume_binding.assume_cache import AssumeCache
from stowplan.plugins.volume_binding.plan import VolumePlan

UNBOUND_IMMEDIATE: Final = unresolvable("pod has unbound immediate PersistentVolumeClaims")
LOST: Final = "Lost"


def unusable(objects: ObjectStore, pod: Pod) -> str | None:
    """Why one of the pod's claims cannot be used at all; None when all can."""
    for use in claim_uses(pod):
        claim = objects.get(PersistentVolumeClaim, claim_key(pod.namespace, use.name))
        if claim is None:
            if use.ephemeral:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{use.name}"'
            return claim_not_found(use.name)
        if claim.status.phase == LOST:
            return (
                f'persistentvolumeclaim "{claim.name}" bound to non-existent persistentvolume '
                f'"{claim.spec.volume_name}"'
            )
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{claim.name}" is being deleted'
        if use.ephemeral and (wrong := ownership_error(pod, claim)) is not None:
            return wrong
    return None


def sort_claims(objects: ObjectStore, claims: AssumeCache[PersistentVolumeClaim], pod: Pod) -> VolumePlan | Rejection:
    """The pod's claims by what is to be done about them. Raises PluginError."""
    bound: list[PersistentVolumeClaim] = []
    delayed: list[PersistentVolumeClaim] = []
    immediate = False
    for use in claim_uses(pod):
        key = claim_key(pod.namespace, use.name)
        claim = claims.get(key)
        if claim is None:
            raise PluginError(f'error getting PVC "{key}": {claims.not_found(key)}')
        if is_bound(claim):
            bound.append(claim)
        # parity: a claim that names its volume and is not bound yet is left to the volume controller
        elif _waits(objects, claim) and not claim.spec.volume_name:
            delayed.append(claim)
        else:
            immediate = True
    return UNBOUND_IMMEDIATE if immediate else VolumePlan(tuple(bound), tuple(delayed))


def all_bound(claims: AssumeCache[PersistentVolumeClaim], pod: Pod) -> bool:
    """Whether all of the pod's claims are bound by now."""
    found = [claims.get(claim_key(pod.namespace, use.name)) for use in claim_uses(pod)]
    return all(claim is not None and is_bound(claim) for claim in found)


def _waits(objects: ObjectStore, claim: PersistentVolumeClaim) -> bool:
    name = claim_class(claim)
    storage_class = objects.get(StorageClass, name) if name else None
    if storage_class is None:
        return False
    if storage_class.volume_binding_mode is None:
        raise PluginError(f'VolumeBindingMode not set for StorageClass "{name}"')
    return storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER
