"""Requests of claims, with what has to be known about each before devices are searched.

Upstream: validateDeviceRequest and requestAccessor in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from stowplan.api.resource import (
    CapacityRequirements,
    DeviceClass,
    DeviceRequest,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
)
from stowplan.plugins.dynamic_resources.errors import AllocationError
from stowplan.plugins.dynamic_resources.features import Features

EXACT_COUNT: Final = "ExactCount"
ALL: Final = "All"
MAX_RESULTS: Final = 32
"""How many devices one claim may get."""
KEEPING_OFF: Final = frozenset({"NoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """A request, or one of the alternatives of a request."""

    name: str
    parent: str
    """The request that this is an alternative of; empty otherwise."""
    device_class: DeviceClass
    selectors: tuple[DeviceSelector, ...]
    mode: str
    count: int
    admin: bool
    tolerations: tuple[DeviceToleration, ...]
    capacity: CapacityRequirements | None

    @property
    def full_name(self) -> str:
        """The name that allocation results carry."""
        return f"{self.parent}/{self.name}" if self.parent else self.name

    @property
    def base_name(self) -> str:
        """The name of the request that constraints may refer to."""
        return self.parent or self.name

    @property
    def sub_name(self) -> str:
        """The name of the alternative, empty when there is none."""
        return self.name if self.parent else ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WantedClaim:
    """A claim and its requests, each with its alternatives in order of preference."""

    claim: ResourceClaim
    requests: tuple[tuple[Wanted, ...], ...]


def read_requests(
    claims: tuple[ResourceClaim, ...], classes: Mapping[str, DeviceClass], features: Features
) -> Iterator[WantedClaim]:
    """Check the requests of claims one by one; AllocationError with upstream's text for what cannot be handled."""
    for claim in claims:
        requests = tuple(
            tuple(_alternatives(claim, request, classes, features)) for request in claim.spec.devices.requests
        )
        yield WantedClaim(claim=claim, requests=requests)


def _alternatives(
    claim: ResourceClaim, request: DeviceRequest, classes: Mapping[str, DeviceClass], features: Features
) -> Iterator[Wanted]:
    if request.first_available:
        if not features.prioritized_list:
            told = "has subrequests, but the DRAPrioritizedList feature is disabled"
            raise AllocationError(f"claim {claim.key}, request {request.name}: {told}")
        for sub in request.first_available:
            _check_capacity(claim, "subrequest", sub.name, sub.capacity, features)
        for sub in request.first_available:
            yield _wanted(claim, sub.name, request.name, sub, classes, admin=False)
        return
    exactly = request.exactly or ExactDeviceRequest()
    _check_capacity(claim, "request", request.name, exactly.capacity, features)
    if exactly.admin_access is not None and not features.admin_access:
        told = "admin access is requested, but the feature is disabled"
        raise AllocationError(f"claim {claim.key}, request {request.name}: {told}")
    yield _wanted(claim, request.name, "", exactly, classes, admin=bool(exactly.admin_access))


def _check_capacity(
    claim: ResourceClaim, what: str, name: str, capacity: CapacityRequirements | None, features: Features
) -> None:
    if capacity is not None and not features.consumable_capacity:
        told = "has capacity requests, but the DRAConsumableCapacity feature is disabled"
        raise AllocationError(f"claim {claim.key}, {what} {name}: {told}")


def _wanted(
    claim: ResourceClaim,
    name: str,
    parent: str,
    request: ExactDeviceRequest | DeviceSubRequest,
    classes: Mapping[str, DeviceClass],
    *,
    admin: bool,
) -> Wanted:
    where = f"claim {claim.key}, request {name}"
    for i, selector in enumerate(request.selectors):
        if selector.cel is None:
            raise AllocationError(f"{where}, selector #{i}: CEL expression empty (unsupported selector type?)")
    wanted = request.device_class_name
    if not wanted:
        raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
    device_class = classes.get(wanted)
    if device_class is None:
        told = f'deviceclass.resource.k8s.io "{wanted}" not found'
        raise AllocationError(f"{where}: could not retrieve device class {wanted}: {told}")
    if request.allocation_mode not in (EXACT_COUNT, ALL):
        raise AllocationError(f"{where}: unsupported count mode {request.allocation_mode}")
    return Wanted(
        name=name,
        parent=parent,
        device_class=device_class,
        selectors=request.selectors,
        mode=request.allocation_mode,
        count=request.count,
        admin=admin,
        tolerations=request.tolerations,
        capacity=request.capacity,
    )


def keeps_off(taints: tuple[DeviceTaint, ...], tolerations: tuple[DeviceToleration, ...]) -> bool:
    """Whether a device's taints keep off a request with these tolerations."""
    return any(
        taint.effect in KEEPING_OFF and not any(_tolerates(toleration, taint) for toleration in tolerations)
        for taint in taints
    )


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value
