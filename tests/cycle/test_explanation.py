"""A trace told in words and tables."""

from collections.abc import Sequence
from random import Random

import pytest

from stowplan.cycle.decision import Trace
from stowplan.cycle.explanation import Exhaustive, NodeAnswer, NodeScore, PluginTold, Preemption, Reason, explain
from stowplan.framework.plugin import Plugin, Restricted
from stowplan.framework.post_filter import Nomination
from stowplan.framework.runner import Prepared, run_every_filter
from stowplan.framework.verdict import rejection, unresolvable
from stowplan.testing.builders import node, pod
from tests.cycle.scene import FULL, attempt, compiled, makes_room, prepares, profile_of, rejects, scores

ODD = unresolvable("node(s) were odd")
BOTH = rejection("node(s) were full", "node(s) were slow")
ONLY_BC = prepares("Pre", Restricted(None, frozenset("bc")))
A_IS_FULL = rejects("Full", {"a": FULL})


def trace_of(names: str, *plugins: type[Plugin], nominated: str = "") -> Trace:
    """An attempt for default/p among nodes of one letter each."""
    decision, _ = attempt([node(name) for name in names], pod("p", nominated=nominated), profile_of(*plugins))
    return decision.trace


def reason(plugin: str, text: str, nodes: str, *, code: str = "Unschedulable") -> Reason:
    return Reason(plugin=plugin, code=code, reason=text, nodes=len(nodes), examples=tuple(nodes))


FOR_GOOD = "UnschedulableAndUnresolvable"
LEFT_OUT = "node(s) didn't satisfy plugin(s) [Pre]"


@pytest.mark.parametrize(
    ("names", "plugins", "want"),
    [
        pytest.param("ab", [scores("Liking", {})], [], id="all nodes fit"),
        pytest.param("dcba", [rejects("Full", {"a": FULL}), rejects("Odd", {"d": ODD, "a": ODD, "b": ODD})],
                     [reason("Odd", "node(s) were odd", "bd", code=FOR_GOOD), reason("Full", "node(s) were full", "a")],
                     id="the first rejection of each node, the most frequent first"),
        pytest.param("ab", [rejects("Full", {"a": FULL, "b": BOTH})],
                     [reason("Full", "node(s) were full", "ab"), reason("Full", "node(s) were slow", "b")],
                     id="every reason of a rejection"),
        pytest.param("ab", [rejects("A", {"a": FULL}), rejects("B", {"b": FULL})],
                     [reason("A", "node(s) were full", "a"), reason("B", "node(s) were full", "b")],
                     id="equal reasons of two plugins are two"),
        pytest.param("abcdefg", [rejects("Full", dict.fromkeys("abcdefg", FULL))],
                     [Reason(plugin="Full", code="Unschedulable", reason="node(s) were full", nodes=7,
                             examples=tuple("abcde"))], id="five examples, but all are counted"),
        pytest.param("abc", [ONLY_BC, rejects("Full", {"b": FULL})],
                     [Reason(plugin="PreFilter", code=FOR_GOOD, reason=LEFT_OUT, nodes=1),
                      reason("Full", "node(s) were full", "b")], id="nodes that PreFilter leaves out"),
        pytest.param("abc", [prepares("Pre", unresolvable("no such claim"))],
                     [Reason(plugin="Pre", code=FOR_GOOD, reason="no such claim", nodes=3)],
                     id="PreFilter speaks for all nodes"),
    ],
)  # fmt: skip
def test_reasons(names: str, plugins: Sequence[type[Plugin]], want: list[Reason]) -> None:
    assert want == list(explain(trace_of(names, *plugins)).reasons)


@pytest.mark.parametrize(
    ("names", "plugins", "nominated", "want"),
    [
        pytest.param("", [], "", "default/p fits on no node: no nodes available to schedule pods", id="no nodes"),
        pytest.param("a", [A_IS_FULL], "",
                     "default/p fits on no node: 0/1 nodes are available: 1 node(s) were full.", id="no room"),
        pytest.param("ab", [A_IS_FULL], "", "default/p goes to b, the only one of 2 nodes that fits", id="one fits"),
        pytest.param("abc", [A_IS_FULL, scores("Liking", {"c": 7})], "",
                     "default/p goes to c with a score of 7; 2 of 3 nodes fit, next is b with 0", id="the best"),
        pytest.param("abc", [scores("Liking", {"b": 7, "c": 7})], "",
                     "default/p goes to b with a score of 7; 3 of 3 nodes fit, 2 share that score",
                     id="one of the best"),
        pytest.param("ab", [], "b", "default/p goes to b, the node it was nominated to; no other was looked at",
                     id="the nominated one"),
        pytest.param("a", [A_IS_FULL, makes_room("Maker", Nomination("a", [compiled(pod("weak"))]))], "",
                     "default/p fits on no node yet; evicting 1 pod from a would make room", id="a victim"),
        pytest.param("a", [A_IS_FULL, makes_room("Maker", Nomination("a", [compiled(pod("v")), compiled(pod("w"))]))],
                     "", "default/p fits on no node yet; evicting 2 pods from a would make room", id="victims"),
    ],
)  # fmt: skip
def test_verdict(names: str, plugins: Sequence[type[Plugin]], nominated: str, want: str) -> None:
    assert want == explain(trace_of(names, *plugins, nominated=nominated)).verdict


def test_the_table_of_scores() -> None:
    profile = profile_of(scores("A", {"a": 1, "b": 30, "c": 30}), scores("B", {"a": 20}), weights={"A": 2, "B": 3})
    decision, _ = attempt([node(name) for name in "dcba"], pod(), profile)

    told = explain(decision.trace, best=3)

    assert [("a", 1 * 2 + 20 * 3), ("b", 30 * 2), ("c", 30 * 2)] == [(row.node, row.total) for row in told.scores]
    assert (
        PluginTold(plugin="A", raw=1, normalized=1, weight=2, score=2),
        PluginTold(plugin="B", raw=20, normalized=20, weight=3, score=60),
    ) == told.scores[0].plugins


@pytest.mark.parametrize("seed", range(6))
def test_of_equal_nodes_the_chosen_one_leads(seed: int) -> None:
    nodes = [node(name) for name in "abc"]
    decision, _ = attempt(nodes, pod(), profile_of(scores("Liking", {})), ties="random", rng=Random(seed))

    told = explain(decision.trace)

    assert [told.node, *sorted(set("abc") - {told.node})] == [row.node for row in told.scores]


def test_the_numbers_of_an_attempt() -> None:
    told = explain(trace_of("abcd", ONLY_BC, scores("Liking", {})))

    assert ("default/p", True, "b") == (told.pod, told.schedulable, told.node)
    assert (4, 2, 2, 2) == (told.nodes, told.judged, told.feasible, told.ties)


def test_room_that_can_be_made() -> None:
    trace = trace_of("a", A_IS_FULL, makes_room("Maker", Nomination("a", [compiled(pod("weak"))])))

    told = explain(trace)

    assert Preemption(node="a", victims=("default/weak",)) == told.preemption
    assert (False, "") == (told.schedulable, told.node)


# ---- one node

LIKING = PluginTold(plugin="Liking", raw=7, normalized=7, weight=1, score=7)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param("a", NodeAnswer(node="a", fits=False, rejections=(reason("Full", "node(s) were full", "a"),)),
                     id="one that is rejected"),
        pytest.param("b", NodeAnswer(node="b", fits=True, score=NodeScore(node="b", total=7, plugins=(LIKING,))),
                     id="one that fits"),
        pytest.param("d", NodeAnswer(node="d", fits=False,
                                     rejections=(reason("PreFilter", LEFT_OUT, "d", code=FOR_GOOD),)),
                     id="one that PreFilter leaves out"),
    ],
)  # fmt: skip
def test_a_node_that_is_asked_about(asked: str, want: NodeAnswer) -> None:
    only_abc = prepares("Pre", Restricted(None, frozenset("abc")))
    trace = trace_of("abcd", only_abc, A_IS_FULL, scores("Liking", {"b": 7}))

    assert want == explain(trace, node=asked).asked


def test_nobody_asked_about_a_node() -> None:
    assert explain(trace_of("a")).asked is None


# ---- exhaustive


def test_exhaustive_reasons_are_those_of_every_filter() -> None:
    plugins = [rejects("Full", {"a": FULL}), rejects("Odd", {"a": ODD, "b": ODD})]
    trace = trace_of("abc", *plugins, scores("Liking", {}))
    assert trace.judgement is not None
    rows = trace.judgement.rows
    every = Exhaustive(rows, run_every_filter(profile_of(*plugins), Prepared(), trace.pod, rows))

    told = explain(trace, exhaustive=every, node="a")

    odd = reason("Odd", "node(s) were odd", "ab", code=FOR_GOOD)
    assert (odd, reason("Full", "node(s) were full", "a")) == told.reasons
    assert told.exhaustive
    assert told.asked is not None
    assert ["Full", "Odd"] == [rejected.plugin for rejected in told.asked.rejections]
