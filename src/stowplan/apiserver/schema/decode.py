"""Checks an object against its type: wrong shapes are refused, unknown members dropped and named.

The walk changes nothing in what it is given: it returns a new object with the nulls and empty lists left out.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Never, final

from stowplan.apiserver.quantities import BadQuantityError, canonical
from stowplan.apiserver.schema.types import ObjectType, Shape, TypeRef

MAX_DEPTH = 200
"""Deeper objects are refused: JSON allows them, nobody means them."""

MAX_UNKNOWN = 100
"""So many unknown fields are named at most."""

EMPTY_IS_ABSENT = frozenset(
    {
        "nodeName", "nominatedNodeName", "namespace", "name", "generateName", "uid", "resourceVersion", "selfLink",
        "clusterIP", "value", "priorityClassName", "message", "reason", "unschedulable", "paused", "hostNetwork",
        "hostPID", "hostIPC", "schedulerName", "tty", "stdin", "stdinOnce", "subPath",
    }
)  # fmt: skip
"""Members whose empty text or `false` is the same as leaving them out."""

GO_TYPE = {
    Shape.STRING: "string",
    Shape.INTEGER: "int32",
    Shape.NUMBER: "float64",
    Shape.BOOLEAN: "bool",
    Shape.QUANTITY: "resource.Quantity",
    Shape.TIME: "v1.Time",
    Shape.MICROTIME: "v1.MicroTime",
    Shape.INT_OR_STRING: "intstr.IntOrString",
}

SECOND_FORM = "2006-01-02T15:04:05Z07:00"
"""How times are written, as it is said to those who write them otherwise."""

SECONDS = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", re.ASCII)
INSTANT = re.compile(r"^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$", re.ASCII)


class DecodeError(ValueError):
    """Raised when a value has a shape that its field cannot hold."""


@dataclass(slots=True)
class Decoded:
    """The object as the API holds it, and the members nobody knows."""

    value: dict[str, Any]
    unknown: list[str] = field(default_factory=list)


def decode(kind: ObjectType, value: dict[str, Any]) -> Decoded:
    """Check and clean one object."""
    walk = Walk()
    cleaned = walk.object(kind, value)
    return Decoded(cleaned, walk.unknown)


def decode_ref(ref: TypeRef, value: Any) -> Any:
    """Check and clean one value of a field."""
    return Walk().value(ref, value, "", "")


@final
class Walk:
    """One pass over one object."""

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._path: list[str] = []

    def object(self, kind: ObjectType, value: dict[str, Any]) -> dict[str, Any]:
        """Clean the members of one object."""
        if len(self._path) > MAX_DEPTH:
            raise DecodeError("exceeded max depth")
        fields = kind.fields
        cleaned: dict[str, Any] = {}
        for name, member in value.items():
            known = fields.get(name)
            if known is None:
                if len(self.unknown) < MAX_UNKNOWN:
                    self.unknown.append(".".join([*self._path, name]).replace(".[", "["))
                continue
            if member is None:
                continue
            ref = known.type
            # perf: plain texts are most of an object; they skip the general case
            if ref.shape is Shape.STRING and type(member) is str:
                if member or name not in EMPTY_IS_ABSENT:
                    cleaned[name] = member
                continue
            kept = self.value(ref, member, name, kind.short)
            if (
                not kept
                and not known.required
                and (ref.shape in (Shape.LIST, Shape.MAP) or (kept is False and name in EMPTY_IS_ABSENT))
            ):
                continue
            cleaned[name] = kept
        return cleaned

    def value(self, ref: TypeRef, value: Any, name: str, owner: str) -> Any:
        """Clean one value; `name` and `owner` say where it stands."""
        shape = ref.shape
        if shape is Shape.OBJECT:
            if type(value) is not dict:
                self._refuse(value, owner, name, ref)
            assert ref.target is not None
            self._path.append(name)
            cleaned = self.object(ref.target, value)
            self._path.pop()
            return cleaned
        if shape is Shape.LIST:
            return self._list(ref, value, name, owner)
        if shape is Shape.MAP:
            return self._map(ref, value, name, owner)
        if shape is Shape.STRING:
            ok = type(value) is str
        elif shape is Shape.INTEGER:
            if type(value) is float and value.is_integer() and abs(value) < 2**63:
                return int(value)
            ok = type(value) is int and -(2**63) <= value < 2**63
        elif shape is Shape.BOOLEAN:
            ok = type(value) is bool
        elif shape is Shape.NUMBER:
            ok = type(value) in (int, float)
        elif shape is Shape.INT_OR_STRING:
            ok = type(value) in (int, str)
        elif shape is Shape.FREE:
            ok = True
        else:
            return self._text(shape, value, name, owner, ref)
        if not ok:
            self._refuse(value, owner, name, ref)
        return value

    def _list(self, ref: TypeRef, value: Any, name: str, owner: str) -> list[Any]:
        if type(value) is not list:
            self._refuse(value, owner, name, ref)
        item = ref.item
        assert item is not None
        if item.shape is Shape.STRING:
            for member in value:
                if type(member) is not str:
                    self._refuse("" if member is None else member, owner, name, item)
            return list(value)
        cleaned = []
        self._path.append(name)
        for index, member in enumerate(value):
            if member is None:
                self._path.pop()
                raise DecodeError(f"{'.'.join([*self._path, name])}[{index}]: null is not allowed in a list")
            cleaned.append(self.value(item, member, f"[{index}]", owner))
        self._path.pop()
        return cleaned

    def _map(self, ref: TypeRef, value: Any, name: str, owner: str) -> dict[str, Any]:
        if type(value) is not dict:
            self._refuse(value, owner, name, ref)
        item = ref.item
        assert item is not None
        if item.shape is Shape.STRING:
            cleaned = {}
            for key, member in value.items():
                if type(member) is str:
                    cleaned[key] = member
                elif member is None:
                    # parity: Go reads a null text in a map as an empty one
                    cleaned[key] = ""
                else:
                    self._refuse(member, owner, name, item)
            return cleaned
        self._path.append(name)
        cleaned = {key: self.value(item, member, key, owner) for key, member in value.items() if member is not None}
        self._path.pop()
        return cleaned

    def _text(self, shape: Shape, value: Any, name: str, owner: str, ref: TypeRef) -> str:
        if shape is Shape.QUANTITY:
            if type(value) in (int, float):
                value = str(value)
            if type(value) is not str:
                self._refuse(value, owner, name, ref)
            try:
                return canonical(value)
            except BadQuantityError as bad:
                raise DecodeError(str(bad)) from None
        if type(value) is not str:
            self._refuse(value, owner, name, ref)
        if shape is Shape.TIME and SECONDS.match(value):
            _instant(value)
            return str(value)
        moment = _instant(value, "2006-01-02T15:04:05.000000Z07:00" if shape is Shape.MICROTIME else SECOND_FORM)
        if shape is Shape.MICROTIME:
            return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    def _refuse(self, value: Any, owner: str, name: str, ref: TypeRef) -> Never:
        where = ".".join(part for part in [*self._path, name] if not part.startswith("["))
        raise DecodeError(
            f"json: cannot unmarshal {_json_name(value)} into Go struct field {owner}.{where} of type {_go_type(ref)}"
        )


def _instant(text: str, form: str = SECOND_FORM) -> datetime:
    match = INSTANT.match(text)
    if match is None:
        raise DecodeError(f'parsing time "{text[:64]}" as "{form}": cannot parse "{text[:64]}" as "2006"')
    day, clock, fraction, zone = match.groups()
    zone = "+00:00" if zone == "Z" else zone
    try:
        return datetime.fromisoformat(f"{day}T{clock}.{(fraction or '0')[:6].ljust(6, '0')}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        raise DecodeError(f'parsing time "{text[:64]}": out of range') from None


def _json_name(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _go_type(ref: TypeRef) -> str:
    if ref.shape is Shape.LIST:
        return "[]" + (_go_type(ref.item) if ref.item else "interface {}")
    if ref.shape is Shape.MAP:
        return "map[string]" + (_go_type(ref.item) if ref.item else "interface {}")
    if ref.shape is Shape.OBJECT and ref.target is not None:
        return f"{ref.target.module.rpartition('_')[2]}.{ref.target.short}"
    return GO_TYPE.get(ref.shape, "interface {}")
