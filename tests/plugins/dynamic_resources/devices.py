"""Builders of devices, slices, classes and claims: valid and dull by default."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from stowplan.api.meta import ObjectMeta
from stowplan.api.pod import Pod, PodResourceClaim
from stowplan.api.resource import (
    AllocationResult,
    CapacityRequestPolicy,
    CapacityRequirements,
    CELDeviceSelector,
    Counter,
    CounterSet,
    Device,
    DeviceAllocationResult,
    DeviceAttribute,
    DeviceCapacity,
    DeviceClaim,
    DeviceClass,
    DeviceClassSpec,
    DeviceConstraint,
    DeviceCounterConsumption,
    DeviceRequest,
    DeviceRequestAllocationResult,
    DeviceSelector,
    DeviceSubRequest,
    DeviceTaint,
    DeviceToleration,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimConsumerReference,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)

DRIVER = "gpu.example.com"


def attribute(value: str | int | bool) -> DeviceAttribute:
    """An attribute of the kind of its value."""
    if isinstance(value, bool):
        return DeviceAttribute(bool_value=value)
    return DeviceAttribute(int_value=value) if isinstance(value, int) else DeviceAttribute(string_value=value)


def gpu(
    name: str,
    *,
    memory: str | None = None,
    shared: bool = False,
    policy: CapacityRequestPolicy | None = None,
    takes: Mapping[str, int] | None = None,
    taint: DeviceTaint | None = None,
    conditions: Sequence[str] = (),
    on: str | None = None,
    **attributes: str | int | bool,
) -> Device:
    """A device; `takes` is what it takes of the counter set "set"."""
    counters = {name: Counter(value=amount) for name, amount in (takes or {}).items()}
    return Device(
        name=name,
        attributes={key: attribute(value) for key, value in attributes.items()},
        capacity={} if memory is None else {"memory": DeviceCapacity(value=memory, request_policy=policy)},
        allow_multiple_allocations=shared or None,
        consumes_counters=(DeviceCounterConsumption(counter_set="set", counters=counters),) if takes else (),
        taints=() if taint is None else (taint,),
        binding_conditions=tuple(conditions),
        node_name=on,
    )


def piece(
    *devices: Device,
    on: str | None = None,
    everywhere: bool = False,
    per_device: bool = False,
    pool: str = "",
    name: str = "",
    of: int = 1,
    generation: int = 1,
    driver: str = DRIVER,
    counters: Mapping[str, int] | None = None,
) -> ResourceSlice:
    """A slice; by default the only one of the pool that is named after the node."""
    pool = pool or on or "shared"
    held = {key: Counter(value=amount) for key, amount in (counters or {}).items()}
    spec = ResourceSliceSpec(
        driver=driver,
        pool=ResourcePool(name=pool, generation=generation, resource_slice_count=of),
        node_name=on,
        all_nodes=everywhere or None,
        per_device_node_selection=per_device or None,
        devices=devices,
        shared_counters=(CounterSet(name="set", counters=held),) if counters else (),
    )
    return ResourceSlice(metadata=ObjectMeta(name=name or f"slice-{pool}", uid=f"slice-{name}-{pool}"), spec=spec)


def selectors(*expressions: str) -> tuple[DeviceSelector, ...]:
    """Selectors by expression."""
    return tuple(DeviceSelector(cel=CELDeviceSelector(expression=expression)) for expression in expressions)


def device_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    """A class of all devices that the expressions select."""
    chosen = DeviceClassSpec(selectors=selectors(*expressions), **spec)
    return DeviceClass(metadata=ObjectMeta(name=name, uid=f"class-{name}"), spec=chosen)


def exactly(
    count: int = 1,
    *,
    name: str = "r",
    of: str = "gpu",
    where: Iterable[str] = (),
    take_all: bool = False,
    tolerate: Iterable[DeviceToleration] = (),
    admin: bool | None = None,
    memory: str | None = None,
) -> DeviceRequest:
    """A request for devices of one class."""
    request = ExactDeviceRequest(
        device_class_name=of,
        selectors=selectors(*where),
        allocation_mode="All" if take_all else "ExactCount",
        count=0 if take_all else count,
        tolerations=tuple(tolerate),
        admin_access=admin,
        capacity=None if memory is None else CapacityRequirements(requests={"memory": memory}),
    )
    return DeviceRequest(name=name, exactly=request)


def first_of(*alternatives: tuple[str, int] | tuple[str, int, str], name: str = "r") -> DeviceRequest:
    """A request with alternatives, each a class, a count and perhaps an expression."""
    subs = tuple(
        DeviceSubRequest(
            name=f"s{i}",
            device_class_name=one[0],
            count=one[1],
            allocation_mode="ExactCount",
            selectors=selectors(*one[2:]),
        )
        for i, one in enumerate(alternatives)
    )
    return DeviceRequest(name=name, first_available=subs)


def same(attribute_name: str, *requests: str) -> DeviceConstraint:
    """All devices have the same value."""
    return DeviceConstraint(requests=requests, match_attribute=f"{DRIVER}/{attribute_name}")


def different(attribute_name: str) -> DeviceConstraint:
    """No two devices have the same value."""
    return DeviceConstraint(distinct_attribute=f"{DRIVER}/{attribute_name}")


def claim(
    *requests: DeviceRequest,
    name: str = "claim",
    constraints: Iterable[DeviceConstraint] = (),
    allocation: AllocationResult | None = None,
    reserved_for: Iterable[str] = (),
    version: int = 1,
    **meta: Any,
) -> ResourceClaim:
    """A claim; by default for one device of class gpu."""
    devices = DeviceClaim(requests=requests or (exactly(),), constraints=tuple(constraints))
    consumers = tuple(ResourceClaimConsumerReference(resource="pods", name=uid, uid=uid) for uid in reserved_for)
    return ResourceClaim(
        metadata=ObjectMeta(name=name, namespace="default", uid=f"uid-{name}", resource_version=str(version), **meta),
        spec=ResourceClaimSpec(devices=devices),
        status=ResourceClaimStatus(allocation=allocation, reserved_for=consumers),
    )


def allocation(*devices: tuple[str, str], on: str | None = None, **more: Any) -> AllocationResult:
    """An allocation of devices, each a pool and a name; `on` is the node that can use it."""
    results = tuple(
        DeviceRequestAllocationResult(request="r", driver=DRIVER, pool=pool, device=device, **more)
        for pool, device in devices
    )
    selector = None
    if on is not None:
        selector = {
            "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}]
        }
    base = AllocationResult(devices=DeviceAllocationResult(results=results))
    return (
        base
        if selector is None
        else msgspec.convert({**msgspec.to_builtins(base), "nodeSelector": selector}, AllocationResult)
    )


def claiming(pod: Pod, *names: str) -> Pod:
    """The pod with claims by name."""
    entries = tuple(PodResourceClaim(name=name, resource_claim_name=name) for name in names)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, resource_claims=entries))
