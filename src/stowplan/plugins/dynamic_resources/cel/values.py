"""The values of expressions: their types, their equality, their order, and the errors they can be.

Upstream: vendor/github.com/google/cel-go/common/types and staging/src/k8s.io/apiserver/pkg/cel (v1.36.4).
"""

import ipaddress
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stowplan.api.quantity import Quantity
from stowplan.api.quantity import compare as compare_quantities
from stowplan.plugins.dynamic_resources.cel.versions import Semver

Value = Any
MIN_INT, MAX_INT, MAX_UINT = -(1 << 63), (1 << 63) - 1, (1 << 64) - 1
ANY, DYN = "google.protobuf.Any", "dyn"
QUANTITY, SEMVER, IP, CIDR = "kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR"


class CelError(Exception):
    """Raised when an expression evaluates to an error."""


class CostExceededError(Exception):
    """Raised when an evaluation costs more than it may; no operator absorbs it."""


class Uint(int):
    """An unsigned integer."""


@dataclass(frozen=True, slots=True)
class Cidr:
    """An address and the length of its network prefix."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    prefix: int


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    present: bool
    value: Value = None


@dataclass(frozen=True, slots=True)
class TypeValue:
    """A type as a value."""

    name: str


NONE = Optional(present=False)


@dataclass(frozen=True, slots=True)
class _BoolKey:
    value: bool


class CelMap:
    """A map; with a default, looking up an unknown key gives the default."""

    __slots__ = ("_default", "_entries")

    def __init__(self, entries: Mapping[Value, Value], default: "CelMap | None" = None) -> None:
        self._entries = {_key(key): value for key, value in entries.items()}
        self._default = default

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Value]:
        for key in self._entries:
            yield key.value if isinstance(key, _BoolKey) else key

    def __contains__(self, key: Value) -> bool:
        return _hashable(key) and _key(key) in self._entries

    def find(self, key: Value) -> tuple[bool, Value]:
        """Whether the key leads to a value, and the value."""
        if key in self:
            return True, self._entries[_key(key)]
        return (True, self._default) if self._default is not None else (False, None)


def _hashable(key: Value) -> bool:
    return isinstance(key, bool | int | float | str)


def _key(key: Value) -> Value:
    # Python takes True for 1; CEL does not
    return _BoolKey(key) if key.__class__ is bool else key


TYPE_NAMES: dict[type, str] = {
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    CelMap: "map",
    Quantity: QUANTITY,
    Semver: SEMVER,
    ipaddress.IPv4Address: IP,
    ipaddress.IPv6Address: IP,
    Cidr: CIDR,
    Optional: "optional_type",
    TypeValue: "type",
}
NUMBERS = frozenset({"int", "uint", "double"})
ORDERED = frozenset({"bool", "string", "bytes"})


def type_name(value: Value) -> str:
    """Return the name of a value's type."""
    return TYPE_NAMES[type(value)]


def equal(a: Value, b: Value) -> bool:
    """Whether two values are equal; values of different types are not, except numbers."""
    kind_a, kind_b = type_name(a), type_name(b)
    if kind_a in NUMBERS and kind_b in NUMBERS:
        return bool(a == b)
    if kind_a in (QUANTITY, SEMVER) and kind_a != kind_b:
        # parity: these types refuse to be compared with others (quantity.go, semver.go of apiserver/pkg/cel)
        raise CelError("no such overload")
    if kind_a != kind_b:
        return False
    match a:
        case list():
            return len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b, strict=True))
        case CelMap():
            return len(a) == len(b) and all(key in b and equal(a.find(key)[1], b.find(key)[1]) for key in a)
        case Semver():
            return a.compare(b) == 0
        case Quantity():
            return compare_quantities(a, b) == 0
        case Optional():
            return a.present == b.present and (not a.present or equal(a.value, b.value))
        case _:
            return bool(a == b)


def compare(a: Value, b: Value) -> int:
    """-1, 0 or 1; a CelError when the two have no order."""
    kind_a, kind_b = type_name(a), type_name(b)
    if not (kind_a in NUMBERS and kind_b in NUMBERS) and not (kind_a == kind_b and kind_a in ORDERED):
        raise CelError("no such overload")
    if (isinstance(a, float) and math.isnan(a)) or (isinstance(b, float) and math.isnan(b)):
        raise CelError("NaN values cannot be ordered")
    return int(a > b) - int(a < b)


def size_of(value: Value) -> int:
    """How big a value is for the cost of what is done with it."""
    match value:
        case str() | bytes() | list() | CelMap():
            return len(value)
        case Optional(present=True):
            return size_of(value.value)
        case ipaddress.IPv4Address() | ipaddress.IPv6Address():
            return len(value.packed)
        case Cidr():
            return -(-value.prefix // 8)
        case _:
            return 1


def text_of(value: Value) -> str:
    """Return a value as error messages print it."""
    if value.__class__ is bool:
        return "true" if value else "false"
    return str(value)
