"""Sets of fields: which parts of an object somebody set, and how managedFields writes them down.

A path is a tuple of steps: `f:name` into an object or map, `k:{...}` to an item of a keyed list, `v:...` to a member of
a set. Upstream: sigs.k8s.io/structured-merge-diff/fieldpath (vendored in v1.36.4).
"""

import json
from collections.abc import Iterable
from typing import Any

from stowplan.apiserver.schema.types import ATOMIC, Field, ListRule, ObjectType, Shape, TypeRef

Json = dict[str, Any]
Path = tuple[str, ...]
Leaves = dict[Path, Any]

ITEM = object()
"""The leaf value of an item of a keyed list: that it is there."""

IDENTITY = frozenset(
    {
        "name", "namespace", "uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink",
        "deletionTimestamp", "deletionGracePeriodSeconds", "generateName",
    }
)  # fmt: skip
"""Members of the metadata that belong to nobody."""

FREE = TypeRef(Shape.FREE)


def leaves(value: Json, kind: ObjectType) -> Leaves:
    """Every field of an object that somebody can own, with its value."""
    found: Leaves = {}
    for name, member in value.items():
        if name in ("apiVersion", "kind"):
            continue
        if name == "metadata" and isinstance(member, dict):
            member = {key: part for key, part in member.items() if key not in IDENTITY}  # noqa: PLW2901
            if not member:
                continue
        known = kind.fields.get(name)
        _collect(member, known.type if known else FREE, known, (f"f:{name}",), found)
    return found


def _collect(value: Any, ref: TypeRef, known: Field | None, path: Path, found: Leaves) -> None:
    if isinstance(value, dict) and value and not (known is not None and known.atomic_map) and not _atomic(ref):
        _members(value, ref, path, found)
        return
    rule = known.list_rule if known is not None else ATOMIC
    if isinstance(value, list) and rule.type == "set":
        for member in value:
            found[*path, f"v:{json.dumps(member)}"] = member
    elif isinstance(value, list) and rule.type == "map":
        for item in value:
            if isinstance(item, dict):
                step = item_step(item, rule)
                found[*path, step] = ITEM
                _members(item, ref.item or FREE, (*path, step), found)
    else:
        found[path] = value


def _members(value: Json, ref: TypeRef, path: Path, found: Leaves) -> None:
    for name, member in value.items():
        below = _below(ref, name)
        if isinstance(below, Field):
            _collect(member, below.type, below, (*path, f"f:{name}"), found)
        else:
            _collect(member, below, None, (*path, f"f:{name}"), found)


def _atomic(ref: TypeRef) -> bool:
    return ref.shape is Shape.OBJECT and ref.target is not None and ref.target.atomic


def _below(ref: TypeRef, name: str) -> Field | TypeRef:
    if ref.shape is Shape.OBJECT and ref.target is not None:
        return ref.target.fields.get(name, FREE)
    if ref.shape is Shape.MAP and ref.item is not None:
        return ref.item
    return FREE


def item_step(item: Json, rule: ListRule) -> str:
    """The step to an item of a keyed list; absent keys stand for their default."""
    keys = {key: item[key] for key in rule.keys if key in item}
    if "protocol" in rule.keys:
        keys.setdefault("protocol", "TCP")
    return "k:" + json.dumps(keys, separators=(",", ":"), sort_keys=True)


def to_tree(paths: Iterable[Path]) -> Json:
    """The form of managedFields."""
    tree: Json = {}
    for path in sorted(paths):
        level = tree
        for step in path:
            level = level.setdefault(step, {})
        if path[-1].startswith("k:"):
            level["."] = {}
    return tree


def from_tree(tree: Any, path: Path = ()) -> set[Path]:
    """Read the form of managedFields."""
    found: set[Path] = set()
    if not isinstance(tree, dict):
        return found
    for step, below in tree.items():
        if step == ".":
            if path:
                found.add(path)
        elif isinstance(below, dict) and below:
            found |= from_tree(below, (*path, step))
        else:
            found.add((*path, step))
    return found


def describe(path: Path) -> str:
    """A path as users read it: `.spec.containers[name="web"].image`."""
    text = ""
    for step in path:
        mark, rest = step[:2], step[2:]
        if mark == "f:":
            text += f".{rest}"
        elif mark == "k:":
            keys = json.loads(rest)
            text += "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in keys.items()) + "]"
        else:
            text += f"[={rest}]"
    return text
