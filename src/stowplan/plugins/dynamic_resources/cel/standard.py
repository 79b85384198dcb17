"""The operators and functions of the language itself, over evaluated arguments.

Upstream: vendor/github.com/google/cel-go/common/stdlib and common/types (v1.36.4).
"""

import math
from collections.abc import Callable
from typing import Final

from stowplan.plugins.dynamic_resources.cel.values import (
    MAX_INT,
    MAX_UINT,
    MIN_INT,
    CelError,
    CelMap,
    TypeValue,
    Uint,
    Value,
    compare,
    equal,
    type_name,
)

Function = Callable[..., Value]
NO_OVERLOAD = "no such overload"
TYPES = ("bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint")


def _number(value: int, like: Value) -> Value:
    if type(like) is Uint:
        if not 0 <= value <= MAX_UINT:
            raise CelError("unsigned integer overflow")
        return Uint(value)
    if not MIN_INT <= value <= MAX_INT:
        raise CelError("integer overflow")
    return value


def _same(a: Value, b: Value, *kinds: type) -> bool:
    return type(a) is type(b) and type(a) in kinds


def add(a: Value, b: Value) -> Value:
    """`a + b` of numbers, strings, bytes and lists."""
    if _same(a, b, int, Uint):
        return _number(int(a) + int(b), a)
    if _same(a, b, float, str, bytes, list):
        return a + b
    raise CelError(NO_OVERLOAD)


def subtract(a: Value, b: Value) -> Value:
    """`a - b`."""
    if _same(a, b, int, Uint):
        return _number(int(a) - int(b), a)
    if _same(a, b, float):
        return a - b
    raise CelError(NO_OVERLOAD)


def multiply(a: Value, b: Value) -> Value:
    """`a * b`."""
    if _same(a, b, int, Uint):
        return _number(int(a) * int(b), a)
    if _same(a, b, float):
        return a * b
    raise CelError(NO_OVERLOAD)


def divide(a: Value, b: Value) -> Value:
    """`a / b`; integers are cut off towards zero."""
    if _same(a, b, float):
        if b == 0:
            return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
        return a / b
    if not _same(a, b, int, Uint):
        raise CelError(NO_OVERLOAD)
    if b == 0:
        raise CelError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    return _number(quotient if (a < 0) == (b < 0) else -quotient, a)


def modulo(a: Value, b: Value) -> Value:
    """`a % b`, with the sign of `a`."""
    if not _same(a, b, int, Uint):
        raise CelError(NO_OVERLOAD)
    if b == 0:
        raise CelError("modulus by zero")
    rest = abs(int(a)) % abs(int(b))
    return _number(-rest if a < 0 else rest, a)


def negate(a: Value) -> Value:
    """`-a`."""
    if type(a) is int:
        return _number(-a, a)
    if type(a) is float:
        return -a
    raise CelError(NO_OVERLOAD)


def invert(a: Value) -> Value:
    """`!a`."""
    if type(a) is not bool:
        raise CelError(NO_OVERLOAD)
    return not a


def contains(needle: Value, hay: Value) -> Value:
    """`needle in hay`."""
    if isinstance(hay, list):
        return _in_list(needle, hay)
    if isinstance(hay, CelMap):
        return needle in hay
    raise CelError(NO_OVERLOAD)


def _in_list(needle: Value, hay: list[Value]) -> bool:
    return any(
        (type_name(item) == type_name(needle) and equal(item, needle)) or _equal_numbers(item, needle) for item in hay
    )


def _equal_numbers(a: Value, b: Value) -> bool:
    return type(a) in (int, Uint, float) and type(b) in (int, Uint, float) and bool(a == b)


def size(value: Value) -> int:
    """`size(value)`."""
    if isinstance(value, str | bytes | list | CelMap):
        return len(value)
    raise CelError("no such overload: size")


def to_int(value: Value) -> int:
    """`int(value)`."""
    match value:
        case bool():
            raise CelError("type conversion error from 'bool' to 'int'")
        case int():
            if value > MAX_INT:
                raise CelError("integer overflow")
            return int(value)
        case float():
            if not -(2.0**63) < value < 2.0**63:
                raise CelError("integer overflow")
            return int(value)
        case str():
            return int(_parsed(value, int, "int"))
    raise CelError(f"type conversion error from '{type_name(value)}' to 'int'")


def to_uint(value: Value) -> Uint:
    """`uint(value)`."""
    match value:
        case bool():
            raise CelError("type conversion error from 'bool' to 'uint'")
        case int() | float():
            if not 0 <= value < 2**64:
                raise CelError("unsigned integer overflow")
            return Uint(int(value))
        case str():
            return Uint(_parsed(value, int, "uint"))
    raise CelError(f"type conversion error from '{type_name(value)}' to 'uint'")


def to_double(value: Value) -> float:
    """`double(value)`."""
    if type(value) in (int, Uint, float):
        return float(value)
    if isinstance(value, str):
        return float(_parsed(value, float, "double"))
    raise CelError(f"type conversion error from '{type_name(value)}' to 'double'")


def _parsed(text: str, kind: type[int] | type[float], name: str) -> float:
    try:
        parsed = kind(text) if text == text.strip() and "_" not in text else None
    except ValueError:
        parsed = None
    low, high = (0, MAX_UINT) if name == "uint" else (MIN_INT, MAX_INT)
    if parsed is None or (isinstance(parsed, int) and not low <= parsed <= high):
        raise CelError(f"type conversion error from 'string' to '{name}'")
    return parsed


def to_bool(value: Value) -> bool:
    """`bool(value)`."""
    if type(value) is bool:
        return value
    if value in ("true", "True", "TRUE", "t", "1"):
        return True
    if value in ("false", "False", "FALSE", "f", "0"):
        return False
    raise CelError(f"type conversion error from '{type_name(value)}' to 'bool'")


def to_string(value: Value) -> str:
    """`string(value)`."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return f"{value:g}" if value != int(value) else str(int(value))
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
    raise CelError(f"type conversion error from '{type_name(value)}' to 'string'")


def to_bytes(value: Value) -> bytes:
    """`bytes(value)`."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise CelError(f"type conversion error from '{type_name(value)}' to 'bytes'")


def _text(method: Callable[[str, str], bool]) -> Function:
    def on_strings(a: Value, b: Value) -> bool:
        if not _same(a, b, str):
            raise CelError(NO_OVERLOAD)
        return method(a, b)

    return on_strings


OPERATORS: Final[dict[str, Function]] = {
    "_+_": add,
    "_-_": subtract,
    "_*_": multiply,
    "_/_": divide,
    "_%_": modulo,
    "-_": negate,
    "!_": invert,
    "_==_": equal,
    "_!=_": lambda a, b: not equal(a, b),
    "_<_": lambda a, b: compare(a, b) < 0,
    "_<=_": lambda a, b: compare(a, b) <= 0,
    "_>_": lambda a, b: compare(a, b) > 0,
    "_>=_": lambda a, b: compare(a, b) >= 0,
    "@in": contains,
    "size": size,
    "startsWith": _text(str.startswith),
    "endsWith": _text(str.endswith),
    "contains": _text(str.__contains__),
    "type": lambda value: TypeValue(type_name(value)),
    "dyn": lambda value: value,
    "int": to_int,
    "uint": to_uint,
    "double": to_double,
    "bool": to_bool,
    "string": to_string,
    "bytes": to_bytes,
}
CONVERSIONS: Final = frozenset({"int", "uint", "double", "bool", "string", "bytes", "dyn", "type"})
