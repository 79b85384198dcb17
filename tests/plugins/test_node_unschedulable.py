"""Cordoned nodes."""

import pytest
from hypothesis import given

from stowplan.api.affinity import Toleration
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.node_unschedulable import NodeUnschedulable
from stowplan.testing.builders import node, pod, tolerate
from stowplan.testing.running import run_filter, run_wakes
from tests.plugins.generated import Scene, pods, scenes

CORDONED = unresolvable("node(s) were unschedulable")
KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("cordoned", "tolerations", "want"),
    [
        pytest.param(False, [], None, id="an open node takes any pod"),
        pytest.param(True, [], CORDONED, id="a cordoned node refuses a plain pod"),
        pytest.param(True, [tolerate(KEY)], None, id="tolerating the key alone is enough"),
        pytest.param(True, [tolerate(KEY, effect="NoSchedule")], None, id="tolerating the key with its effect"),
        pytest.param(True, [tolerate(KEY, effect="NoExecute")], CORDONED, id="another effect is not enough"),
        pytest.param(True, [tolerate(KEY, "true")], CORDONED, id="the cordon has no value"),
        pytest.param(True, [tolerate()], None, id="tolerating everything"),
    ],
)
def test_filter(cordoned: bool, tolerations: list[Toleration], want: Rejection | None) -> None:
    answer = run_filter(NodeUnschedulable(), [node("a", cordoned=cordoned)], pod(tolerations=tolerations))

    assert want == answer.on("a")


def twin(pod: Pod, node: Node) -> Rejection | None:
    bears = any(
        t.key in {"", KEY}
        and t.effect in {"", "NoSchedule"}
        and (t.operator == "Exists" or (t.operator in {"", "Equal"} and t.value == ""))
        for t in pod.spec.tolerations
    )
    return CORDONED if node.spec.unschedulable and not bears else None


@given(scenes(), pods())
def test_kernel_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    want = {n.name: twin(pod, n) for n in scene.nodes}

    assert want == run_filter(NodeUnschedulable(), scene.cluster(), pod).by_node


OPEN, SHUT = node("a"), node("a", cordoned=True)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, OPEN, True, id="an open node came"),
        pytest.param(None, SHUT, False, id="a cordoned node came"),
        pytest.param(SHUT, OPEN, True, id="a node was opened"),
        pytest.param(OPEN, SHUT, False, id="a node was cordoned"),
    ],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    assert want == run_wakes(NodeUnschedulable(), pod(), old=old, new=new)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(pod("parked", tolerations=[tolerate(KEY)]), True, id="it bears with the cordon now"),
        pytest.param(pod("parked", tolerations=[tolerate("gpu")]), False, id="it bears with something else now"),
        pytest.param(pod("other", tolerations=[tolerate(KEY)]), False, id="another pod does"),
    ],
)
def test_tolerations_that_wake(changed: Pod, want: bool) -> None:
    assert want == run_wakes(NodeUnschedulable(), pod("parked"), old=pod(changed.name), new=changed)
