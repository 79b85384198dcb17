"""Device selectors: compiled once, evaluated once per device that looks different to them.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go and cache.go (v1.36.4).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from stowplan.api.quantity import parse
from stowplan.api.resource import Device, DeviceAttribute
from stowplan.plugins.dynamic_resources.cel.frames import Frame, Run, UnsupportedError
from stowplan.plugins.dynamic_resources.cel.frontend import CompileError, Frontend
from stowplan.plugins.dynamic_resources.cel.functions import Functions
from stowplan.plugins.dynamic_resources.cel.program import compile_program
from stowplan.plugins.dynamic_resources.cel.values import (
    ANY,
    CelError,
    CelMap,
    CostExceededError,
    Value,
    type_name,
)
from stowplan.plugins.dynamic_resources.cel.versions import VersionError, parse_semver
from stowplan.plugins.dynamic_resources.cel.views import DeviceKey, view_of

CACHE_SIZE: Final = 1024
MOST_KNOWN: Final = 65_536
EMPTY: Final = CelMap({})


class SelectorError(Exception):
    """Raised when a selector cannot be compiled or evaluated, with upstream's text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a selector says of a device, and what it cost to find out."""

    matches: bool
    cost: int


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """A compiled expression."""

    expression: str
    run: Run
    view: Callable[[str, Device], DeviceKey]
    known: dict[DeviceKey, bool | SelectorError] = field(default_factory=dict)
    endless: list[SelectorError] = field(default_factory=list)
    """Says that the expression ran too long."""

    def matches(self, driver: str, device: Device) -> bool:
        """Whether the device is selected; SelectorError with upstream's text when that cannot be said."""
        for name, attribute in device.attributes.items():
            if attribute.string_value is None and attribute.int_value is None:
                _attribute_value(name, attribute)  # parity: a bad attribute fails every selector, read or not
        # perf: devices that agree in what the expression reads share one evaluation
        key = self.view(driver, device)
        known = self.known.get(key)
        if known is None:
            # an expression that once ran too long is not given as much time again for every other device
            known = self.endless[0] if self.endless else self._outcome(driver, device)
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            self.known[key] = known
        if isinstance(known, SelectorError):
            raise known
        return known

    def _outcome(self, driver: str, device: Device) -> bool | SelectorError:
        try:
            return self.evaluate(driver, device).matches
        except SelectorError as error:
            if isinstance(error.__cause__, CostExceededError):
                self.endless.append(error)
            return error

    def evaluate(self, driver: str, device: Device) -> Evaluation:
        """Evaluate the expression for a device."""
        frame = Frame({"device": device_value(driver, device)})
        try:
            result = self.run(frame)
        except (CelError, CostExceededError) as error:
            raise SelectorError(str(error)) from error
        if type(result) is not bool:
            kind = type_name(result)
            raise SelectorError(
                f"CEL result of type {kind} could not be converted to bool: "
                f"unsupported native conversion from {kind} to 'bool'"
            )
        return Evaluation(matches=result, cost=frame.cost)


def device_value(driver: str, device: Device) -> CelMap:
    """Return a device as expressions see it; names without a domain are in that of the driver."""
    attributes: dict[str, dict[str, Value]] = {}
    for name, attribute in device.attributes.items():
        domain, identifier = split_name(name, driver)
        attributes.setdefault(domain, {})[identifier] = _attribute_value(name, attribute)
    capacity: dict[str, dict[str, Value]] = {}
    for name, held in device.capacity.items():
        domain, identifier = split_name(name, driver)
        capacity.setdefault(domain, {})[identifier] = parse(held.value)
    return CelMap(
        {
            "driver": driver,
            "allowMultipleAllocations": bool(device.allow_multiple_allocations),
            "attributes": CelMap({domain: CelMap(held) for domain, held in attributes.items()}, default=EMPTY),
            "capacity": CelMap({domain: CelMap(held) for domain, held in capacity.items()}, default=EMPTY),
        }
    )


def split_name(name: str, driver: str) -> tuple[str, str]:
    """Split a qualified name into its domain, by default the driver's, and its identifier."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def _attribute_value(name: str, attribute: DeviceAttribute) -> Value:
    for value in (attribute.int_value, attribute.bool_value, attribute.string_value):
        if value is not None:
            return value
    if attribute.version_value is None:
        raise SelectorError(f"attribute {name}: unsupported attribute value")
    try:
        return parse_semver(attribute.version_value)
    except VersionError as error:
        raise SelectorError(f"attribute {name}: parse semantic version: {error}") from error


class SelectorCache:
    """Compiled selectors by their text."""

    def __init__(self) -> None:
        self._frontend = Frontend()
        self._functions = Functions(self._frontend.matches)
        self._compiled: dict[str, Selector] = {}

    def get(self, expression: str) -> Selector:
        """Return the compiled expression; SelectorError with upstream's text when it does not compile."""
        found = self._compiled.get(expression)
        if found is None:
            found = self._compile(expression)
            if len(self._compiled) >= CACHE_SIZE:
                self._compiled.pop(next(iter(self._compiled)))
            self._compiled[expression] = found
        return found

    def _compile(self, expression: str) -> Selector:
        try:
            checked = self._frontend.check(expression)
        except CompileError as error:
            raise SelectorError(f"compilation failed: {error}") from error
        kind = checked.types.get(checked.root.id, "dyn")
        if kind not in ("bool", ANY):
            raise SelectorError(f"must evaluate to bool or the unknown type, not {kind}")
        try:
            run = compile_program(checked, self._functions)
        except CelError as error:
            raise SelectorError(f"program instantiation failed: {error}") from error
        except UnsupportedError as error:
            raise SelectorError(f"compilation failed: {error}") from error
        return Selector(expression, run, view_of(checked))
