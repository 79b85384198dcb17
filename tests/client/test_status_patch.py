"""Status patches have the body that kube-scheduler sends."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.api.meta import Condition
from stowplan.client.status_patch import pod_status_patch, with_condition

NOW = 1_700_000_000.5
NOW_TEXT = "2023-11-14T22:13:20Z"
THEN_TEXT = "2023-01-01T00:00:00Z"

UNSCHEDULABLE = Condition(
    type="PodScheduled", status="False", reason="Unschedulable", message="no nodes", observed_generation=1
)
SCHEDULED = Condition(type="PodScheduled", status="True", last_transition_time=THEN_TEXT)
DISRUPTED = Condition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler", message="m")


def on_the_wire(condition: Condition, **changes: Any) -> dict[str, Any]:
    """What a whole condition looks like."""
    wire: dict[str, Any] = {
        "lastProbeTime": None,
        "lastTransitionTime": NOW_TEXT,
        "message": condition.message,
        "observedGeneration": condition.observed_generation,
        "reason": condition.reason,
        "status": condition.status,
        "type": condition.type,
    }
    return {key: value for key, value in (wire | changes).items() if value or key.startswith("last")}


@dataclass(frozen=True)
class Row:
    """A status and what changes in it."""

    old: tuple[Condition, ...]
    condition: Condition | None = None
    old_nominated: str = ""
    nominated: str | None = None


STANDING = replace(UNSCHEDULABLE, last_transition_time=THEN_TEXT)


@pytest.mark.parametrize(
    ("row", "want"),
    [
        pytest.param(
            Row((), UNSCHEDULABLE), {"conditions": [on_the_wire(UNSCHEDULABLE)]}, id="the first condition goes whole"
        ),
        pytest.param(
            Row((SCHEDULED,), DISRUPTED),
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}, {"type": "DisruptionTarget"}],
                "conditions": [on_the_wire(DISRUPTED)],
            },
            id="a further condition goes whole, with the order of all",
        ),
        pytest.param(
            Row((STANDING,), replace(UNSCHEDULABLE, message="other")),
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}],
                "conditions": [{"message": "other", "type": "PodScheduled"}],
            },
            id="of a changed condition only the changes go, and the time stays",
        ),
        pytest.param(
            Row((SCHEDULED,), UNSCHEDULABLE),
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}],
                "conditions": [
                    {
                        "lastTransitionTime": NOW_TEXT,
                        "message": "no nodes",
                        "observedGeneration": 1,
                        "reason": "Unschedulable",
                        "status": "False",
                        "type": "PodScheduled",
                    }
                ],
            },
            id="a status that turns has a new time",
        ),
        pytest.param(
            Row((STANDING,), Condition(type="PodScheduled", status="True")),
            {
                "$setElementOrder/conditions": [{"type": "PodScheduled"}],
                "conditions": [
                    {
                        "lastTransitionTime": NOW_TEXT,
                        "message": None,
                        "observedGeneration": None,
                        "reason": None,
                        "status": "True",
                        "type": "PodScheduled",
                    }
                ],
            },
            id="what is gone is null",
        ),
        pytest.param(Row((STANDING,), UNSCHEDULABLE), None, id="the same condition again is nothing"),
        pytest.param(
            Row((STANDING,), replace(UNSCHEDULABLE, observed_generation=7)),
            None,
            id="a new generation alone is nothing",
        ),
        pytest.param(Row((STANDING,), None, "", "n1"), {"nominatedNodeName": "n1"}, id="a nomination"),
        pytest.param(Row((STANDING,), None, "n1", ""), {"nominatedNodeName": None}, id="a nomination taken back"),
        pytest.param(Row((STANDING,), None, "n1", "n1"), None, id="the same nomination again is nothing"),
        pytest.param(
            Row((), UNSCHEDULABLE, "", "n1"),
            {"conditions": [on_the_wire(UNSCHEDULABLE)], "nominatedNodeName": "n1"},
            id="both",
        ),
    ],
)
def test_patch(row: Row, want: dict[str, Any] | None) -> None:
    new = None if row.condition is None else with_condition(row.old, row.condition, now=NOW)
    patch = pod_status_patch(row.old, new, old_nominated=row.old_nominated, new_nominated=row.nominated)

    assert (None if want is None else {"status": want}) == patch
    if patch is not None:
        assert sorted(patch["status"]) == list(patch["status"]), "Go writes maps by key"


def apply(old: tuple[Condition, ...], patch: dict[str, Any] | None) -> dict[str, dict[str, Any]]:
    """What a server makes of the patch."""
    state = {c.type: on_the_wire(c, lastTransitionTime=c.last_transition_time) for c in old}
    for change in (patch or {"status": {}})["status"].get("conditions", []):
        if change.get("$patch") == "delete":
            del state[change["type"]]
        else:
            merged = state.get(change["type"], {"lastProbeTime": None}) | change
            state[change["type"]] = {k: v for k, v in merged.items() if v is not None or k.startswith("last")}
    return state


CONDITIONS = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from("ABC"),
        status=st.sampled_from(["True", "False"]),
        reason=st.sampled_from(["", "r"]),
        message=st.sampled_from(["", "m"]),
        observed_generation=st.integers(0, 1),
        last_transition_time=st.sampled_from([None, THEN_TEXT]),
    ),
    unique_by=lambda condition: condition.type,
).map(tuple)


@given(CONDITIONS, CONDITIONS)
def test_a_server_that_applies_the_patch_holds_the_new_conditions(
    old: tuple[Condition, ...], new: tuple[Condition, ...]
) -> None:
    assert apply(new, None) == apply(old, pod_status_patch(old, new))
