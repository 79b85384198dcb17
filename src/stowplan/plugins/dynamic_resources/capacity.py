"""Consumable capacity: what a request takes of a device that several claims share.

Upstream: consumable_capacity.go in staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating
(v1.36.4).
"""

from collections.abc import Mapping

from stowplan.api.meta import RawQuantity
from stowplan.api.quantity import Format, Quantity, canonical, nano_value, parse, value
from stowplan.api.resource import CapacityRequestPolicy, CapacityRequirements, DeviceCapacity
from stowplan.plugins.dynamic_resources.allocated import Amounts

Consumed = Mapping[str, RawQuantity]


def fits(
    request: CapacityRequirements | None,
    capacities: Mapping[str, DeviceCapacity],
    consumed: Amounts,
    allocating: Amounts,
) -> bool:
    """Whether the request fits into what is left of every capacity of a device, and follows its policies."""
    if request is not None and any(name not in capacities for name in request.requests):
        return False
    for name, held in capacities.items():
        taken = taken_of(_requested(request, name), held)
        if _violates(taken, held.request_policy):
            return False
        if nano_value(taken) + consumed.get(name, 0) + allocating.get(name, 0) > nano_value(held.value):
            return False
    return True


def consumption(request: CapacityRequirements | None, capacities: Mapping[str, DeviceCapacity]) -> Consumed:
    """Return what a request takes of each capacity of a device."""
    return {name: taken_of(_requested(request, name), held) for name, held in capacities.items()}


def amounts_of(consumed: Consumed) -> Amounts:
    """Return what is consumed as numbers."""
    return {name: nano_value(taken) for name, taken in consumed.items()}


def _requested(request: CapacityRequirements | None, name: str) -> RawQuantity | None:
    return None if request is None else request.requests.get(name)


def taken_of(requested: RawQuantity | None, held: DeviceCapacity) -> RawQuantity:
    """Return what is taken of one capacity: the request rounded up by the policy, or the default, or all."""
    policy = held.request_policy
    if requested is None:
        return held.value if policy is None or policy.default is None else policy.default
    if policy is None:
        return requested
    if policy.valid_range is not None and policy.valid_range.min is not None:
        return _into_range(requested, policy.valid_range.min, policy.valid_range.step)
    for valid in policy.valid_values:
        if nano_value(requested) <= nano_value(valid):
            return valid
    return requested


def _into_range(requested: RawQuantity, low: RawQuantity, step: RawQuantity | None) -> RawQuantity:
    if nano_value(requested) < nano_value(low):
        return low
    if step is None:
        return requested
    width, start = value(step), value(low)
    steps = -(-(value(requested) - start) // width)
    return canonical(Quantity(start + width * steps, 0, Format.BINARY_SI))


def _violates(taken: RawQuantity, policy: CapacityRequestPolicy | None) -> bool:
    if policy is None or (policy.default is not None and parse(taken) == parse(policy.default)):
        return False
    if policy.valid_range is not None:
        limits = policy.valid_range
        if limits.max is not None and nano_value(taken) > nano_value(limits.max):
            return True
        if limits.step is None:
            return False
        start = 0 if limits.min is None else value(limits.min)
        return (value(taken) - start) % value(limits.step) != 0
    if policy.valid_values:
        return all(nano_value(taken) != nano_value(valid) for valid in policy.valid_values)
    return False
