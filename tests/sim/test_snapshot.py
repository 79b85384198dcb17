"""Snapshots: kubectl lists, several documents, scenarios."""

import json
from pathlib import Path

import pytest
import yaml

from stowplan.sim.snapshot import SnapshotError, load_snapshot
from tests.sim.manifests import likes, node, pod, scenario, write

KEY = "default/p"


@pytest.mark.parametrize("form", ["json list", "yaml list", "documents", "scenario", "scenario.gz"])
def test_every_form_gives_the_same_objects(tmp_path: Path, form: str) -> None:
    objects = [node("a"), node("b"), pod("p")]
    items = {"apiVersion": "v1", "kind": "List", "items": objects}
    path = tmp_path / form.replace(" ", ".")
    match form:
        case "json list":
            path.write_text(json.dumps(items, indent=2))
        case "yaml list":
            path.write_text(yaml.safe_dump(items))
        case "documents":
            path.write_text(yaml.safe_dump_all(objects))
        case _:
            write(path, scenario("other", pending=[]), scenario("s", *objects[:2], pending=[objects[2]]))

    snapshot = load_snapshot(str(path), pod_key=KEY)

    assert ["a", "b", "p"] == [obj.name for obj in (*snapshot.objects, *snapshot.pending)]


def test_pods_pending_before_the_one_asked_about_are_placed_first(tmp_path: Path) -> None:
    name = write(tmp_path / "s", scenario("s", pending=[pod("first"), pod("p"), pod("later")]))

    assert ["first", "p"] == [found.name for found in load_snapshot(name, pod_key=KEY).pending]


def test_kinds_that_scheduling_does_not_read_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
    path.write_text(yaml.safe_dump_all([thing, pod("p")]))

    assert ["p"] == [obj.name for obj in load_snapshot(str(path), pod_key=KEY).objects]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "holds no object that scheduling reads", id="nothing"),
        pytest.param(json.dumps(scenario("s", pending=[])), "none of its 1 scenarios has a pod default/p", id="no pod"),
        pytest.param('{"pending": 1}', ":1: not a scenario: ", id="a scenario that is none"),
        pytest.param(
            yaml.safe_dump_all([node("a"), pod("p", cpu="1x")]),
            "Pod default/p: spec.containers[0].resources.requests[cpu]: quantities must match",
            id="a malformed quantity",
        ),
        pytest.param(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), likes("pod")]}),
            "items[1]: Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
            'labelSelector.matchExpressions[0].operator: "Likes" is none of',
            id="an unknown operator",
        ),
        pytest.param("a: [", ":1", id="YAML that breaks off"),
    ],
)
def test_bad_files_are_named_with_the_place(tmp_path: Path, text: str, want: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(text)

    with pytest.raises(SnapshotError) as caught:
        load_snapshot(str(path), pod_key=KEY)

    assert want in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(SnapshotError, match=r"^/no/such: No such file or directory$"):
        load_snapshot("/no/such", pod_key=KEY)
