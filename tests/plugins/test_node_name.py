"""A pod that names its node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.node_name import NodeName
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_filter, run_wakes
from tests.plugins.generated import NODE_NAMES, Scene, scenes

OTHER = unresolvable("node(s) didn't match the requested node name")


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param("", {"a": None, "b": None}, id="a pod that names none may go anywhere"),
        pytest.param("b", {"a": OTHER, "b": None}, id="only the node it names will do"),
        pytest.param("gone", {"a": OTHER, "b": OTHER}, id="a node that does not exist leaves none"),
    ],
)
def test_filter(wanted: str, want: dict[str, Rejection | None]) -> None:
    assert want == run_filter(NodeName(), [node("a"), node("b")], pod(on=wanted)).by_node


def test_the_class_it_shares_with_a_placed_pod_does_not_tell_its_node() -> None:
    assert {"a", "b"} == run_filter(NodeName(), [node("a"), node("b"), pod("placed", on="a")], pod()).passed()


@given(scenes(), st.sampled_from(["", *NODE_NAMES]))
def test_kernel_agrees_with_its_twin(scene: Scene, wanted: str) -> None:
    want = {n.name: None if wanted in {"", n.name} else OTHER for n in scene.nodes}

    assert want == run_filter(NodeName(), scene.cluster(), pod(on=wanted)).by_node


def test_a_new_node_wakes_and_a_changed_one_does_not() -> None:
    open_node = node("a")
    labelled = replace(open_node, metadata=replace(open_node.metadata, labels={"x": "y"}))

    assert run_wakes(NodeName(), pod(), new=open_node)
    assert not run_wakes(NodeName(), pod(), old=open_node, new=labelled)
