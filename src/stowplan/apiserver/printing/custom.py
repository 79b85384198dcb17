"""Tables of custom kinds: the columns that their definition names, read by simple JSON paths."""

import re
from collections.abc import Callable
from typing import Any

from stowplan.apiserver.printing.columns import AGE, NAME, Cells, Column, Json, Printer, age, name_of, since
from stowplan.apiserver.resources.types import Resource

STEP = re.compile(
    r"\.([A-Za-z0-9_-]+)|\.?\['((?:[^'\\]|\\.)+)'\]|\[(\d+|\*)\]|\[\?\(@\.([A-Za-z0-9_-]+)==[\"']([^\"']*)[\"']\)\]|\.((?:[^.\[\\]|\\.)+)"
)


def custom_printer(resource: Resource) -> Printer:
    """The printer of a custom kind."""
    custom = resource.custom
    if custom is None or not custom.columns:
        return Printer((NAME, AGE), lambda value, now: [name_of(value), age(value, now)])
    made: list[Column] = [NAME]
    readers: list[Callable[[Json, float], Any]] = []
    for found in custom.columns:
        kind = found.get("type", "string")
        made.append(
            Column(found.get("name", ""), found.get("priority", 0), kind, found.get("format", ""),
                   found.get("description", ""))
        )  # fmt: skip
        readers.append(_reader(found.get("jsonPath", ""), kind))

    def row(value: Json, now: float) -> Cells:
        return [name_of(value), *(reader(value, now) for reader in readers)]

    return Printer(tuple(made), row)


def _reader(path: str, kind: str) -> Callable[[Json, float], Any]:
    def read(value: Json, now: float) -> Any:
        found = follow(value, path)
        if not found:
            return None
        first = found[0]
        if kind == "date":
            return since(first if isinstance(first, str) else None, now)
        if kind == "string":
            return ",".join(_text(item) for item in found)
        if kind == "integer":
            return int(first) if isinstance(first, int | float) else None
        return first

    return read


def follow(value: Any, path: str) -> list[Any]:
    """All values that a JSON path leads to."""
    found = [value]
    position = 0
    while position < len(path):
        step = STEP.match(path, position)
        if step is None:
            return []
        position = step.end()
        found = [below for member in found for below in _below(member, step)]
    return [member for member in found if member is not None]


def _below(member: Any, step: re.Match[str]) -> list[Any]:
    plain, quoted, index, key, wanted, escaped = step.groups()
    name = plain or quoted or escaped
    if name is not None:
        name = re.sub(r"\\(.)", r"\1", name)
        return [member[name]] if isinstance(member, dict) and name in member else []
    if not isinstance(member, list):
        return []
    if key is not None:
        return [item for item in member if isinstance(item, dict) and str(item.get(key)) == wanted]
    if index == "*":
        return member
    return member[int(index) : int(index) + 1]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
