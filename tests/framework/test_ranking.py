"""A plugin's scores are normalised, held to their range, weighed and added up."""

from typing import Any

import numpy as np
import pytest

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import PluginError, ScorePlugin
from stowplan.framework.ranking import PluginScore, Scorer, check_range, summed
from stowplan.goarith import IntN
from stowplan.testing.builders import cluster, node, pod

BUILT = cluster(node("a"), node("b"))
ROWS = BUILT.view().rows
POD = BUILT.compiler.compile(pod())


class Halving(ScorePlugin[Any]):
    """Scores what the plan says, and halves it."""

    name = "Halving"

    def score(self, pod: PodInfo, rows: Rows, plan: Any) -> IntN:
        if isinstance(plan, Exception):
            raise plan
        return np.array(plan)

    def normalize(self, pod: PodInfo, rows: Rows, plan: Any, raw_n: IntN) -> IntN:
        return raw_n // 2


def ranked(plan: object) -> PluginScore:
    scorer = Scorer(Halving(), 3, plan)
    return scorer.rank(POD, ROWS, scorer.raw(POD, ROWS))


def test_the_normalised_score_counts_with_its_weight() -> None:
    score = ranked([200, 60])

    assert [200, 60] == score.raw_n.tolist()
    assert [100, 30] == score.normalized_n.tolist()
    assert [100 * 3, 30 * 3] == score.weighted_n.tolist()


def test_a_plugin_that_fails_is_named() -> None:
    with pytest.raises(PluginError, match=r'^running Score plugins: plugin "Halving" failed with: no luck$'):
        ranked(PluginError("no luck"))


def plugin_score(weight: int, *normalized: int) -> PluginScore:
    return PluginScore("Plugin", weight, np.zeros(len(normalized), np.int64), np.array(normalized))


@pytest.mark.parametrize(
    ("by_plugin", "want"),
    [
        pytest.param([], [0, 0], id="nobody scores"),
        pytest.param([plugin_score(2, 100, 7)], [200, 14], id="one plugin"),
        pytest.param(
            [plugin_score(2, 100, 7), plugin_score(1, 0, 50)], [200, 14 + 50], id="the weighted scores of all"
        ),
        pytest.param([plugin_score(0, 100, 7)], [0, 0], id="no weight, no say"),
    ],
)
def test_sum(by_plugin: list[PluginScore], want: list[int]) -> None:
    assert want == summed(by_plugin, 2).tolist()


@pytest.mark.parametrize(
    ("scores", "bad"),
    [
        pytest.param([0, 101], 101, id="too much"),
        pytest.param([-1, 100], -1, id="too little"),
        pytest.param([-2, 200], -2, id="of both, too little"),
    ],
)
def test_out_of_range(scores: list[int], bad: int) -> None:
    want = (
        f'applying score defaultWeights on Score plugins: plugin "Odd" returns an invalid score {bad}, '
        "it should in the range of [0, 100] after normalizing"
    )

    with pytest.raises(PluginError) as caught:
        check_range("Odd", np.array(scores))

    assert want == str(caught.value)


def test_the_ends_of_the_range_are_scores() -> None:
    check_range("Fair", np.array([0, 100]))


def test_the_range_is_that_of_normalised_scores() -> None:
    assert [100, 0] == ranked([201, 1]).normalized_n.tolist()
