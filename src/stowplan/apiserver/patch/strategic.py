"""Strategic merge patches: lists of objects merge by the key of their type, directives say the rest.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/strategicpatch/patch.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.errors import bad_request
from stowplan.apiserver.patch.merge import apply_merge_patch
from stowplan.apiserver.schema.types import Field, ObjectType, Shape, TypeRef

Json = dict[str, Any]

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE_PRIMITIVES = "$deleteFromPrimitiveList/"


def apply_strategic_patch(target: Json, patch: Any, kind: ObjectType | None) -> Json:
    """The target after the patch; the target itself is left alone."""
    if not isinstance(patch, dict):
        raise bad_request("error decoding patch: a strategic merge patch is an object")
    return _object(target, patch, kind)


def _object(target: Json, patch: Json, kind: ObjectType | None) -> Json:
    directive = patch.get(DIRECTIVE)
    if directive == "replace":
        return clean_members(patch)
    if directive == "delete":
        return {}
    if directive not in (None, "merge"):
        raise bad_request(f"unrecognized directive: {directive!r} in {DIRECTIVE}")
    merged = dict(target)
    retained = patch.get(RETAIN)
    if retained is not None:
        if not isinstance(retained, list):
            raise bad_request(f"{RETAIN} must be a list")
        merged = {name: member for name, member in merged.items() if name in retained}
    for name, member in patch.items():
        if name in (DIRECTIVE, RETAIN) or name.startswith((ORDER, DELETE_PRIMITIVES)):
            continue
        known = kind.fields.get(name) if kind is not None else None
        _member(merged, name, member, known)
    _directed_lists(merged, target, patch, kind)
    return merged


def _member(merged: Json, name: str, member: Any, known: Field | None) -> None:
    if member is None:
        merged.pop(name, None)
    elif isinstance(member, dict):
        before = merged.get(name)
        if known is not None and known.replace:
            merged[name] = _clean(member)
        elif known is None or known.type.shape is Shape.FREE:
            merged[name] = apply_merge_patch(before, member)
        else:
            merged[name] = _object(before if isinstance(before, dict) else {}, member, _target(known.type))
    elif isinstance(member, list):
        merged[name] = _list(merged.get(name), member, known)
    else:
        merged[name] = member


def _target(ref: TypeRef) -> ObjectType | None:
    if ref.shape is Shape.OBJECT:
        return ref.target
    return None


def _item_type(known: Field) -> ObjectType | None:
    return known.type.item.target if known.type.item is not None else None


def _list(before: Any, patch: list[Any], known: Field | None) -> list[Any]:
    if known is None or not known.list_rule.merge:
        return [_clean(item) for item in patch if not (isinstance(item, dict) and DIRECTIVE in item)]
    present = list(before) if isinstance(before, list) else []
    if not known.list_rule.patch_key:
        return present + [item for item in patch if item not in present]
    return _keyed_list(present, patch, known)


def _keyed_list(present: list[Any], patch: list[Any], known: Field) -> list[Any]:
    key, item_type = known.list_rule.patch_key, _item_type(known)
    if any(isinstance(item, dict) and item.get(DIRECTIVE) == "replace" for item in patch):
        return [
            _clean({name: member for name, member in item.items() if name != DIRECTIVE})
            for item in patch
            if isinstance(item, dict) and len(item) > (DIRECTIVE in item)
        ]
    merged = [dict(item) for item in present if isinstance(item, dict)]
    for item in patch:
        if not isinstance(item, dict):
            raise bad_request(f"{known.name}: a list of objects cannot be patched with {type(item).__name__}")
        if key not in item:
            raise bad_request(f"map: {known.name} does not contain declared merge key: {key}")
        directive = item.get(DIRECTIVE)
        at = next((index for index, found in enumerate(merged) if found.get(key) == item[key]), None)
        if directive == "delete":
            merged = [found for found in merged if found.get(key) != item[key]]
            continue
        bare = {name: member for name, member in item.items() if name != DIRECTIVE}
        if at is None:
            merged.append(_object({}, bare, item_type))
        else:
            merged[at] = _object(merged[at], bare, item_type)
    return merged


def _directed_lists(merged: Json, before: Json, patch: Json, kind: ObjectType | None) -> None:
    for name, wanted in patch.items():
        if name.startswith(DELETE_PRIMITIVES):
            field = name[len(DELETE_PRIMITIVES) :]
            if not isinstance(wanted, list):
                raise bad_request(f"{name} must be a list")
            present = merged.get(field)
            if isinstance(present, list):
                merged[field] = [item for item in present if item not in wanted]
                # what the patch adds comes back
                merged[field] += [
                    item for item in patch.get(field) or () if item not in merged[field] and item not in wanted
                ]
        elif name.startswith(ORDER):
            field = name[len(ORDER) :]
            if not isinstance(wanted, list):
                raise bad_request(f"{name} must be a list")
            known = kind.fields.get(field) if kind is not None else None
            if isinstance(merged.get(field), list) and known is not None:
                merged[field] = _ordered(merged[field], before.get(field), wanted, known.list_rule.patch_key)


def _ordered(items: list[Any], before: Any, wanted: list[Any], key: str) -> list[Any]:
    """Items in the wanted order; the others keep their place among those that were there before."""

    def mark(item: Any) -> Any:
        return item.get(key) if key and isinstance(item, dict) else item

    order = [mark(item) for item in wanted]
    old = [mark(item) for item in before] if isinstance(before, list) else []
    ruled = sorted((item for item in items if mark(item) in order), key=lambda item: order.index(mark(item)))
    free = [item for item in items if mark(item) not in order]
    result: list[Any] = []
    while ruled and free:
        first, other = mark(ruled[0]), mark(free[0])
        take_free = first in old and other in old and old.index(other) < old.index(first)
        result.append(free.pop(0) if take_free else ruled.pop(0))
    return result + ruled + free


def clean_members(patch: Json) -> Json:
    """The members of a patch without directives and nulls."""
    return {name: _clean(member) for name, member in patch.items() if member is not None and not name.startswith("$")}


def _clean(value: Any) -> Any:
    """A value of a patch without directives and nulls."""
    if isinstance(value, dict):
        return {
            name: _clean(member) for name, member in value.items() if member is not None and not name.startswith("$")
        }
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
