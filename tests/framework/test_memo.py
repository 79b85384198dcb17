"""The memo never changes an answer, whatever happens to the cluster in between, and it does save work."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.composition import set_up
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Trace
from stowplan.framework.memo import Memo
from stowplan.framework.plugin import Depends, FilterPlugin
from stowplan.framework.verdict import Verdict, rejection
from stowplan.testing.builders import cluster, node, pod
from tests.plugins.generated import Scene, changes, pods, scenes

PROFILE = set_up().first


def told(trace: Trace) -> object:
    """All that a trace says, as plain data."""
    judged = trace.judgement
    scores = trace.scores
    return (
        trace.message,
        None if judged is None else [judged.at(i) for i in range(len(judged.rows))],
        None if scores is None else [(s.plugin, s.raw_n.tolist(), s.normalized_n.tolist()) for s in scores.by_plugin],
        None if scores is None else scores.total_n.tolist(),
        trace.node_name,
    )


@settings(max_examples=60, deadline=None)
@given(scenes(), st.lists(pods(), min_size=1, max_size=2), st.data())
def test_a_decision_is_the_same_with_and_without_kept_answers(
    scene: Scene, waiting: list[Pod], data: st.DataObject
) -> None:
    state = scene.cluster()
    memo = Memo()
    for _ in range(4):
        for each in waiting:
            info = state.compiler.compile(each)
            given_ = Circumstances(rng=Random(1), now=0.0, ties="first", preempt=False)
            kept = Circumstances(rng=Random(1), now=0.0, ties="first", preempt=False, memo=memo)

            want, _ = decide(state.view(), info, PROFILE, given_)
            got, _ = decide(state.view(), info, PROFILE, kept)

            assert told(want.trace) == told(got.trace)
        data.draw(changes())(state)


class Counting(FilterPlugin[None]):
    """Refuses full nodes, and counts how many it was asked about."""

    name = "Counting"
    depends = Depends.LOAD

    def __init__(self) -> None:
        self.asked = 0

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        """Nodes with two pods are full."""
        self.asked += len(rows)
        return Verdict.reject_where(rows.pod_count >= 2, rejection("full"))


def test_only_the_rows_that_changed_are_judged_again() -> None:
    state = cluster(*(node(f"n{i}") for i in range(40)))
    plugin, memo, info = Counting(), Memo(), state.compiler.compile(pod("waiting"))
    memo.verdict(plugin, info, state.view().rows, None)

    state.put_pod(pod("a", on="n3"))
    state.put_pod(pod("b", on="n3"))
    verdict = memo.verdict(plugin, info, state.view().rows, None)

    assert 41 == plugin.asked
    assert rejection("full") == verdict.at(3)


def test_another_plan_or_other_nodes_are_judged_afresh() -> None:
    state = cluster(*(node(f"n{i}") for i in range(40)))
    plugin, memo, info = Counting(), Memo(), state.compiler.compile(pod("waiting"))
    memo.verdict(plugin, info, state.view().rows, None)
    memo.verdict(plugin, info, state.view().rows, "another plan")
    assert 80 == plugin.asked

    state.put_node(node("n40"))
    memo.verdict(plugin, info, state.view().rows, "another plan")

    assert 121 == plugin.asked
