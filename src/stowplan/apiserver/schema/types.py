"""The vocabulary of the schema: what a field holds, and what an object type consists of."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal


class Shape(IntEnum):
    """What a value is on the wire."""

    STRING = 0
    INTEGER = 1
    NUMBER = 2
    BOOLEAN = 3
    QUANTITY = 4
    TIME = 5
    MICROTIME = 6
    INT_OR_STRING = 7
    FREE = 8
    LIST = 9
    MAP = 10
    OBJECT = 11


ListType = Literal["atomic", "set", "map"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListRule:
    """How two versions of a list are merged, by patches (`patch_key`) and by server-side apply (`keys`)."""

    type: ListType = "atomic"
    keys: tuple[str, ...] = ()
    patch_key: str = ""
    merge: bool = False
    retain_keys: bool = False


ATOMIC = ListRule()


@dataclass(slots=True, eq=False)
class TypeRef:
    """What a field holds; `item` for lists and maps, `target` for objects (resolved when first met)."""

    shape: Shape
    item: "TypeRef | None" = None
    target: "ObjectType | None" = None


@dataclass(slots=True, eq=False, kw_only=True)
class Field:
    """One member of an object type."""

    name: str
    type: TypeRef
    required: bool
    list_rule: ListRule = ATOMIC
    atomic_map: bool = False
    retain_keys: bool = False
    replace: bool = False


@dataclass(slots=True, eq=False, kw_only=True)
class ObjectType:
    """One structured type; `name` is its address in OpenAPI documents."""

    name: str
    short: str
    module: str
    fields: dict[str, Field] = field(default_factory=dict)
    atomic: bool = False
    preserve_unknown: bool = False
