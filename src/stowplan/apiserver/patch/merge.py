"""RFC 7386."""

from typing import Any


def apply_merge_patch(target: Any, patch: Any) -> Any:
    """The target with the patch's members in, and those that the patch nulls out; the target itself is left alone."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, member in patch.items():
        if member is None:
            merged.pop(name, None)
        else:
            merged[name] = apply_merge_patch(merged.get(name), member)
    return merged
