"""The memo never changes an answer, whatever happens to the cluster in between, and it does save work."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.pod import Pod
from stowplan.composition import set_up
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Trace
from stowplan.framework.memo import MOST_KEPT, Memo
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


def test_only_classes_seen_lately_are_kept() -> None:
    state = cluster(node("n"))
    memo = Memo()
    first = state.compiler.compile(pod("first", labels={"app": "0"}))
    like_first = state.compiler.compile(pod("like-first", labels={"app": "0"}))
    standing = memo.standing(PROFILE, first, state.view())

    assert standing is memo.standing(PROFILE, like_first, state.view())
    for i in range(MOST_KEPT):
        memo.standing(PROFILE, state.compiler.compile(pod("other", labels={"app": f"other-{i}"})), state.view())

    assert standing is not memo.standing(PROFILE, first, state.view())


def test_a_pod_that_names_its_node_is_not_like_its_class() -> None:
    state = cluster(node("n"))

    assert Memo().standing(PROFILE, state.compiler.compile(pod("p", on="n")), state.view()) is None
