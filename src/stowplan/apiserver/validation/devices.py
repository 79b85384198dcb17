"""What device classes, claims and slices may say.

Upstream: pkg/apis/resource/validation/validation.go (v1.36.4). Expressions are not compiled here: a claim with a wrong
one is refused by the scheduler.
"""

from collections.abc import Iterable, Iterator, Set
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import (
    duplicate,
    forbidden_field,
    immutable,
    invalid_value,
    label_name_faults,
    required,
    subdomain_faults,
    unsupported,
)
from stowplan.apiserver.validation.placement import node_selector_faults

Json = dict[str, Any]

MODES = ("All", "ExactCount")
EFFECTS = ("NoExecute", "NoSchedule", "None")
OPERATORS = ("Equal", "Exists")
MOST_DEVICES = 128
MOST_DEVICES_WITH_MORE = 64
PLACES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
ONE_PLACE = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
ONE_KIND = "exactly one of `exactly` or `firstAvailable` is required"
NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def validate_device_class(value: Json) -> Iterator[Cause]:
    """A DeviceClass."""
    yield from _selector_faults((value.get("spec") or {}).get("selectors") or (), "spec.selectors")


def validate_device_claim(value: Json) -> Iterator[Cause]:
    """A ResourceClaim."""
    yield from _claim_faults(value.get("spec") or {}, "spec")


def keep_device_claim(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """The specification of a claim stands, and so does an allocation until it is taken away."""
    if not subresource and value.get("spec") != old.get("spec"):
        yield immutable("spec", value.get("spec"))
    if subresource == "status":
        yield from _claim_status_faults(value, old)


def _claim_status_faults(value: Json, old: Json) -> Iterator[Cause]:
    status, before = value.get("status") or {}, old.get("status") or {}
    allocation, reserved = status.get("allocation"), status.get("reservedFor") or ()
    given = {_device_key(result) for result in ((allocation or {}).get("devices") or {}).get("results") or ()}
    for index, device in enumerate(status.get("devices") or ()):
        if _device_key(device) not in given:
            told = "/".join(part for part in _device_key(device) if part)
            yield invalid_value(f"status.devices[{index}]", told, "must be an allocated device in the claim")
    if reserved and allocation is None:
        yield forbidden_field("status.reservedFor", "may not be specified when `allocated` is not set")
    elif value["metadata"].get("deletionTimestamp") and any(
        one not in (before.get("reservedFor") or ()) for one in reserved
    ):
        why = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden_field("status.reservedFor", why)
    if allocation is not None and before.get("allocation") not in (None, allocation):
        yield immutable("status.allocation", allocation)


def _device_key(one: Json) -> tuple[str, ...]:
    return tuple(one.get(name) or "" for name in ("driver", "pool", "device", "shareID"))


def validate_claim_template(value: Json) -> Iterator[Cause]:
    """A ResourceClaimTemplate."""
    yield from _claim_faults((value.get("spec") or {}).get("spec") or {}, "spec.spec")


def _claim_faults(spec: Json, path: str) -> Iterator[Cause]:
    devices, where = spec.get("devices") or {}, f"{path}.devices"
    names: set[str] = set()
    taken: set[str] = set()
    for index, request in enumerate(devices.get("requests") or ()):
        name, here = request.get("name", ""), f"{where}.requests[{index}]"
        yield from _request_faults(request, here)
        if name in taken:
            yield duplicate(here, name)
        taken.add(name)
        names |= {name, *(f"{name}/{choice.get('name', '')}" for choice in request.get("firstAvailable") or ())}
    for index, constraint in enumerate(devices.get("constraints") or ()):
        here = f"{where}.constraints[{index}]"
        yield from _reference_faults(constraint.get("requests") or (), f"{here}.requests", names)
        if not constraint.get("matchAttribute") and not constraint.get("distinctAttribute"):
            yield required(
                here,
                'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set',
            )
    for index, config in enumerate(devices.get("config") or ()):
        here = f"{where}.config[{index}]"
        yield from _reference_faults(config.get("requests") or (), f"{here}.requests", names)
        if config.get("opaque") is None:
            yield required(f"{here}.opaque")


def _reference_faults(references: Iterable[str], path: str, names: Set[str]) -> Iterator[Cause]:
    for index, name in enumerate(references):
        if name not in names:
            yield invalid_value(f"{path}[{index}]", name, NO_REQUEST)


def _request_faults(request: Json, path: str) -> Iterator[Cause]:
    yield from _name_faults(request.get("name", ""), f"{path}.name")
    exactly, choices = request.get("exactly"), request.get("firstAvailable") or ()
    if exactly is None and not choices:
        yield required(path, ONE_KIND)
    elif exactly is not None and choices:
        yield Cause("FieldValueInvalid", f"Invalid value: null: {ONE_KIND}, but multiple fields are set", path)
    elif exactly is not None:
        yield from _device_request_faults(exactly, f"{path}.exactly")
    seen: set[str] = set()
    for index, choice in enumerate(choices if exactly is None else ()):
        where = f"{path}.firstAvailable[{index}]"
        yield from _name_faults(choice.get("name", ""), f"{where}.name")
        yield from _device_request_faults(choice, where)
        if choice.get("name", "") in seen:
            yield duplicate(where, choice.get("name", ""))
        seen.add(choice.get("name", ""))


def _device_request_faults(request: Json, path: str) -> Iterator[Cause]:
    wanted = request.get("deviceClassName", "")
    if not wanted:
        yield required(f"{path}.deviceClassName")
    else:
        for why in subdomain_faults(wanted):
            yield invalid_value(f"{path}.deviceClassName", wanted, why)
    yield from _selector_faults(request.get("selectors") or (), f"{path}.selectors")
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode not in MODES:
        yield unsupported(f"{path}.allocationMode", mode, MODES)
    elif mode == "All" and count:
        yield invalid_value(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid_value(f"{path}.count", count, "must be greater than zero")
    for index, toleration in enumerate(request.get("tolerations") or ()):
        operator, where = toleration.get("operator", ""), f"{path}.tolerations[{index}]"
        if operator not in OPERATORS:
            yield unsupported(f"{where}.operator", operator, OPERATORS)
        if toleration.get("effect") and toleration["effect"] not in EFFECTS:
            yield unsupported(f"{where}.effect", toleration["effect"], EFFECTS)


def _selector_faults(selectors: Iterable[Json], path: str) -> Iterator[Cause]:
    for index, selector in enumerate(selectors):
        if selector.get("cel") is None:
            yield required(f"{path}[{index}].cel")
        elif not selector["cel"].get("expression"):
            yield required(f"{path}[{index}].cel.expression")


def _name_faults(name: str, path: str) -> Iterator[Cause]:
    if not name:
        yield required(path)
        return
    for why in label_name_faults(name):
        yield invalid_value(path, name, why)


def validate_resource_slice(value: Json) -> Iterator[Cause]:
    """A ResourceSlice."""
    spec = value.get("spec") or {}
    driver = spec.get("driver", "")
    if not driver:
        yield required("spec.driver")
    else:
        for why in subdomain_faults(driver):
            yield invalid_value("spec.driver", driver, why)
    yield from _pool_faults(spec.get("pool") or {})
    yield from _place_faults(spec)
    if spec.get("sharedCounters") and spec.get("devices"):
        yield invalid_value("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    devices = spec.get("devices") or ()
    more = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    most = MOST_DEVICES_WITH_MORE if more else MOST_DEVICES
    if len(devices) > most:
        text = f"Too many: {len(devices)}: must have at most {most} items"
        yield Cause("FieldValueTooMany", text, "spec.devices")
    seen: set[str] = set()
    for index, device in enumerate(devices):
        name, where = device.get("name", ""), f"spec.devices[{index}]"
        yield from _name_faults(name, f"{where}.name")
        for place, taint in enumerate(device.get("taints") or ()):
            if taint.get("effect") not in EFFECTS:
                yield unsupported(f"{where}.taints[{place}].effect", taint.get("effect", ""), EFFECTS)
        if name in seen:
            yield duplicate(where, name)
        seen.add(name)


def _pool_faults(pool: Json) -> Iterator[Cause]:
    name = pool.get("name", "")
    if not name:
        yield required("spec.pool.name")
    else:
        for part in name.split("/"):
            for why in subdomain_faults(part):
                yield invalid_value("spec.pool.name", part, why)
    if pool.get("resourceSliceCount", 0) <= 0:
        yield invalid_value(
            "spec.pool.resourceSliceCount", pool.get("resourceSliceCount", 0), "must be greater than zero"
        )
    if pool.get("generation", 0) < 0:
        yield invalid_value("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")


def _place_faults(spec: Json) -> Iterator[Cause]:
    if spec.get("nodeSelector") is not None:
        yield from node_selector_faults(spec["nodeSelector"], "spec.nodeSelector")
    for name in ("allNodes", "perDeviceNodeSelection"):
        if spec.get(name) is False:
            yield invalid_value(f"spec.{name}", "false", "must be either unset or set to true")
    given = [f"`{name}`" for name in PLACES if spec.get(name)]
    if not given:
        yield required("spec", ONE_PLACE)
    elif len(given) > 1:
        yield invalid_value("spec", "{" + ", ".join(given) + "}", f"{ONE_PLACE}, but multiple fields are set")
