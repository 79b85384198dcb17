"""Taints: hard ones reject, soft ones count."""

from collections.abc import Sequence

import pytest
from hypothesis import given

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.tolerations import tolerates
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import PluginContext
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.taint_toleration import TaintToleration
from stowplan.testing.builders import node, pod, taint, tolerate
from stowplan.testing.running import run_filter, run_score, run_wakes
from tests.plugins.generated import Scene, pods, scenes

UNTOLERATED = unresolvable("node(s) had untolerated taint(s)")
SOFT = "PreferNoSchedule"


@pytest.mark.parametrize(
    ("taints", "tolerations", "want"),
    [
        pytest.param([], [], None, id="a node without taints takes any pod"),
        pytest.param([taint("gpu")], [], UNTOLERATED, id="a hard taint refuses a plain pod"),
        pytest.param([taint("gpu", effect="NoExecute")], [], UNTOLERATED, id="so does one that evicts"),
        pytest.param([taint("gpu", effect=SOFT)], [], None, id="a soft taint refuses nobody"),
        pytest.param([taint("gpu", "a")], [tolerate("gpu", "a")], None, id="the value is tolerated"),
        pytest.param([taint("gpu", "a")], [tolerate("gpu", "b")], UNTOLERATED, id="another value is tolerated"),
        pytest.param([taint("gpu"), taint("spot")], [tolerate("gpu")], UNTOLERATED, id="one of two is tolerated"),
        pytest.param([taint("gpu"), taint("spot")], [tolerate()], None, id="everything is tolerated"),
    ],
)
def test_filter(taints: list[Taint], tolerations: list[Toleration], want: Rejection | None) -> None:
    answer = run_filter(TaintToleration(), [node("a", taints=taints)], pod(tolerations=tolerations))

    assert want == answer.on("a")


@pytest.mark.parametrize(
    ("tolerations", "want"),
    [
        pytest.param([], {"none": 100, "one": 50, "two": 0}, id="100 - 100 * count / most"),
        pytest.param(
            [tolerate("a", effect=SOFT)], {"none": 100, "one": 100, "two": 0}, id="tolerated ones do not count"
        ),
        pytest.param(
            [tolerate("a", effect="NoSchedule")], {"none": 100, "one": 50, "two": 0}, id="not for that effect"
        ),
        pytest.param([tolerate()], {"none": 100, "one": 100, "two": 100}, id="nothing counts"),
    ],
)
def test_score(tolerations: list[Toleration], want: dict[str, int]) -> None:
    nodes = [
        node("none", taints=[taint("hard")]),
        node("one", taints=[taint("a", effect=SOFT)]),
        node("two", taints=[taint("a", effect=SOFT), taint("b", effect=SOFT)]),
    ]

    assert want == run_score(TaintToleration(), nodes, pod(tolerations=tolerations), normalized=True)


@pytest.mark.parametrize(
    ("gate", "want"), [pytest.param(True, None, id="on"), pytest.param(False, UNTOLERATED, id="off")]
)
def test_comparisons_count_under_their_gate(gate: bool, want: Rejection | None) -> None:
    context = PluginContext(gates=Gates({"TaintTolerationComparisonOperators": gate}))
    over = Toleration(key="sla", operator="Gt", value="900")

    answer = run_filter(
        TaintToleration.create(None, context), [node("a", taints=[taint("sla", "950")])], pod(tolerations=[over])
    )

    assert want == answer.on("a")


def borne(pod: Pod, mark: Taint) -> bool:
    return any(tolerates(toleration, mark) for toleration in pod.spec.tolerations)


def twin_filter(pod: Pod, where: Node) -> Rejection | None:
    for mark in where.spec.taints:
        if mark.effect != SOFT and not borne(pod, mark):
            return UNTOLERATED
    return None


def twin_scores(pod: Pod, nodes: Sequence[Node]) -> list[int]:
    counts = []
    for where in nodes:
        count = 0
        for mark in where.spec.taints:
            if mark.effect == SOFT and not borne(pod, mark):
                count += 1
        counts.append(count)
    most = max(counts)
    return [100 if most == 0 else 100 - 100 * count // most for count in counts]


@given(scenes(), pods())
def test_kernels_agree_with_their_twins(scene: Scene, pod: Pod) -> None:
    want = {n.name: twin_filter(pod, n) for n in scene.nodes}

    assert want == run_filter(TaintToleration(), scene.cluster(), pod).by_node
    scores = run_score(TaintToleration(), scene.cluster(), pod, normalized=True)
    assert twin_scores(pod, scene.nodes) == [scores[n.name] for n in scene.nodes]


def test_taints_seen_later_are_judged_too() -> None:
    plugin, web = TaintToleration(), pod()
    cluster = Scene((node("a", taints=[taint("gpu")]),), {}).cluster()
    assert set() == run_filter(plugin, cluster, web).passed()

    cluster.put_node(node("b", taints=[taint("new", effect=SOFT)]))
    cluster.put_node(node("c", taints=[taint("newer")]))

    assert {"b"} == run_filter(plugin, cluster, web).passed()


PLAIN, HARD, SOFTER = node("a"), node("a", taints=[taint("gpu")]), node("a", taints=[taint("gpu", effect=SOFT)])


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, PLAIN, True, id="a node that it bears with came"),
        pytest.param(None, HARD, False, id="a node that it does not bear with came"),
        pytest.param(HARD, SOFTER, True, id="a hard taint became a soft one"),
        pytest.param(PLAIN, SOFTER, False, id="it bore with the node before"),
        pytest.param(HARD, node("a", taints=[taint("spot")]), False, id="one hard taint took the place of another"),
    ],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    assert want == run_wakes(TaintToleration(), pod(), old=old, new=new)


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(pod("parked", tolerations=[tolerate("any")]), True, id="its own tolerations changed"),
        pytest.param(pod("other", tolerations=[tolerate("any")]), False, id="those of another pod did"),
    ],
)
def test_tolerations_that_wake(changed: Pod, want: bool) -> None:
    assert want == run_wakes(TaintToleration(), pod("parked"), old=pod(changed.name), new=changed)
