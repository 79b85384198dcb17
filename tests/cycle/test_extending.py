"""Extenders turn nodes down after the filters and add to the scores; who fails is left out, or fails the attempt."""

from collections.abc import Sequence

import numpy as np
import pytest

from stowplan.columns.rows import Rows
from stowplan.cycle.extending import filter_by_extenders, score_by_extenders
from stowplan.framework.extender import Extender
from stowplan.framework.plugin import PluginError
from stowplan.framework.ranking import PluginScore, Scores, summed
from stowplan.framework.runner import Judgement, Rejected
from stowplan.framework.verdict import Rejection, rejection, unresolvable
from stowplan.testing.builders import cluster, node, pod
from tests.cycle.scene import FULL, FakeExtender, compiled

POD = compiled(pod())


def rows() -> Rows:
    return cluster(node("a"), node("b"), node("c")).view().rows


def judgement() -> Judgement:
    """All pass the filters but c."""
    return Judgement(rows(), np.array([0, 0, 1], np.int32), [Rejected("Filter", FULL)])


def by_node(judged: Judgement) -> dict[str, tuple[str, Rejection]]:
    found = {name: judged.at(at) for at, name in enumerate(judged.rows.names)}
    return {name: (rejected.plugin, rejected.why) for name, rejected in found.items() if rejected is not None}


FILTERED = {"c": ("Filter", FULL)}


@pytest.mark.parametrize(
    ("extenders", "left", "want"),
    [
        pytest.param([], ["a", "b"], FILTERED, id="without extenders the filters have the word"),
        pytest.param([FakeExtender(failed={"a": "busy"})], ["b"],
                     {**FILTERED, "a": ("Extender", rejection("busy"))}, id="a node turned down"),
        pytest.param([FakeExtender(failed_for_good={"a": "broken"})], ["b"],
                     {**FILTERED, "a": ("Extender", unresolvable("broken"))}, id="a node turned down for good"),
        pytest.param([FakeExtender(failed={"a": "busy"}, failed_for_good={"a": "broken"})], ["b"],
                     {**FILTERED, "a": ("Extender", unresolvable("broken"))}, id="of both, for good counts"),
        pytest.param([FakeExtender(failed={"elsewhere": "busy"})], ["a", "b"], FILTERED,
                     id="nodes that nobody asked about do not count"),
        pytest.param([FakeExtender(failed_for_good={"elsewhere": "broken"})], ["a", "b"], FILTERED,
                     id="not even for good"),
        pytest.param([FakeExtender(dropped=["a"])], ["b"], FILTERED, id="a node dropped without a word"),
        pytest.param([FakeExtender(failed={"a": "busy"}), FakeExtender(fails_on=["a"])], ["b"],
                     {**FILTERED, "a": ("Extender", rejection("busy"))}, id="the next is asked about what is left"),
        pytest.param([FakeExtender(dropped=["a", "b"]), FakeExtender(failed={"a": "busy"})], [], FILTERED,
                     id="nobody is asked about nothing"),
        pytest.param([FakeExtender(failed={"a": "busy"}, wants=False)], ["a", "b"], FILTERED,
                     id="one that is not interested in the pod"),
        pytest.param([FakeExtender(failed={"a": "busy"}, filters=False)], ["a", "b"], FILTERED,
                     id="one that does not filter"),
        pytest.param([FakeExtender(fails_on=["a"], ignorable=True)], ["a", "b"], FILTERED,
                     id="a failure that may be ignored"),
    ],
)  # fmt: skip
def test_filtering(extenders: Sequence[Extender], left: list[str], want: dict[str, tuple[str, Rejection]]) -> None:
    judged = judgement()

    feasible = filter_by_extenders(extenders, POD, judged)

    assert left == feasible.names
    assert want == by_node(judged)


def test_a_plugin_that_is_overruled_still_counts() -> None:
    judged = judgement()

    filter_by_extenders([FakeExtender(failed_for_good={"c": "broken"})], POD, judged)

    assert {"c": ("Extender", unresolvable("broken"))} == by_node(judged)
    assert {"Filter"} == judged.overruled


def test_a_failure_fails_the_attempt() -> None:
    with pytest.raises(PluginError, match=r"^unreachable$"):
        filter_by_extenders([FakeExtender(fails_on=["a"])], POD, judgement())


@pytest.mark.parametrize(
    ("extenders", "want"),
    [
        pytest.param([], [50, 60, 70], id="without extenders the plugins have the word"),
        pytest.param([FakeExtender(points={"a": 3, "b": 10})], [50 + 30, 60 + 100, 70],
                     id="points up to 10 count like scores up to 100"),
        pytest.param([FakeExtender(points={"a": 3}, weight=2)], [50 + 3 * 2 * 10, 60, 70], id="with their weight"),
        pytest.param([FakeExtender(points={"a": 1}), FakeExtender(points={"a": 2})], [50 + 10 + 20, 60, 70],
                     id="those of all extenders"),
        pytest.param([FakeExtender(points={"a": 1}, fails_on=["a"]), FakeExtender(points={"b": 1})], [50, 60 + 10, 70],
                     id="one that fails gives nothing"),
        pytest.param([FakeExtender(points={"a": 1}, wants=False)], [50, 60, 70], id="nor one that is not interested"),
        pytest.param([FakeExtender(points={"a": 1}, prioritizes=False)], [50, 60, 70], id="nor one without priorities"),
    ],
)  # fmt: skip
def test_scoring(extenders: Sequence[Extender], want: list[int]) -> None:
    given_n = np.array([50, 60, 70])

    scores = score_by_extenders(extenders, POD, Scores(rows(), (PluginScore("Plugin", 1, given_n, given_n),), given_n))

    assert want == scores.total_n.tolist()
    assert want == summed(scores.by_plugin, 3).tolist()
