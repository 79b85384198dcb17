"""The feature gates that change what a configuration may say, with their defaults.

Upstream: pkg/features/kube_features.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Final

STORAGE_CAPACITY_SCORING: Final = "StorageCapacityScoring"
DRA_FILTER_TIMEOUT: Final = "DRASchedulerFilterTimeout"
DRA_BINDING_CONDITIONS: Final = "DRADeviceBindingConditions"
DRA_CLAIM_STATUS: Final = "DRAResourceClaimDeviceStatus"

DEFAULT_GATES: Final[Mapping[str, bool]] = {
    STORAGE_CAPACITY_SCORING: False,
    DRA_FILTER_TIMEOUT: True,
    DRA_BINDING_CONDITIONS: True,
    DRA_CLAIM_STATUS: True,
}


def is_on(gates: Mapping[str, bool], gate: str) -> bool:
    """Whether a gate is on, given those that were set."""
    return gates.get(gate, DEFAULT_GATES[gate])


def binding_timeout_is_on(gates: Mapping[str, bool]) -> bool:
    """Whether claims may have a binding timeout, which takes two gates."""
    return is_on(gates, DRA_BINDING_CONDITIONS) and is_on(gates, DRA_CLAIM_STATUS)
