"""What the scheduler changes in a pod's status, as the strategic merge patch that upstream computes.

Upstream: pkg/scheduler/util/utils.go PatchPodStatus, pkg/api/v1/pod/util.go UpdatePodCondition,
staging/src/k8s.io/apimachinery/pkg/util/strategicpatch (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from stowplan.api.meta import Condition
from stowplan.client.timestamps import rfc3339


def with_condition(
    conditions: Sequence[Condition], condition: Condition, *, now: float
) -> tuple[Condition, ...] | None:
    """The conditions with this one added or changed; None when it says nothing new.

    The transition time is `now`, or the old one when the status stays the same.
    """
    changed = replace(condition, last_transition_time=rfc3339(now))
    for index, old in enumerate(conditions):
        if old.type != condition.type:
            continue
        if old.status == condition.status:
            # parity: a new observedGeneration alone is no news
            if (old.reason, old.message) == (condition.reason, condition.message):
                return None
            changed = replace(changed, last_transition_time=old.last_transition_time)
        return (*conditions[:index], changed, *conditions[index + 1 :])
    return (*conditions, changed)


def pod_status_patch(
    old: Sequence[Condition],
    new: Sequence[Condition] | None = None,
    *,
    old_nominated: str = "",
    new_nominated: str | None = None,
) -> dict[str, Any] | None:
    """The patch from one status to another; None for a part means it stays, and as answer that nothing changes."""
    status: dict[str, Any] = {}
    if new is not None:
        status |= _conditions_patch(old, new)
    if new_nominated is not None and new_nominated != old_nominated:
        status["nominatedNodeName"] = new_nominated or None
    return {"status": status} if status else None


def _conditions_patch(old: Sequence[Condition], new: Sequence[Condition]) -> dict[str, Any]:
    if not old:
        return {"conditions": [_on_the_wire(condition) for condition in new]} if new else {}
    before = {condition.type: _on_the_wire(condition) for condition in old}
    kept = {condition.type for condition in new}
    changes: list[dict[str, Any]] = []
    for condition in new:
        wire = _on_the_wire(condition)
        known = before.get(condition.type)
        if known is None:
            changes.append(wire)
        elif wire != known:
            changes.append(_difference(known, wire) | {"type": condition.type})
    changes += [{"$patch": "delete", "type": kind} for kind in before if kind not in kept]
    if not changes:
        return {}
    return {"$setElementOrder/conditions": [{"type": condition.type} for condition in new], "conditions": changes}


def _difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What is new or different, and null for what is gone."""
    keys = sorted(old.keys() | new.keys())
    return {key: new.get(key) for key in keys if old.get(key) != new.get(key)}


def _on_the_wire(condition: Condition) -> dict[str, Any]:
    """A condition as Go writes it: both times always, null when unset, other fields only when not empty."""
    wire: dict[str, Any] = {"lastProbeTime": None, "lastTransitionTime": condition.last_transition_time}
    optional = {
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
        "reason": condition.reason,
    }
    return (
        wire
        | {key: value for key, value in optional.items() if value}
        | {
            "status": condition.status,
            "type": condition.type,
        }
    )
