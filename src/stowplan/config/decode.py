"""Strict decoding of a tree by its shape: every unknown field is noted, the first wrong type ends it.

Upstream: vendor/sigs.k8s.io/json (v1.36.4), whose wording the errors keep.
"""

import base64
import binascii
import math
import re
import struct
from dataclasses import dataclass, field
from typing import Any, Final

from stowplan.api.gotext import quote
from stowplan.config.document import Entries, Number, Tree, kind_of
from stowplan.config.duration import parse_duration
from stowplan.config.errors import DecodeError
from stowplan.config.fields import child, index
from stowplan.config.schema import (
    Anything,
    Binary,
    Duration,
    Fields,
    Flag,
    Integer,
    Many,
    Real,
    Shape,
    Text,
    TextMap,
)

Values = dict[str, Any]

_DIGITS: Final = re.compile(r"-?[0-9]{1,20}")
_UNSET: Final = object()


def decode(tree: Tree, shape: Fields, root: str = "") -> tuple[Values, list[str]]:
    """The fields that are set, and the strict errors (unknown and repeated fields); DecodeError for a wrong type.

    `root` is the place of the tree in the file, for errors whose text does not say the field.
    """
    decoder = _Decoder(root)
    values = decoder.fields(tree, shape, _Place())
    if decoder.fault is not None:
        raise DecodeError(decoder.fault)
    return values, list(dict.fromkeys(decoder.strict))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value stands: its full path, and what Go's error texts say of it (struct, path without indices)."""

    path: str = ""
    owner: str = ""
    names: str = ""

    def field(self, owner: str, name: str) -> "_Place":
        return _Place(child(self.path, name), owner, child(self.names, name))

    def item(self, position: int) -> "_Place":
        return _Place(index(self.path, position), self.owner, self.names)


@dataclass(slots=True)
class _Decoder:
    """One pass over a tree."""

    root: str
    strict: list[str] = field(default_factory=list)
    fault: str | None = None

    def fields(self, tree: Tree, shape: Fields, place: _Place) -> Values:
        """The set fields of an object; null is an object with none set."""
        values: Values = {}
        if tree is None:
            return values
        if not isinstance(tree, Entries):
            self._mismatch(tree, shape, place)
            return values
        seen: set[str] = set()
        for name, member in tree.members:
            path = child(place.path, name)
            member_shape = shape.fields.get(name)
            if member_shape is None:
                self.strict.append(f"unknown field {quote(path)}")
                continue
            if name in seen:
                self.strict.append(f"duplicate field {quote(path)}")
            seen.add(name)
            value = self.value(member, member_shape, place.field(shape.name, name))
            if value is not _UNSET:
                values[name] = value
        return values

    def value(self, tree: Tree, shape: Shape, place: _Place) -> Any:
        """The value as Python has it, or _UNSET."""
        match shape:
            case Anything():
                return tree
            case Duration():
                return self._duration(tree, shape, place)
        if tree is None:
            return _UNSET
        match shape:
            case Fields():
                return self.fields(tree, shape, place)
            case Many():
                return self._items(tree, shape, place)
            case TextMap():
                return self._text_map(tree, shape, place)
            case Text() if isinstance(tree, str):
                return tree
            case Flag() if isinstance(tree, bool):
                return tree
            case Binary() if isinstance(tree, str):
                return self._binary(tree, place)
            case Integer() if isinstance(tree, Number):
                return self._integer(tree, shape, place)
            case Real() if isinstance(tree, Number):
                return self._real(tree, shape, place)
        self._mismatch(tree, shape, place)
        return _UNSET

    def _items(self, tree: Tree, shape: Many, place: _Place) -> Any:
        if not isinstance(tree, tuple):
            self._mismatch(tree, shape, place)
            return _UNSET
        items = []
        for position, member in enumerate(tree):
            # parity: a null element is there, with nothing set
            empty: Any = {} if isinstance(shape.item, Fields) else ""
            value = self.value(member, shape.item, place.item(position))
            items.append(empty if value is _UNSET else value)
        return tuple(items)

    def _text_map(self, tree: Tree, shape: TextMap, place: _Place) -> Any:
        if not isinstance(tree, Entries):
            self._mismatch(tree, shape, place)
            return _UNSET
        texts = {}
        for name, member in tree.members:
            value = self.value(member, Text(), place)
            texts[name] = "" if value is _UNSET else value
        return texts

    def _duration(self, tree: Tree, shape: Duration, place: _Place) -> Any:
        if tree is None and shape.nullable:
            return _UNSET
        text = "" if tree is None else tree
        if not isinstance(text, str):
            raise DecodeError(self._mismatch_text(kind_of(tree), shape, place))
        try:
            return parse_duration(text)
        except ValueError as error:
            raise DecodeError(self._located(str(error), place)) from error

    def _integer(self, tree: Number, shape: Integer, place: _Place) -> Any:
        limit = 1 << (shape.bits - 1)
        if _DIGITS.fullmatch(tree.text) and -limit <= int(tree.text) < limit:
            return int(tree.text)
        self._note(self._mismatch_text(f"number {tree.text}", shape, place))
        return _UNSET

    def _real(self, tree: Number, shape: Real, place: _Place) -> Any:
        value = float(tree.text)
        try:
            single = struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            single = math.inf
        if math.isinf(single):
            self._note(self._mismatch_text(f"number {tree.text}", shape, place))
            return _UNSET
        return single

    def _binary(self, text: str, place: _Place) -> Any:
        try:
            return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except binascii.Error:
            bad = next(
                (at for at, sign in enumerate(text) if not re.match(r"[A-Za-z0-9+/=]", sign)), len(text) // 4 * 4
            )
            self._note(self._located(f"illegal base64 data at input byte {bad}", place))
            return _UNSET

    def _mismatch(self, tree: Tree, shape: Shape, place: _Place) -> None:
        self._note(self._mismatch_text(kind_of(tree), shape, place))

    def _mismatch_text(self, got: str, shape: Shape, place: _Place) -> str:
        target = f"Go struct field {place.owner}.{place.names}" if place.owner else "Go value"
        return self._located(f"json: cannot unmarshal {got} into {target} of type {shape.go}", place)

    def _located(self, text: str, place: _Place) -> str:
        where = child(self.root, place.path)
        return f"{text} (at {where})" if where else text

    def _note(self, text: str) -> None:
        if self.fault is None:
            self.fault = text
