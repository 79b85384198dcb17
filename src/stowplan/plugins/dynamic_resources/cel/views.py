"""What of a device an expression reads, so that devices that agree in it are evaluated once."""

from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from stowplan.api.resource import Device
from stowplan.plugins.dynamic_resources.cel import wire
from stowplan.plugins.dynamic_resources.cel.frontend import children

DeviceKey = tuple[object, ...]
View = Callable[[str, Device], DeviceKey]
Path = tuple[str, ...]
PLAIN: Final = frozenset({"driver", "allowMultipleAllocations"})
NAMED: Final = frozenset({"attributes", "capacity"})
ENCODER: Final = msgspec.json.Encoder(order="deterministic")


def view_of(checked: wire.CheckedExpression) -> View:
    """Return the function that tells devices apart as far as the expression can."""
    paths = set(_reads(checked, checked.root))
    if any(len(path) < 4 and path[-1] not in PLAIN for path in paths):
        return _whole
    attributes = sorted((path[2], path[3]) for path in paths if path[1] == "attributes")
    capacities = sorted((path[2], path[3]) for path in paths if path[1] == "capacity")

    def view(driver: str, device: Device) -> DeviceKey:
        return (
            driver,
            device.allow_multiple_allocations,
            *[_attribute(driver, device, domain, name) for domain, name in attributes],
            *[_capacity(driver, device, domain, name) for domain, name in capacities],
        )

    return view


def _reads(checked: wire.CheckedExpression, node: wire.Node) -> Iterator[Path]:
    path = _path(checked, node)
    if path and path[0] == "device":
        # a path that ends before a named attribute, as in a loop over all of them, reads everything
        yield path[:4] if len(path) >= 4 and path[1] in NAMED else path[:2]
        return
    for child in children(node):
        yield from _reads(checked, child)


def _path(checked: wire.CheckedExpression, node: wire.Node) -> Path:
    match node:
        case wire.Ident():
            return tuple(checked.names.get(node.id, node.name).split("."))
        case wire.Select():
            if node.id in checked.names:
                return tuple(checked.names[node.id].split("."))
            base = _path(checked, node.operand)
            return (*base, node.field) if base else ()
        case wire.Call(function="_[_]", args=(operand, wire.Const(value=str() as key))):
            base = _path(checked, operand)
            return (*base, key) if base else ()
        case _:
            return ()


def _names(driver: str, domain: str, name: str) -> tuple[str, ...]:
    return (f"{domain}/{name}", name) if domain == driver else (f"{domain}/{name}",)


def _attribute(driver: str, device: Device, domain: str, name: str) -> DeviceKey:
    key: DeviceKey = ()
    for known in _names(driver, domain, name):
        if attribute := device.attributes.get(known):
            key += (attribute.int_value, attribute.bool_value, attribute.string_value, attribute.version_value)
    return key


def _capacity(driver: str, device: Device, domain: str, name: str) -> DeviceKey:
    key: DeviceKey = ()
    for known in _names(driver, domain, name):
        if capacity := device.capacity.get(known):
            key += (capacity.value,)
    return key


def _whole(driver: str, device: Device) -> DeviceKey:
    return (driver, device.allow_multiple_allocations, ENCODER.encode((device.attributes, device.capacity)))
