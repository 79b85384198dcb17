"""The functions that Kubernetes adds to the language: quantities, versions, addresses, lists and regular expressions.

Upstream: staging/src/k8s.io/apiserver/pkg/cel/library (v1.36.4).
"""

import functools
import ipaddress
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeVar

from stowplan.api.errors import QuantityError
from stowplan.api.quantity import Quantity, add, compare, nanos, of, parse
from stowplan.plugins.dynamic_resources.cel import versions
from stowplan.plugins.dynamic_resources.cel.standard import Function
from stowplan.plugins.dynamic_resources.cel.standard import add as add_values
from stowplan.plugins.dynamic_resources.cel.values import (
    CIDR,
    IP,
    MAX_INT,
    MIN_INT,
    QUANTITY,
    SEMVER,
    CelError,
    Cidr,
    Uint,
    Value,
    equal,
)
from stowplan.plugins.dynamic_resources.cel.values import compare as compare_values
from stowplan.plugins.dynamic_resources.cel.versions import Semver

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
COMPARABLE: Final = ("int", "uint", "double", "bool", "string", "bytes")
SUMMABLE: Final = ("int", "uint", "double")
T = TypeVar("T")
ZEROS: Final[dict[str, Value]] = {"int": 0, "uint": Uint(0), "double": 0.0}


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function, and what it does."""

    function: str
    id: str
    params: tuple[str, ...]
    result: str
    run: Function
    member: bool = True


def _or_error(parse: Callable[..., T], *args: Value) -> T:
    try:
        return parse(*args)
    except (QuantityError, versions.VersionError) as error:
        raise CelError(str(error)) from error


def _is(parse: Callable[..., Value], *args: Value) -> bool:
    try:
        parse(*args)
    except (CelError, QuantityError, versions.VersionError):
        return False
    return True


def quantity(text: str) -> Quantity:
    """`quantity(text)`."""
    return _or_error(parse, text)


def _minus(a: Quantity) -> Quantity:
    return Quantity(-a.unscaled, a.scale, a.format, a.big)


def _is_integer(value: Quantity) -> bool:
    # parity: amounts of arbitrary precision, and those with a fraction of a unit, have none (quantity.go:AsInt64)
    return not value.big and value.scale >= 0 and MIN_INT <= value.unscaled * 10**value.scale <= MAX_INT


def _as_integer(value: Quantity) -> int:
    if not _is_integer(value):
        raise CelError("cannot convert value to integer")
    return value.unscaled * int(10**value.scale)


def _sign(value: Quantity) -> int:
    return (value.unscaled > 0) - (value.unscaled < 0)


def _version(text: str, normalize: bool = False) -> Semver:
    return versions.normalize_semver(text) if normalize else versions.parse_semver(text)


def ip_address(text: str) -> Address:
    """`ip(text)`."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise CelError(
            f'IP Address "{text}" parse error during conversion from string: ParseAddr("{text}"): unable to parse IP'
        ) from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id is not None:
            raise CelError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def cidr(text: str) -> Cidr:
    """`cidr(text)`."""
    host, slash, bits = text.partition("/")
    try:
        network = ipaddress.ip_network(text, strict=False) if slash and bits.isdigit() else None
    except ValueError:
        network = None
    if network is None:
        raise CelError(
            "network address parse error during conversion from string: "
            f'netip.ParsePrefix("{text}"): no valid address and prefix length'
        )
    return Cidr(ip_address(host), network.prefixlen)


def _network(value: Cidr) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(f"{value.address}/{value.prefix}", strict=False)


def _contains_ip(net: Cidr, address: Address | str) -> bool:
    return (ip_address(address) if isinstance(address, str) else address) in _network(net)


def _contains_cidr(net: Cidr, other: Cidr | str) -> bool:
    inner = _network(cidr(other) if isinstance(other, str) else other)
    outer = _network(net)
    return inner.version == outer.version and outer.prefixlen <= inner.prefixlen and inner.network_address in outer


def _masked(net: Cidr) -> Cidr:
    return Cidr(_network(net).network_address, net.prefix)


def _is_sorted(items: list[Value]) -> bool:
    return all(compare_values(a, b) <= 0 for a, b in itertools.pairwise(items))


def _pick(sign: int, name: str) -> Function:
    def pick(items: list[Value]) -> Value:
        if not items:
            raise CelError(f"{name} called on empty list")
        return functools.reduce(lambda a, b: b if compare_values(b, a) == sign else a, items)

    return pick


def _index(items: list[Value], wanted: Value) -> int:
    return next((i for i, item in enumerate(items) if equal(item, wanted)), -1)


def _last_index(items: list[Value], wanted: Value) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], wanted)), -1)


def _list_overloads() -> Iterable[Overload]:
    for kind in COMPARABLE:
        listed = f"list({kind})"
        yield Overload("isSorted", f"list_{kind}_is_sorted_bool", (listed,), "bool", _is_sorted)
        yield Overload("max", f"list_{kind}_max_{kind}", (listed,), kind, _pick(1, "max"))
        yield Overload("min", f"list_{kind}_min_{kind}", (listed,), kind, _pick(-1, "min"))
    for kind in SUMMABLE:
        total = functools.partial(functools.reduce, add_values)
        zero = ZEROS[kind]
        yield Overload(
            "sum", f"list_{kind}_sum_{kind}", (f"list({kind})",), kind, lambda items, t=total, z=zero: t(items, z)
        )
    yield Overload("indexOf", "list_a_index_of_int", ("list(dyn)", "dyn"), "int", _index)
    yield Overload("lastIndexOf", "list_a_last_index_of_int", ("list(dyn)", "dyn"), "int", _last_index)


def _quantity_overloads() -> Iterable[Overload]:
    both = (QUANTITY, QUANTITY)
    yield Overload("quantity", "string_to_quantity", ("string",), QUANTITY, quantity, member=False)
    yield Overload("isQuantity", "is_quantity_string", ("string",), "bool", lambda t: _is(parse, t), member=False)
    yield Overload("sign", "quantity_sign", (QUANTITY,), "int", _sign, member=False)
    yield Overload("isGreaterThan", "quantity_is_greater_than", both, "bool", lambda a, b: compare(a, b) > 0)
    yield Overload("isLessThan", "quantity_is_less_than", both, "bool", lambda a, b: compare(a, b) < 0)
    yield Overload("compareTo", "quantity_compare_to", both, "int", compare)
    yield Overload("asApproximateFloat", "quantity_get_float", (QUANTITY,), "double", lambda q: nanos(q) / 10**9)
    yield Overload("asInteger", "quantity_get_int", (QUANTITY,), "int", _as_integer)
    yield Overload("isInteger", "quantity_is_integer", (QUANTITY,), "bool", _is_integer)
    yield Overload("add", "quantity_add", both, QUANTITY, add)
    yield Overload("add", "quantity_add_int", (QUANTITY, "int"), QUANTITY, lambda a, b: add(a, of(b)))
    yield Overload("sub", "quantity_sub", both, QUANTITY, lambda a, b: add(a, _minus(b)))
    yield Overload("sub", "quantity_sub_int", (QUANTITY, "int"), QUANTITY, lambda a, b: add(a, of(-b)))


def _semver_overloads() -> Iterable[Overload]:
    both, text, texts = (SEMVER, SEMVER), ("string",), ("string", "bool")
    yield Overload("semver", "string_to_semver", text, SEMVER, lambda t: _or_error(_version, t), member=False)
    yield Overload(
        "semver", "string_bool_to_semver", texts, SEMVER, lambda t, n: _or_error(_version, t, n), member=False
    )
    yield Overload("isSemver", "is_semver_string", text, "bool", lambda t: _is(_version, t), member=False)
    yield Overload("isSemver", "is_semver_string_bool", texts, "bool", lambda t, n: _is(_version, t, n), member=False)
    yield Overload("isGreaterThan", "semver_is_greater_than", both, "bool", lambda a, b: a.compare(b) > 0)
    yield Overload("isLessThan", "semver_is_less_than", both, "bool", lambda a, b: a.compare(b) < 0)
    yield Overload("compareTo", "semver_compare_to", both, "int", lambda a, b: a.compare(b))
    yield Overload("major", "semver_major", (SEMVER,), "int", lambda v: v.major)
    yield Overload("minor", "semver_minor", (SEMVER,), "int", lambda v: v.minor)
    yield Overload("patch", "semver_patch", (SEMVER,), "int", lambda v: v.patch)


def _address_overloads() -> Iterable[Overload]:
    one, text = (IP,), ("string",)
    yield Overload("ip", "string_to_ip", text, IP, ip_address, member=False)
    yield Overload("isIP", "is_ip", text, "bool", lambda t: _is(ip_address, t), member=False)
    yield Overload("ip.isCanonical", "ip_is_canonical", text, "bool", lambda t: str(ip_address(t)) == t, member=False)
    yield Overload("family", "ip_family", one, "int", lambda a: a.version)
    yield Overload("isUnspecified", "ip_is_unspecified", one, "bool", lambda a: a.is_unspecified)
    yield Overload("isLoopback", "ip_is_loopback", one, "bool", lambda a: a.is_loopback)
    yield Overload("isLinkLocalMulticast", "ip_is_link_local_multicast", one, "bool", _is_link_local_multicast)
    yield Overload("isLinkLocalUnicast", "ip_is_link_local_unicast", one, "bool", lambda a: a.is_link_local)
    yield Overload("isGlobalUnicast", "ip_is_global_unicast", one, "bool", _is_global_unicast)
    yield Overload("cidr", "string_to_cidr", text, CIDR, cidr, member=False)
    yield Overload("isCIDR", "is_cidr", text, "bool", lambda t: _is(cidr, t), member=False)
    yield Overload("containsIP", "cidr_contains_ip_string", (CIDR, "string"), "bool", _contains_ip)
    yield Overload("containsIP", "cidr_contains_ip_ip", (CIDR, IP), "bool", _contains_ip)
    yield Overload("containsCIDR", "cidr_contains_cidr_string", (CIDR, "string"), "bool", _contains_cidr)
    yield Overload("containsCIDR", "cidr_contains_cidr", (CIDR, CIDR), "bool", _contains_cidr)
    yield Overload("ip", "cidr_ip", (CIDR,), IP, lambda c: c.address)
    yield Overload("prefixLength", "cidr_prefix_length", (CIDR,), "int", lambda c: c.prefix)
    yield Overload("masked", "cidr_masked", (CIDR,), CIDR, _masked)


def _is_link_local_multicast(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv4Address):
        return address in ipaddress.ip_network("224.0.0.0/24")
    return address.is_multicast and address.packed[1] & 0x0F == 0x02


def _is_global_unicast(address: Address) -> bool:
    broadcast = ipaddress.ip_address("255.255.255.255")
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == broadcast
    )


KUBERNETES: Final[tuple[Overload, ...]] = (
    *_quantity_overloads(),
    *_semver_overloads(),
    *_address_overloads(),
    *_list_overloads(),
)
