"""Replay plays a scenario as the recorder does: one attempt per pod, a second one where room was made."""

import json
from typing import Any

import pytest

from stowplan.sim.replay import ReplayError, Result, replay
from stowplan.sim.scenario import decode_scenario
from tests.sim.manifests import CONFIG_WITH_UNKNOWN_PLUGIN, Document, node, pod, scenario


def played(*objects: Document, pending: list[Document], **more: Any) -> Result:
    return replay(decode_scenario(json.dumps(scenario("s", *objects, pending=pending, **more)).encode()))


def test_pods_are_placed_one_after_another_and_count_for_the_next() -> None:
    result = played(node("b", cpu="1"), node("a", cpu="2"), pending=[pod("p"), pod("q"), pod("r"), pod("s")])

    assert ["a", "a", "b", None] == [attempt.get("node") for attempt in result["attempts"]]
    assert "totals" in result["attempts"][0]
    assert "totals" not in result["attempts"][2], "a single feasible node is not scored"
    assert {"default/s": ["NodeResourcesFit"]} == result["parked"]
    assert result["attempts"][3]["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")


def test_among_equals_the_lowest_name_wins() -> None:
    result = played(node("b"), node("c"), node("a"), pending=[pod("p")])

    assert "a" == result["attempts"][0]["node"]
    assert {"a", "b", "c"} == set(result["attempts"][0]["scores"])


def test_a_second_attempt_follows_where_room_was_made() -> None:
    weak = pod("weak", cpu="4", nodeName="a", priority=0)
    result = played(node("a"), weak, pending=[pod("strong", cpu="4", priority=10)])

    first, second = result["attempts"]
    assert ("a", ["default/weak"]) == (first["nominated"], first["victims"])
    assert "a" == second["node"]
    assert "parked" not in result


def test_a_victim_that_is_gone_cannot_change_any_more() -> None:
    weak = pod("weak", cpu="4", nodeName="a", priority=0)
    events = [{"op": "delete", "object": weak}, {"op": "create", "object": node("b")}]
    result = played(node("a"), weak, pending=[pod("strong", cpu="4", priority=10), pod("late", cpu="4")], events=events)

    assert {"default/late": ["NodeResourcesFit"]} == result["parked"]
    assert [None, ["default/late"]] == result["wakes"]


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param({"op": "create", "object": node("b")}, ["default/p"], id="a new node with room"),
        pytest.param({"op": "create", "object": node("b", cpu="1")}, [], id="a new node without room"),
        pytest.param({"op": "update", "object": node("a", cpu="9")}, ["default/p"], id="a node that grows"),
        pytest.param({"op": "update", "object": node("a", extra="label")}, [], id="a label that nobody waits for"),
        pytest.param({"op": "update", "object": node("never")}, None, id="an update of what is not there"),
        pytest.param({"op": "create", "object": node("a")}, None, id="a creation of what is there"),
        pytest.param({"op": "delete", "object": node("never")}, None, id="an end of what is not there"),
        pytest.param(
            {"op": "delete", "object": pod("big", cpu="4", nodeName="a")}, ["default/p"], id="a pod that goes"
        ),
        pytest.param(
            {"op": "create", "object": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}},
            [],
            id="an object that nobody waits for",
        ),
    ],
)
def test_what_wakes_a_parked_pod(event: Document, want: list[str] | None) -> None:
    result = played(node("a"), pod("big", cpu="4", nodeName="a"), pending=[pod("p", cpu="2")], events=[event])

    assert [want] == result["wakes"]


def test_a_pod_of_another_scheduler_is_an_error_of_its_own() -> None:
    result = played(node("a"), pending=[pod("p", schedulerName="other"), pod("q")])

    assert {"pod": "default/p", "error": "no profile for scheduler name 'other'"} == result["attempts"][0]
    assert "a" == result["attempts"][1]["node"]


def test_pods_that_ended_do_not_count() -> None:
    done = {**pod("done", cpu="4", nodeName="a"), "status": {"phase": "Succeeded"}}

    assert "a" == played(node("a"), done, pending=[pod("p", cpu="4")])["attempts"][0]["node"]


def test_without_nodes_there_is_one_message() -> None:
    (attempt,) = played(pending=[pod("p")])["attempts"]

    assert "no nodes available to schedule pods" == attempt["message"]


def test_a_configuration_that_is_wrong_is_named() -> None:
    with pytest.raises(ReplayError, match='FilterPlugin "Nope" does not exist'):
        played(pending=[], config=CONFIG_WITH_UNKNOWN_PLUGIN)


def test_replaying_twice_gives_the_same() -> None:
    line = json.dumps(
        scenario("s", *(node(f"n{i}") for i in range(5)), pending=[pod(f"p{i}", cpu="3") for i in range(7)])
    ).encode()

    assert replay(decode_scenario(line)) == replay(decode_scenario(line))
