"""Node selectors and node affinity, the profile's and the pod's."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given

from stowplan.api.affinity import Affinity, NodeSelectorTerm
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.framework.plugin import PluginContext, PluginError
from stowplan.framework.plugin_args import NodeAffinityArgs
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.node_affinity import NodeAffinity
from stowplan.testing.builders import node, node_term, on_nodes, pod
from stowplan.testing.running import Answer, run_filter, run_score, run_wakes
from tests.plugins.generated import Scene, pods, scenes

MISMATCH = unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED = unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = unresolvable("pod affinity terms conflict")

SSD = node_term(("disk", "In", ["ssd"]))
NODES = [
    node("ssd-1", labels={"disk": "ssd", "gen": "1"}),
    node("ssd-9", labels={"disk": "ssd", "gen": "9"}),
    node("hdd", labels={"disk": "hdd", "gen": "x"}),
    node("bare"),
]


def added(affinity: Affinity) -> NodeAffinity:
    return NodeAffinity.create(NodeAffinityArgs(added_affinity=affinity.node_affinity), PluginContext())


@pytest.mark.parametrize(
    ("term", "want"),
    [
        pytest.param(SSD, {"ssd-1", "ssd-9"}, id="In one value"),
        pytest.param(node_term(("disk", "In", ["ssd", "hdd", "tape"])), {"ssd-1", "ssd-9", "hdd"}, id="In several"),
        pytest.param(node_term(("disk", "In", ["tape"])), set(), id="In a value that no node has"),
        pytest.param(node_term(("disk", "NotIn", ["ssd"])), {"hdd", "bare"}, id="NotIn holds without the label"),
        pytest.param(node_term(("disk", "Exists", [])), {"ssd-1", "ssd-9", "hdd"}, id="Exists"),
        pytest.param(node_term(("disk", "DoesNotExist", [])), {"bare"}, id="DoesNotExist"),
        pytest.param(node_term(("gen", "Gt", ["1"])), {"ssd-9"}, id="Gt passes over what is no number"),
        pytest.param(node_term(("gen", "Lt", ["9"])), {"ssd-1"}, id="Lt needs the label"),
        pytest.param(node_term(("disk", "In", ["ssd"]), ("gen", "Gt", ["4"])), {"ssd-9"}, id="all of a term must hold"),
        pytest.param(node_term(), set(), id="an empty term matches no node"),
        pytest.param(node_term(("disk", "Like", ["ssd"])), set(), id="a malformed term matches no node"),
    ],
)
def test_required_term(term: NodeSelectorTerm, want: set[str]) -> None:
    assert want == run_filter(NodeAffinity(), NODES, pod(affinity=on_nodes(term))).passed()


@pytest.mark.parametrize(
    ("wanting", "want"),
    [
        pytest.param(pod(node_selector={"disk": "ssd", "gen": "1"}), {"ssd-1"}, id="all of a node selector must hold"),
        pytest.param(
            pod(affinity=on_nodes(SSD, node_term(("disk", "DoesNotExist", [])))),
            {"ssd-1", "ssd-9", "bare"},
            id="one of several terms is enough",
        ),
        pytest.param(
            pod(node_selector={"gen": "9"}, affinity=on_nodes(SSD)),
            {"ssd-9"},
            id="selector and affinity both hold",
        ),
        pytest.param(
            pod(affinity=on_nodes(node_term(("disk", "Like", [])), SSD)),
            {"ssd-1", "ssd-9"},
            id="a malformed term does not spoil the others",
        ),
    ],
)
def test_filter(wanting: Pod, want: set[str]) -> None:
    answer = run_filter(NodeAffinity(), NODES, wanting)

    assert want == answer.passed()
    assert {MISMATCH, None} >= set((answer.by_node or {}).values())


@pytest.mark.parametrize(
    ("terms", "want"),
    [
        pytest.param([node_term(names=["hdd"])], {"hdd"}, id="a term by name leaves that node"),
        pytest.param([node_term(names=["hdd"]), node_term(names=["bare"])], {"hdd", "bare"}, id="terms by name add up"),
        pytest.param([node_term(names=["hdd"]), SSD], None, id="a term by label lets any node in"),
        pytest.param([node_term(("disk", "Exists", []), names=["bare"])], {"bare"}, id="the labels are the filter's"),
    ],
)
def test_prepare_restricts_to_named_nodes(terms: Sequence[NodeSelectorTerm], want: set[str] | None) -> None:
    answer = run_filter(NodeAffinity(), NODES, pod(affinity=on_nodes(*terms)))

    assert want == answer.node_names


def twice_named(first: str, second: str) -> NodeSelectorTerm:
    one, other = node_term(names=[first]), node_term(names=[second])
    return NodeSelectorTerm(match_fields=one.match_fields + other.match_fields)


def test_a_term_that_names_two_nodes_at_once_conflicts() -> None:
    assert Answer(rejected=CONFLICT) == run_filter(
        NodeAffinity(), NODES, pod(affinity=on_nodes(twice_named("hdd", "bare")))
    )


@pytest.mark.parametrize(
    "wanting",
    [pytest.param(pod(), id="a plain pod"), pytest.param(pod(affinity=on_nodes(prefer=[(1, SSD)])), id="only wishes")],
)
def test_pods_that_require_nothing_are_skipped(wanting: Pod) -> None:
    assert Answer(skipped=True) == run_filter(NodeAffinity(), NODES, wanting)


def test_the_profile_adds_requirements_and_its_word_comes_first() -> None:
    answer = run_filter(added(on_nodes(SSD)), NODES, pod(node_selector={"gen": "9"}))

    assert {"ssd-1": MISMATCH, "ssd-9": None, "hdd": ENFORCED, "bare": ENFORCED} == answer.by_node


@pytest.mark.parametrize(
    ("wanting", "want"),
    [
        pytest.param(pod(), {}, id="a pod without wishes is not scored"),
        pytest.param(
            pod(affinity=on_nodes(prefer=[(20, SSD), (30, node_term(("gen", "Gt", ["4"])))])),
            {"ssd-1": 40, "ssd-9": 100, "hdd": 0, "bare": 0},
            id="weights add up, then 100 * sum / most: 20 of 50 and 50 of 50",
        ),
        pytest.param(
            pod(affinity=on_nodes(prefer=[(3, SSD), (3, SSD), (1, node_term(("disk", "Exists", [])))])),
            {"ssd-1": 100, "ssd-9": 100, "hdd": 14, "bare": 0},
            id="100 * 1 / 7 is cut to 14",
        ),
        pytest.param(
            pod(affinity=on_nodes(prefer=[(5, node_term())])),
            {"ssd-1": 0, "ssd-9": 0, "hdd": 0, "bare": 0},
            id="an empty wish counts nothing",
        ),
        pytest.param(
            pod(affinity=on_nodes(prefer=[(5, node_term(names=["bare"]))])),
            {"ssd-1": 0, "ssd-9": 0, "hdd": 0, "bare": 100},
            id="a wish by name",
        ),
    ],
)
def test_score(wanting: Pod, want: dict[str, int]) -> None:
    assert want == run_score(NodeAffinity(), NODES, wanting, normalized=True)


def test_the_profile_adds_wishes() -> None:
    plugin = added(on_nodes(prefer=[(1, node_term(("disk", "Exists", [])))]))
    own = pod(affinity=on_nodes(prefer=[(3, SSD)]))

    assert {"ssd-1": 4, "ssd-9": 4, "hdd": 1, "bare": 0} == run_score(plugin, NODES, own)
    assert {"ssd-1": 1, "ssd-9": 1, "hdd": 1, "bare": 0} == run_score(plugin, NODES, pod())


def test_a_malformed_wish_fails_the_attempt() -> None:
    wanting = pod(affinity=on_nodes(prefer=[(1, node_term(("disk", "Like", [])))]))

    with pytest.raises(PluginError, match=r'\[0\].matchExpressions\[0\].operator: Unsupported value: "Like"'):
        run_score(NodeAffinity(), NODES, wanting)


@pytest.mark.parametrize(
    ("affinity", "where"),
    [
        pytest.param(on_nodes(node_term(("disk", "Like", []))), "required", id="required"),
        pytest.param(on_nodes(prefer=[(1, node_term(("disk", "Like", [])))]), "preferred", id="preferred"),
    ],
)
def test_a_malformed_affinity_of_the_profile_is_refused(affinity: Affinity, where: str) -> None:
    with pytest.raises(ValueError, match=f"parsing addedAffinity.{where}DuringScheduling.*Like"):
        added(affinity)


def twin_expression(operator: str, values: Sequence[str], value: str | None) -> bool | None:
    """None when the expression is malformed."""
    match operator:
        case "In":
            return None if not values else value in values
        case "NotIn":
            return None if not values else value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            if value is None or not value.isdecimal():
                return False
            return int(value) > int(values[0]) if operator == "Gt" else int(value) < int(values[0])
    return None


def twin_term(term: NodeSelectorTerm, where: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    if any(len(field.values) != 1 for field in term.match_fields):
        return False
    parts = [twin_expression(e.operator, e.values, where.labels.get(e.key)) for e in term.match_expressions]
    if any(part is None for part in parts):
        return False
    return all(parts) and all(field.values[0] == where.name for field in term.match_fields)


def twin_filter(pod: Pod, where: Node) -> Rejection | None:
    labels: Mapping[str, str] = where.labels
    if any(labels.get(key) != value for key, value in pod.spec.node_selector.items()):
        return MISMATCH
    affinity = pod.spec.affinity
    required = affinity.node_affinity.required if affinity and affinity.node_affinity else None
    if required is None or any(twin_term(term, where) for term in required.node_selector_terms):
        return None
    return MISMATCH


def twin_score(pod: Pod, where: Node) -> int:
    affinity = pod.spec.affinity
    wishes = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
    score = 0
    for wish in wishes:
        if twin_term(wish.preference, where):
            score += wish.weight
    return score


@given(scenes(), pods())
def test_kernels_agree_with_their_twins(scene: Scene, pod: Pod) -> None:
    answer = run_filter(NodeAffinity(), scene.cluster(), pod)
    scores = run_score(NodeAffinity(), scene.cluster(), pod)

    for where in scene.nodes:
        if answer.rejected is None:
            assert twin_filter(pod, where) == answer.on(where.name)
        if scores:
            assert twin_score(pod, where) == scores[where.name]


SSD_NODE, HDD_NODE = node("a", labels={"disk": "ssd"}), node("a", labels={"disk": "hdd"})


@pytest.mark.parametrize(
    ("plugin", "terms", "old", "new", "want"),
    [
        pytest.param(NodeAffinity(), [SSD], None, SSD_NODE, True, id="a node that matches came"),
        pytest.param(NodeAffinity(), [SSD], None, HDD_NODE, False, id="one that does not match came"),
        pytest.param(NodeAffinity(), [SSD], HDD_NODE, SSD_NODE, True, id="a node came to match"),
        pytest.param(
            NodeAffinity(), [SSD], SSD_NODE, node("a", labels={"disk": "ssd", "x": "y"}), False, id="it matched before"
        ),
        pytest.param(
            NodeAffinity(),
            [node_term(("disk", "Like", []))],
            None,
            SSD_NODE,
            True,
            id="a malformed term is no no",
        ),
        pytest.param(
            added(on_nodes(SSD)),
            [node_term(("x", "Exists", []))],
            None,
            HDD_NODE,
            False,
            id="the profile objects",
        ),
        pytest.param(
            added(on_nodes(SSD)),
            [node_term(("disk", "Exists", []))],
            None,
            SSD_NODE,
            True,
            id="both wants are met",
        ),
    ],
)
def test_nodes_that_wake(
    plugin: NodeAffinity, terms: Sequence[NodeSelectorTerm], old: Node | None, new: Node, want: bool
) -> None:
    assert want == run_wakes(plugin, pod(affinity=on_nodes(*terms)), old=old, new=new)


def test_a_malformed_term_does_not_wake_where_the_selector_keeps_the_pod_away() -> None:
    wanting = pod(node_selector={"disk": "ssd"}, affinity=on_nodes(node_term(("disk", "Like", []))))

    assert run_wakes(NodeAffinity(), wanting, new=SSD_NODE)
    assert not run_wakes(NodeAffinity(), wanting, new=HDD_NODE)
