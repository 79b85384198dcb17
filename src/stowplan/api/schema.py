"""The shape of a record as data: how the codec finds nulls, quantities and the key of a bad map entry."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from msgspec import inspect

from stowplan.api.meta import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a value may hold: fields of a record, entries of a map, items of a list, or a plain value."""

    zero: Any = None
    fields: Mapping[str, "Shape"] | None = None
    entries: "Shape | None" = None
    items: "Shape | None" = None
    quantity: bool = False


@cache
def shape_of(record: type[Record]) -> Shape:
    """The shape of a record, made once."""
    return _shape(inspect.type_info(record))


def without_nulls(value: Any, shape: Shape) -> Any:
    """The document as Go reads it: a null field is absent, a null entry or item is the zero value of its type."""
    if shape.fields is not None and isinstance(value, Mapping):
        return {
            key: without_nulls(item, shape.fields[key]) if key in shape.fields else item
            for key, item in value.items()
            if item is not None
        }
    if shape.entries is not None and isinstance(value, Mapping):
        inner = shape.entries
        return {key: inner.zero if item is None else without_nulls(item, inner) for key, item in value.items()}
    if shape.items is not None and isinstance(value, list | tuple):
        inner = shape.items
        return [inner.zero if item is None else without_nulls(item, inner) for item in value]
    return value


def quantities(value: Any, shape: Shape, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every quantity of a document, with its path."""
    if shape.quantity and value is not None:
        yield path, value
    elif shape.fields is not None and isinstance(value, Mapping):
        for key, item in value.items():
            if key in shape.fields:
                yield from quantities(item, shape.fields[key], f"{path}.{key}" if path else key)
    elif shape.entries is not None and isinstance(value, Mapping):
        for key, item in value.items():
            yield from quantities(item, shape.entries, f"{path}[{key}]")
    elif shape.items is not None and isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from quantities(item, shape.items, f"{path}[{index}]")


def _shape(type_: inspect.Type) -> Shape:
    if isinstance(type_, inspect.StructType):
        return Shape(zero={}, fields={field.encode_name: _shape(field.type) for field in type_.fields})
    if isinstance(type_, inspect.DictType):
        return Shape(zero={}, entries=_shape(type_.value_type))
    if isinstance(type_, inspect.VarTupleType):
        return Shape(zero=[], items=_shape(type_.item_type))
    if isinstance(type_, inspect.UnionType):
        return _union(type_)
    if isinstance(type_, inspect.StrType):
        return Shape(zero="")
    if isinstance(type_, inspect.BoolType):
        return Shape(zero=False)
    if isinstance(type_, inspect.IntType):
        return Shape(zero=0)
    assert isinstance(type_, inspect.AnyType), f"records do not use {type_}"
    return Shape()


def _union(type_: inspect.UnionType) -> Shape:
    members = [member for member in type_.types if not isinstance(member, inspect.NoneType)]
    if any(isinstance(member, inspect.FloatType) for member in members):
        return Shape(zero=None if type_.includes_none else 0, quantity=True)
    shape = _shape(members[0])
    if not type_.includes_none:
        return shape
    return Shape(fields=shape.fields, entries=shape.entries, items=shape.items)
