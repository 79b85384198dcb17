"""Binding conditions: whether allocated devices are ready for the pod to be bound.

Upstream: isClaimReadyForBinding and formatBCStatusOneLine in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (v1.36.4).
"""

import json
from collections.abc import Iterable
from typing import Final

from stowplan.api.meta import Condition
from stowplan.api.resource import AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim

TIMED_OUT: Final = "device binding timeout"
FAILED: Final = "device binding failed"


class BindingFailedError(Exception):
    """Raised when a driver says that a device will not get ready, with upstream's text."""


def is_ready(claim: ResourceClaim) -> bool:
    """Whether all binding conditions of a claim's devices are met; BindingFailedError when one never will."""
    if claim.status.allocation is None:
        return False
    for result in claim.status.allocation.devices.results:
        if not result.binding_conditions:
            continue
        status = _status_of(claim, result)
        if status is None:
            return False
        for name in result.binding_failure_conditions:
            condition = _condition(status.conditions, name)
            if condition is not None and condition.status == "True":
                raise BindingFailedError(
                    f"{FAILED}: claim={claim.name}, reason={condition.reason}, message={json.dumps(condition.message)}"
                )
        if any(not _is_true(status.conditions, name) for name in result.binding_conditions):
            return False
    return True


def has_conditions(claims: Iterable[ResourceClaim]) -> bool:
    """Whether any device of these claims has binding conditions."""
    return any(
        result.binding_conditions
        for claim in claims
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    )


def _status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == (result.driver, result.pool, result.device):
            return status
    return None


def _condition(conditions: Iterable[Condition], name: str) -> Condition | None:
    return next((condition for condition in conditions if condition.type == name), None)


def _is_true(conditions: Iterable[Condition], name: str) -> bool:
    condition = _condition(conditions, name)
    return condition is not None and condition.status == "True"
