"""Server-side apply: an applier owns what it says, is told of conflicts, and loses what it no longer says.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go (v1.36.4).
"""

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from stowplan.apiserver.errors import ApiError, Cause
from stowplan.apiserver.patch.fieldset import ITEM, Leaves, Path, describe, item_step, leaves
from stowplan.apiserver.patch.managers import APPLY, UPDATE, Manager, read_managers, write_managers
from stowplan.apiserver.schema.types import ATOMIC, Field, ListRule, ObjectType, Shape, TypeRef

Json = dict[str, Any]

BEFORE = "before-first-apply"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
KUBECTL = "kubectl"


def apply_configuration(
    live: Json | None, config: Json, kind: ObjectType, *, manager: str, api_version: str, subresource: str, now: str,
    force: bool,
) -> Json:  # fmt: skip
    """The object after an apply; `live` is left alone."""
    said = leaves(config, kind)
    present: Json = copy.deepcopy(live) if live is not None else {"metadata": {}}
    managers = read_managers(present) if live is not None else []
    if live is not None and not managers:
        managers = _first_owners(live, kind, api_version, now, manager)
    mine = (manager, APPLY, subresource)
    applier = next((known for known in managers if known.identity == mine), None)
    others = [known for known in managers if known is not applier]
    before = leaves(present, kind) if live is not None else {}
    conflicts = _conflicts(others, said, before, migrating=manager)
    if conflicts and not force:
        raise _refusal(conflicts)
    for other, paths in conflicts:
        other.paths -= paths
    merged = _merge_object(present, config, kind)
    lost = (applier.paths if applier is not None else set()) - said.keys()
    _remove_lost(merged, lost, others, kind)
    unchanged = applier is not None and applier.paths == said.keys()
    if applier is None:
        applier = Manager(manager, APPLY, api_version, now, subresource)
    applier.paths = set(said)
    applier.api_version = api_version
    after = leaves(merged, kind)
    if not unchanged or after != before:
        applier.time = now
    for other in others:
        other.paths &= after.keys()
    merged["apiVersion"], merged["kind"] = config.get("apiVersion"), config.get("kind")
    write_managers(merged, [*others, applier])
    return merged


def _first_owners(live: Json, kind: ObjectType, api_version: str, now: str, manager: str) -> list[Manager]:
    """Somebody owned the object before; what kubectl applied from the client is kubectl's."""
    paths = set(leaves(live, kind))
    last = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    if manager == KUBECTL and last:
        try:
            applied = json.loads(last)
        except ValueError:
            applied = None
        if isinstance(applied, dict):
            paths -= leaves(applied, kind).keys()
            paths = {path for path in paths if LAST_APPLIED not in path[-1]}
    return [Manager(BEFORE, UPDATE, api_version, now, "", paths)]


def _conflicts(
    others: Iterable[Manager], said: Leaves, before: Leaves, *, migrating: str
) -> list[tuple[Manager, set[Path]]]:
    found = []
    for other in others:
        if migrating == KUBECTL and other.name == "kubectl-client-side-apply":
            continue
        paths = {
            path
            for path in other.paths & said.keys()
            if said[path] is not ITEM and (path not in before or before[path] != said[path])
        }
        if paths:
            found.append((other, paths))
    return found


def _refusal(conflicts: list[tuple[Manager, set[Path]]]) -> ApiError:
    causes, lines = [], []
    total = sum(len(paths) for _, paths in conflicts)
    for other, paths in sorted(conflicts, key=lambda pair: pair[0].name):
        via = f' with subresource "{other.subresource}"' if other.subresource else ""
        who = f'conflict with "{other.name}"{via}'
        if other.operation == UPDATE:
            who += f" using {other.api_version} at {other.time}"
        listed = sorted(describe(path) for path in paths)
        causes += [Cause("FieldManagerConflict", who, path) for path in listed]
        lines.append(f"{who}: {listed[0]}" if total == 1 else f"{who}:\n" + "\n".join(f"- {path}" for path in listed))
    plural = "s" if total != 1 else ""
    separator = "\n" if total != 1 else " "
    body = f":{separator}" if total != 1 else ": "
    message = f"Apply failed with {total} conflict{plural}{body}" + "\n".join(lines)
    return ApiError(409, message, causes=causes)


def _merge_object(live: Json, config: Json, kind: ObjectType | None) -> Json:
    merged = dict(live)
    for name, member in config.items():
        known = kind.fields.get(name) if kind is not None else None
        ref = known.type if known is not None else TypeRef(Shape.FREE)
        merged[name] = _merge_value(merged.get(name), member, ref, known)
    return merged


def _merge_value(live: Any, config: Any, ref: TypeRef, known: Field | None) -> Any:
    if isinstance(config, dict) and isinstance(live, dict):
        atomic = (known is not None and known.atomic_map) or (ref.target is not None and ref.target.atomic)
        if atomic:
            return config
        if ref.shape is Shape.MAP and ref.item is not None:
            merged = dict(live)
            for name, member in config.items():
                merged[name] = _merge_value(merged.get(name), member, ref.item, None)
            return merged
        return _merge_object(live, config, ref.target)
    rule = known.list_rule if known is not None else ATOMIC
    if isinstance(config, list) and isinstance(live, list):
        if rule.type == "set":
            return live + [item for item in config if item not in live]
        if rule.type == "map":
            return _merge_list(live, config, ref.item, rule)
    return config


def _merge_list(live: list[Any], config: list[Any], item: TypeRef | None, rule: ListRule) -> list[Any]:
    """Items that the applier names come in its order; the others keep their place."""
    ref = item or TypeRef(Shape.FREE)
    present = {item_step(entry, rule): entry for entry in live if isinstance(entry, dict)}
    named = {item_step(entry, rule): entry for entry in config if isinstance(entry, dict)}
    merged = {step: _merge_value(present.get(step, {}), entry, ref, None) for step, entry in named.items()}
    result: list[Any] = []
    waiting = list(named)
    for step, entry in present.items():
        if step in named:
            if waiting:
                result.append(merged[waiting.pop(0)])
        else:
            result.append(entry)
    return result + [merged[step] for step in waiting]


def _remove_lost(merged: Json, lost: Iterable[Path], others: Iterable[Manager], kind: ObjectType) -> None:
    owned = set().union(*(other.paths for other in others)) if others else set()
    removed: list[Path] = []
    for path in sorted(lost, key=len):
        # an item goes whole: without its key nobody would find it again
        if any(path[: len(whole)] == whole for whole in removed):
            continue
        if any(other[: len(path)] == path for other in owned):
            continue
        _remove(merged, path, kind)
        removed.append(path)


def _remove(value: Any, path: Path, kind: ObjectType) -> None:
    parent: Any = value
    known: Field | None = None
    ref: TypeRef = TypeRef(Shape.OBJECT, target=kind)
    for step in path[:-1]:
        parent, ref, known = _descend(parent, step, ref, known)
        if parent is None:
            return
    last = path[-1]
    if last.startswith("f:") and isinstance(parent, dict):
        parent.pop(last[2:], None)
    elif isinstance(parent, list):
        rule = known.list_rule if known is not None else ATOMIC
        parent[:] = [item for item in parent if not _is_step(item, last, rule)]


def _descend(value: Any, step: str, ref: TypeRef, known: Field | None) -> tuple[Any, TypeRef, Field | None]:
    if step.startswith("f:") and isinstance(value, Mapping):
        name = step[2:]
        found = ref.target.fields.get(name) if ref.target is not None else None
        below = found.type if found is not None else (ref.item or TypeRef(Shape.FREE))
        return value.get(name), below, found
    if isinstance(value, list):
        rule = known.list_rule if known is not None else ATOMIC
        item = next((entry for entry in value if _is_step(entry, step, rule)), None)
        return item, ref.item or TypeRef(Shape.FREE), None
    return None, ref, None


def _is_step(item: Any, step: str, rule: ListRule) -> bool:
    if step.startswith("v:"):
        return f"v:{json.dumps(item)}" == step
    return isinstance(item, dict) and item_step(item, rule) == step
