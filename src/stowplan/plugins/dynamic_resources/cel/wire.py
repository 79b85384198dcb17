"""The checked expression as the CEL package serialises it, read into plain records.

The format is cel.expr.CheckedExpr of the CEL specification (syntax.proto, checked.proto).
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Fields = dict[int, list[Any]]

PRIMITIVES = {1: "bool", 2: "int", 3: "uint", 4: "double", 5: "string", 6: "bytes"}
WELL_KNOWN = {1: "google.protobuf.Any", 2: "google.protobuf.Timestamp", 3: "google.protobuf.Duration"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node of the syntax tree."""

    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Const(Node):
    """A literal; an unsigned integer is marked as such."""

    value: Any
    unsigned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ident(Node):
    """A variable or a type name."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Select(Node):
    """A field of a value, or the question whether it has it."""

    operand: Node
    field: str
    test_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Node):
    """A call; the target of a member function is its first argument."""

    function: str
    args: tuple[Node, ...]
    member: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLiteral(Node):
    """A list; some elements may be optional."""

    elements: tuple[Node, ...]
    optional: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class MapEntry:
    """One entry of a map literal."""

    key: Node
    value: Node
    optional: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MapLiteral(Node):
    """A map."""

    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLiteral(Node):
    """A message of a named type."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Comprehension(Node):
    """What the macros over lists and maps expand to."""

    iter_var: str
    iter_var2: str
    iter_range: Node
    accu_var: str
    accu_init: Node
    condition: Node
    step: Node
    result: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedExpression:
    """A syntax tree with what the checker found out about it."""

    root: Node
    names: dict[int, str]
    types: dict[int, str]
    positions: dict[int, int]


def fields_of(data: bytes) -> Fields:
    """Return the fields of a protobuf message by number, in the order in which they stand."""
    fields: Fields = {}
    for number, value in _read(data):
        fields.setdefault(number, []).append(value)
    return fields


def _read(data: bytes) -> Iterator[tuple[int, Any]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        match tag & 7:
            case 0:
                value: Any
                value, at = _varint(data, at)
            case 1:
                value, at = data[at : at + 8], at + 8
            case 2:
                size, at = _varint(data, at)
                value, at = data[at : at + size], at + size
            case wire_type:
                raise AssertionError(f"wire type {wire_type} in a checked expression")
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def read_checked(serialised: bytes) -> CheckedExpression:
    """Read a serialised checked expression."""
    checked = fields_of(fields_of(serialised)[2][0])
    source = fields_of(checked[5][0])
    return CheckedExpression(
        root=_node(checked[4][0]),
        names={key: value for key, ref in _entries(checked, 2) if (value := _text(fields_of(ref), 1))},
        types={key: type_text(value) for key, value in _entries(checked, 3)},
        positions={
            pair[1][0]: _signed(pair.get(2, [0])[0]) for pair in (fields_of(entry) for entry in source.get(4, ()))
        },
    )


def _entries(fields: Fields, number: int) -> Iterator[tuple[int, bytes]]:
    for entry in fields.get(number, ()):
        pair = fields_of(entry)
        yield pair[1][0], pair.get(2, [b""])[0]


def type_text(data: bytes) -> str:
    """Return a type as CEL writes it."""
    fields = fields_of(data)
    if 3 in fields:
        return PRIMITIVES[fields[3][0]]
    if 4 in fields:
        return f"wrapper({PRIMITIVES[fields[4][0]]})"
    if 5 in fields:
        return WELL_KNOWN[fields[5][0]]
    if 6 in fields:
        return f"list({_inner(fields[6][0], 1)})"
    if 7 in fields:
        return f"map({_inner(fields[7][0], 1)}, {_inner(fields[7][0], 2)})"
    if 9 in fields:
        return str(fields[9][0], "utf-8")
    if 11 in fields:
        return f"type({type_text(fields[11][0])})"
    if 14 in fields:
        abstract = fields_of(fields[14][0])
        parameters = ", ".join(type_text(parameter) for parameter in abstract.get(2, ()))
        return _text(abstract, 1) + (f"({parameters})" if parameters else "")
    return "null_type" if 2 in fields else "dyn"


def _inner(data: bytes, number: int) -> str:
    return type_text(fields_of(data).get(number, [b""])[0])


def _text(fields: Fields, number: int) -> str:
    return str(fields.get(number, [b""])[0], "utf-8")


def _node(data: bytes) -> Node:
    fields = fields_of(data)
    at = fields.get(2, [0])[0]
    if 3 in fields:
        return _const(at, fields_of(fields[3][0]))
    if 4 in fields:
        return Ident(id=at, name=_text(fields_of(fields[4][0]), 1))
    if 5 in fields:
        select = fields_of(fields[5][0])
        return Select(id=at, operand=_node(select[1][0]), field=_text(select, 2), test_only=bool(select.get(3, [0])[0]))
    if 6 in fields:
        call = fields_of(fields[6][0])
        args = tuple(_node(arg) for arg in (*call.get(1, ()), *call.get(3, ())))
        return Call(id=at, function=_text(call, 2), args=args, member=1 in call)
    if 7 in fields:
        return _list(at, fields_of(fields[7][0]))
    if 8 in fields:
        return _struct(at, fields_of(fields[8][0]))
    return _comprehension(at, fields_of(fields[9][0]))


def _const(at: int, fields: Fields) -> Const:
    number, values = next(iter(fields.items()))
    value = values[0]
    match number:
        case 1:
            return Const(id=at, value=None)
        case 2:
            return Const(id=at, value=bool(value))
        case 3:
            return Const(id=at, value=_signed(value))
        case 4:
            return Const(id=at, value=value, unsigned=True)
        case 5:
            return Const(id=at, value=struct.unpack("<d", value)[0])
        case 6:
            return Const(id=at, value=str(value, "utf-8"))
        case _:
            return Const(id=at, value=bytes(value))


def _list(at: int, fields: Fields) -> ListLiteral:
    optional: set[int] = set()
    for packed in fields.get(2, ()):
        if isinstance(packed, int):
            optional.add(packed)
            continue
        position = 0
        while position < len(packed):
            index, position = _varint(packed, position)
            optional.add(index)
    return ListLiteral(
        id=at, elements=tuple(_node(element) for element in fields.get(1, ())), optional=frozenset(optional)
    )


def _struct(at: int, fields: Fields) -> Node:
    if name := _text(fields, 1):
        return MessageLiteral(id=at, name=name)
    entries = (fields_of(entry) for entry in fields.get(2, ()))
    return MapLiteral(
        id=at,
        entries=tuple(
            MapEntry(key=_node(entry[3][0]), value=_node(entry[4][0]), optional=bool(entry.get(5, [0])[0]))
            for entry in entries
        ),
    )


def _comprehension(at: int, fields: Fields) -> Comprehension:
    return Comprehension(
        id=at,
        iter_var=_text(fields, 1),
        iter_var2=_text(fields, 8),
        iter_range=_node(fields[2][0]),
        accu_var=_text(fields, 3),
        accu_init=_node(fields[4][0]),
        condition=_node(fields[5][0]),
        step=_node(fields[6][0]),
        result=_node(fields[7][0]),
    )
