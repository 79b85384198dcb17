"""From the binary form of an object to its JSON form, by the type of the object."""

import base64
import struct
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from stowplan.apiserver.protobuf.numbers import BYTES, NUMBERS, ZERO_COUNTS
from stowplan.apiserver.protobuf.wire import LENGTH, WireError, fields, signed
from stowplan.apiserver.schema.types import Field, ObjectType, Shape, TypeRef
from stowplan.apiserver.storage.entry import decode_json

Json = dict[str, Any]

MAGIC = b"k8s\0"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_DEPTH = 60
INLINE = "@"


class UnknownTypeError(ValueError):
    """Raised when the wire form of a type is not known here."""


def read_envelope(body: bytes) -> tuple[str, str, memoryview]:
    """apiVersion, kind and the encoded object."""
    if not body.startswith(MAGIC):
        raise WireError("the magic prefix is missing")
    api_version = kind = ""
    raw = memoryview(b"")
    for number, wire, value in fields(memoryview(body)[len(MAGIC) :]):
        if number == 1 and wire == LENGTH:
            for inner, _, text in fields(_bytes(value)):
                if inner == 1:
                    api_version = _text(text)
                elif inner == 2:
                    kind = _text(text)
        elif number == 2 and wire == LENGTH:
            raw = _bytes(value)
    return api_version, kind, raw


def read_message(kind: ObjectType, data: memoryview, depth: int = 0) -> Json:
    """One object."""
    if depth > MAX_DEPTH:
        raise WireError("exceeded max depth")
    made: Json = {}
    if not data:
        return made
    room = kind.module.partition("_")[0]
    _members(made, kind, _names(room, kind.short), data, depth)
    return made


@lru_cache(maxsize=1024)
def _names(room: str, name: str) -> tuple[str, ...]:
    known = NUMBERS.get(room, {}).get(name)
    if known is None:
        raise UnknownTypeError(f"{room} {name}: the protobuf form of this type is not read here, send JSON")
    return ("", *known.split())


def _members(made: Json, kind: ObjectType, names: tuple[str, ...], data: memoryview, depth: int) -> None:
    room = kind.module.partition("_")[0]
    for number, wire, value in fields(data):
        name = names[number] if number < len(names) else "-"
        if name.startswith(INLINE):
            _members(made, kind, _names(room, name[1:]), _bytes(value), depth + 1)
            continue
        known = kind.fields.get(name)
        if known is None:
            continue
        _member(made, f"{room}.{kind.short}", known, (wire, value), depth)


def _member(made: Json, owner: str, known: Field, field: tuple[int, int | memoryview], depth: int) -> None:
    name, ref, (wire, value) = known.name, known.type, field
    path = f"{owner}.{name}"
    if ref.shape is Shape.LIST:
        assert ref.item is not None
        listed = made.setdefault(name, [])
        if ref.item.shape is Shape.INTEGER and wire == LENGTH:
            raise WireError(f"{path}: packed numbers are not written by Kubernetes clients")
        listed.append(_value(ref.item, value, depth))
    elif ref.shape is Shape.MAP:
        assert ref.item is not None
        key, member = _entry(ref.item, _bytes(value), depth, as_bytes=path in BYTES)
        made.setdefault(name, {})[key] = member
    else:
        found = _value(ref, value, depth)
        absent = found is None or (found in ("", 0, False) and not known.required and name not in ZERO_COUNTS)
        if not absent and not (found == "" and name == "type" and not known.required):
            made[name] = found


def _entry(item: TypeRef, data: memoryview, depth: int, *, as_bytes: bool) -> tuple[str, Any]:
    key: str = ""
    found: Any = "" if item.shape is Shape.STRING else None
    for number, _, value in fields(data):
        if number == 1:
            key = _text(value)
        elif number == 2 and as_bytes:
            found = base64.b64encode(_bytes(value)).decode()
        elif number == 2 and item.shape is Shape.LIST:
            # a list as the value of a map has a message of its own around it
            found = [_text(text) for inner, _, text in fields(_bytes(value)) if inner == 1]
        elif number == 2:
            found = _value(item, value, depth)
    if found is None:
        found = [] if item.shape is Shape.LIST else {} if item.shape is Shape.OBJECT else "0"
    return key, found


def _value(ref: TypeRef, value: int | memoryview, depth: int) -> Any:
    shape = ref.shape
    if shape is Shape.STRING:
        return _text(value)
    if shape is Shape.INTEGER:
        return signed(_number(value))
    if shape is Shape.BOOLEAN:
        return bool(_number(value))
    if shape is Shape.NUMBER:
        return struct.unpack("<d", _bytes(value))[0] if len(_bytes(value)) == 8 else None
    if shape is Shape.OBJECT:
        assert ref.target is not None
        return read_message(ref.target, _bytes(value), depth + 1)
    inner = {number: member for number, _, member in fields(_bytes(value))}
    if shape is Shape.QUANTITY:
        return _text(inner[1]) if 1 in inner else None
    if shape is Shape.INT_OR_STRING:
        return _text(inner[3]) if inner.get(1) else signed(_number(inner.get(2, 0)))
    if shape in (Shape.TIME, Shape.MICROTIME):
        return _moment(inner, micro=shape is Shape.MICROTIME)
    raw = bytes(_bytes(inner[1])) if 1 in inner else b""
    return decode_json(raw) if raw else None


def _moment(inner: dict[int, int | memoryview], *, micro: bool) -> str | None:
    if not inner:
        return None
    seconds, nanos = signed(_number(inner.get(1, 0))), signed(_number(inner.get(2, 0)))
    try:
        moment = EPOCH + timedelta(seconds=seconds, microseconds=nanos // 1000)
    except OverflowError:
        return None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def _number(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise WireError("a number was expected")
    return value


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise WireError("a message or text was expected")
    return value


def _text(value: int | memoryview) -> str:
    try:
        return bytes(_bytes(value)).decode()
    except UnicodeDecodeError:
        raise WireError("a text is not UTF-8") from None
