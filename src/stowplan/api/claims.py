"""Persistent volume claims as pods and volumes refer to them: names, classes, ownership.

Upstream: staging/src/k8s.io/component-helpers/storage (v1.36.4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from stowplan.api.meta import controller_of
from stowplan.api.pod import Pod
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim

BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
WAIT_FOR_FIRST_CONSUMER: Final = "WaitForFirstConsumer"
READ_WRITE_ONCE_POD: Final = "ReadWriteOncePod"
STORAGE: Final = "storage"


@final
@dataclass(frozen=True, slots=True)
class ClaimUse:
    """A pod's use of a claim: named by a volume, or made for an ephemeral one."""

    name: str
    ephemeral: bool


def claim_uses(pod: Pod) -> Iterator[ClaimUse]:
    """The claims of the pod's volumes, in their order, as often as they are used."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ClaimUse(volume.persistent_volume_claim.claim_name, False)
        elif volume.ephemeral is not None:
            yield ClaimUse(f"{pod.metadata.name}-{volume.name}", True)


def uses_claim(pod: Pod, claim: PersistentVolumeClaim) -> bool:
    """Whether one of the pod's volumes, ephemeral ones among them, is this claim."""
    return pod.namespace == claim.namespace and any(use.name == claim.name for use in claim_uses(pod))


def claim_key(namespace: str, name: str) -> str:
    """The key of a claim."""
    return f"{namespace}/{name}" if namespace else name


def ownership_error(pod: Pod, claim: PersistentVolumeClaim) -> str | None:
    """What is wrong when the claim of an ephemeral volume was not made for the pod."""
    owner = controller_of(claim.metadata)
    if claim.namespace == pod.namespace and owner is not None and owner.uid == pod.uid:
        return None
    return f"PVC {claim.namespace}/{claim.name} was not created for pod {pod.namespace}/{pod.name} (pod is not owner)"


def claim_class(claim: PersistentVolumeClaim) -> str:
    """The storage class that a claim asks for, empty for none."""
    beta = claim.metadata.annotations.get(BETA_CLASS)
    return (claim.spec.storage_class_name or "") if beta is None else beta


def volume_class(volume: PersistentVolume) -> str:
    """The storage class of a volume, empty for none."""
    beta = volume.metadata.annotations.get(BETA_CLASS)
    return volume.spec.storage_class_name if beta is None else beta


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether binding a claim is finished."""
    return claim.spec.volume_name != "" and BIND_COMPLETED in claim.metadata.annotations


def claim_not_found(name: str) -> str:
    """The API's words for a claim that is not there."""
    return f'persistentvolumeclaim "{name}" not found'
