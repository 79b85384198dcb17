"""What VolumeBinding prepares for a pod, and what it reserves on a node.

Upstream: PodVolumeClaims and PodVolumes in pkg/scheduler/framework/plugins/volumebinding/binder.go (v1.36.4).
"""

from dataclasses import dataclass
from typing import final

from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim


@final
@dataclass(frozen=True, slots=True)
class Match:
    """A volume for a claim."""

    volume: PersistentVolume
    claim: PersistentVolumeClaim


@final
@dataclass(slots=True)
class Reservation:
    """What is to be written for the pod: volumes bound to claims, and claims to be provisioned for the node."""

    bindings: list[Match]
    provisions: list[PersistentVolumeClaim]
    all_bound: bool = False


@final
@dataclass(slots=True)
class VolumePlan:
    """The pod's claims, as often as its volumes use them."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]
    """Unbound ones that wait for the pod's node."""
    reservation: Reservation | None = None
