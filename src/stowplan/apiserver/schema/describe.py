"""Reads the descriptions that the model library carries in its docstrings."""

import importlib
import re
from dataclasses import dataclass

from stowplan.apiserver.schema.models import MODELS
from stowplan.apiserver.schema.types import ObjectType

FIELD = re.compile(r"^\* \*\*(?P<name>[^*]+)\*\* ``[^`]*`` - ?(?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Description:
    """What a type is, and what its fields are."""

    text: str
    fields: dict[str, str]


def describe(kind: ObjectType) -> Description:
    """The texts of one type; fields are named as on the wire."""
    model = getattr(importlib.import_module(f"{MODELS}.{kind.module}"), kind.short)
    wire_names = dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))
    head, _, tail = (model.__doc__ or "").partition("**parameters**")
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for raw in tail.splitlines():
        line = raw.strip()
        found = FIELD.match(line)
        if found:
            name = found["name"]
            lines = fields.setdefault(str(wire_names.get(name, name)), [])
            line = found["text"]
        lines.append(line)
    return Description(flow(head.splitlines()), {name: flow(text) for name, text in fields.items()})


def flow(lines: list[str]) -> str:
    """Join wrapped lines into paragraphs; an empty line stays an empty line."""
    paragraphs: list[str] = []
    current: list[str] = []
    for raw in lines:
        line = raw.strip()
        if line:
            current.append(line)
        elif current:
            paragraphs.append(" ".join(current))
            current = []
    if current:
        paragraphs.append(" ".join(current))
    return "\n\n".join(paragraphs)
