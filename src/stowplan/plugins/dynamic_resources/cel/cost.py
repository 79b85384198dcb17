"""What a call costs, in the units by which the API server bounds selectors.

Upstream: vendor/github.com/google/cel-go/interpreter/runtimecost.go, ext/lists.go, ext/sets.go and
staging/src/k8s.io/apiserver/pkg/cel/library/cost.go (v1.36.4).
"""

import math
from collections.abc import Sequence
from typing import Final

from stowplan.plugins.dynamic_resources.cel.values import CIDR, IP, QUANTITY, SEMVER, Value, size_of, type_name

LIMIT: Final = 1_000_000
LIST_COST: Final = 10
MAP_COST: Final = 30
TRAVERSAL: Final = 0.1
REGEX: Final = 0.25
SCALARS: Final = frozenset({QUANTITY, SEMVER, IP, CIDR})
WHOLE_LIST: Final = frozenset({"isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"})
ONE_PASS: Final = frozenset(
    {
        "lowerAscii", "upperAscii", "substring", "trim", "cidr", "isIP", "isCIDR", "ip",
        "quantity", "isQuantity", "semver", "isSemver", "startsWith", "endsWith", "bytes", "strings.quote",
    }
)  # fmt: skip
TWO_PASSES: Final = frozenset({"replace", "split", "ip.isCanonical"})
ORDERINGS: Final = frozenset({"_<_", "_<=_", "_>_", "_>=_"})


def _pass(units: float) -> int:
    return math.ceil(units * TRAVERSAL)


def call_cost(function: str, args: Sequence[Value], result: Value) -> int:
    """Return the cost of a call that gave the result."""
    if function in WHOLE_LIST:
        return _traversal(args[0])
    if function in ONE_PASS:
        # the address of a network and the bytes of bytes are there already
        return 1 if type_name(args[0]) not in ("string", "bytes") else _pass(size_of(args[0]))
    if function in TWO_PASSES:
        return _pass(size_of(args[0]) * 2)
    match function:
        case "join":
            return _pass(size_of(result) * 2)
        case "matches" | "find" | "findAll":
            return _pass(1 + size_of(args[0])) * math.ceil(size_of(args[1]) * REGEX)
        case "contains":
            return _pass(size_of(args[0])) * _pass(size_of(args[1]))
        case "_==_" | "_!=_":
            return 1 if type_name(args[0]) in SCALARS else _pass(min(size_of(args[0]), size_of(args[1])))
        case "@in":
            return size_of(args[1]) if isinstance(args[1], list) else 1
        case "_+_" if isinstance(args[0], str | bytes):
            return _pass(size_of(args[0]) + size_of(args[1]))
        case "string" if isinstance(args[0], bytes):
            return _pass(size_of(args[0]))
        case _ if function in ORDERINGS and isinstance(args[0], str | bytes):
            return _pass(min(size_of(args[0]), size_of(args[1])))
    return _collection_cost(function, args, result)


def _traversal(value: Value) -> int:
    if isinstance(value, str | bytes):
        return int(len(value) * TRAVERSAL)
    return sum(_traversal(item) for item in value) if isinstance(value, list) else 1


def _collection_cost(function: str, args: Sequence[Value], result: Value) -> int:
    match function:
        case "slice" | "reverse" | "lists.range":
            return 1 + LIST_COST + size_of(result)
        case "flatten":
            return 1 + LIST_COST + size_of(args[0]) * (args[1] if len(args) == 2 else 1)
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            return 1 + LIST_COST + _self_compare(args[-1])
        case "sets.contains" | "sets.intersects":
            return size_of(args[0]) * size_of(args[1]) + 1
        case "sets.equivalent":
            return 2 * size_of(args[0]) * size_of(args[1]) + 1
        case "containsIP" | "containsCIDR":
            extra = _pass(size_of(args[1])) if isinstance(args[1], str) else 0
            around = _pass(size_of(args[0])) + 1 if function == "containsCIDR" else 0
            return _pass(size_of(args[0]) * 2) + around + extra
        case _:
            return 1


def _self_compare(items: list[Value]) -> int:
    factor = 2 + TRAVERSAL if items and isinstance(items[0], str | bytes) else 2
    return int(len(items) ** 2 * factor)
