"""A line is a scenario, or one clear error says why not."""

import json
from typing import Any

import pytest

from stowplan.sim.scenario import ScenarioError, decode_scenario
from tests.sim.manifests import likes, node, pod, scenario


def line(document: Any) -> bytes:
    return document.encode() if isinstance(document, str) else json.dumps(document).encode()


def test_everything_is_decoded() -> None:
    odd = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    events = [{"op": "create", "object": node("b")}, {"op": "delete", "object": odd}]
    got = decode_scenario(line(scenario("s", node("a"), odd, pending=[pod("p")], events=events, config={"a": 1})))

    assert "s" == got.id
    assert ["a"] == [obj.name for obj in got.objects]
    assert ["default/p"] == [obj.key for obj in got.pending]
    assert [("create", "b")] == [(event.op, event.object.name) for event in got.events]
    assert got.config is not None
    assert {"a": 1} == json.loads(got.config)
    assert decode_scenario(line(scenario("s", pending=[]))).config is None


@pytest.mark.parametrize(
    ("document", "want"),
    [
        pytest.param("not json", "not a scenario: JSON is malformed", id="no JSON"),
        pytest.param("[]", "not a scenario: Expected `object`, got `array`", id="another kind of JSON"),
        pytest.param({"id": "s", "pending": []}, "missing required field `objects`", id="no objects"),
        pytest.param(
            {"id": "s", "objects": {}, "pending": []},
            "Expected `array`, got `object` - at `$.objects`",
            id="objects that are no list",
        ),
        pytest.param("[" * 100_000, "not a scenario: ", id="brackets without end"),
        pytest.param(
            '{"id":"s","objects":[' + "[" * 100_000 + "]" * 100_000 + '],"pending":[]}',
            "not a scenario: nested too deeply",
            id="an object of brackets",
        ),
        pytest.param(
            scenario("s", pending=[node("a")]), "pending[0]: a Node is not a pod", id="a node among the pending"
        ),
        pytest.param(
            scenario("s", node("a"), node("b", cpu="many"), pending=[]),
            "objects[1]: Node b: status.allocatable[cpu]: quantities must match",
            id="a node with a malformed quantity",
        ),
        pytest.param(
            scenario("s", pending=[pod("p"), pod("q", cpu="1x")]),
            "pending[1]: Pod default/q: spec.containers[0].resources.requests[cpu]: quantities must match",
            id="a pod with a malformed quantity",
        ),
        pytest.param(
            scenario("s", pending=[likes("node")]),
            "pending[0]: Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
            'nodeSelectorTerms[0].matchExpressions[0].operator: "Likes" is none of DoesNotExist, Exists, Gt, In, Lt',
            id="an unknown operator over nodes",
        ),
        pytest.param(
            scenario("s", likes("pod"), pending=[]),
            "objects[0]: Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            'labelSelector.matchExpressions[0].operator: "Likes" is none of DoesNotExist, Exists, In, NotIn',
            id="an unknown operator over pods",
        ),
        pytest.param(
            scenario("s", pending=[], events=[{"op": "zap", "object": node("a")}]),
            "Invalid enum value 'zap' - at `$.events[0].op`",
            id="an event that is none",
        ),
        pytest.param(
            scenario("s", pending=[], events=[{"op": "create", "object": node("a", cpu="?")}]),
            "events[0].object: Node a: status.allocatable[cpu]:",
            id="an event with a malformed object",
        ),
        pytest.param(
            scenario("s", pending=[pod("p", priority="high")]),
            "pending[0]: Pod default/p: spec.priority",
            id="a wrong type",
        ),
    ],
)
def test_what_is_no_scenario(document: Any, want: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        decode_scenario(line(document))

    assert want in str(caught.value)
    assert "\n" not in str(caught.value)


def test_text_that_is_not_utf8() -> None:
    with pytest.raises(ScenarioError, match="not a scenario: 'utf-8' codec"):
        decode_scenario(b'{"id":"\xff","objects":[],"pending":[]}')
