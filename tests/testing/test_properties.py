"""The properties catch plugins that break them."""

import numpy as np
import pytest

from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import Depends, FilterPlugin, Plugin, ScorePlugin
from stowplan.framework.verdict import Verdict, rejection
from stowplan.goarith import IntN
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.properties import assert_kept_answers_hold, assert_rows_agree, assert_worlds_agree

NO = rejection("no")


def three_nodes() -> Cluster:
    return cluster(node("a"), node("b"), node("c"), pod("x", on="b"), pod("y", on="c"))


class RejectsTheFirst(FilterPlugin[None]):
    """Looks at the position, not at the node."""

    name = "RejectsTheFirst"

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        return Verdict.reject_where(np.arange(len(rows)) == 0, NO)


class RanksAmongOthers(ScorePlugin[None]):
    """Scores a node by its place among those it sees."""

    name = "RanksAmongOthers"

    def score(self, pod: PodInfo, rows: Rows, plan: None) -> IntN:
        return rows.pod_count.argsort().argsort().astype(np.int64)


class LooksPastWorlds(FilterPlugin[None]):
    """Reads the table instead of the rows, and says so little of what it depends on."""

    name = "LooksPastWorlds"
    depends = Depends.NODE

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        return Verdict.reject_where(rows.view.nodes.pod_count.data[rows.index] > 0, NO)


class Honest(FilterPlugin[None], ScorePlugin[None]):
    """Does everything right."""

    name = "Honest"
    depends = Depends.LOAD

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        return Verdict.reject_where(rows.pod_count > 0, NO)

    def score(self, pod: PodInfo, rows: Rows, plan: None) -> IntN:
        return rows.pod_count + 0


@pytest.mark.parametrize("plugin", [RejectsTheFirst(), RanksAmongOthers()], ids=lambda plugin: plugin.name)
def test_answers_that_depend_on_other_rows_are_caught(plugin: Plugin) -> None:
    with pytest.raises(AssertionError, match=f"{plugin.name} judges .* otherwise among other rows"):
        assert_rows_agree(plugin, three_nodes(), pod())


def test_filters_that_look_past_worlds_are_caught() -> None:
    with pytest.raises(AssertionError, match="LooksPastWorlds judges a otherwise with default/guest in a world"):
        assert_worlds_agree(LooksPastWorlds(), three_nodes, pod(), pod("guest"))


def test_plugins_that_depend_on_more_than_they_say_are_caught() -> None:
    with pytest.raises(AssertionError, match="LooksPastWorlds depends on more than NODE: a: "):
        assert_kept_answers_hold(LooksPastWorlds(), three_nodes(), pod(), lambda it: it.put(pod("new", on="a")))


def test_scores_of_the_wrong_type_are_caught() -> None:
    class Floats(ScorePlugin[None]):
        name = "Floats"

        def score(self, pod: PodInfo, rows: Rows, plan: None) -> IntN:
            return rows.pod_count / 2  # type: ignore[return-value]

    with pytest.raises(AssertionError, match="Floats returns scores of type float64"):
        assert_rows_agree(Floats(), three_nodes(), pod())


def test_an_honest_plugin_passes() -> None:
    assert_rows_agree(Honest(), three_nodes(), pod())
    assert_worlds_agree(Honest(), three_nodes, pod(), pod("guest"))
    assert_kept_answers_hold(Honest(), three_nodes(), pod(), lambda it: it.put(pod("new", on="a")))
