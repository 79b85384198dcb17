"""Profiles: plugins at the points where they are enabled, and what becomes of those that score unprepared."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Plugin, PluginError, Point, PreScorePlugin, ScorePlugin
from stowplan.framework.profile import PluginEntry, Profile, ProfileSpec, build_profile
from stowplan.framework.registry import Registry
from stowplan.goarith import IntN
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.testing.builders import node, pod
from tests.cycle.scene import attempt


class Likes(PreScorePlugin[str], ScorePlugin[str]):
    """Likes the node that it made up its mind about while preparing."""

    name = "Likes"

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> str:
        return "b"

    def score(self, pod: PodInfo, rows: Rows, plan: str) -> IntN:
        return np.array([100 * (name == plan) for name in rows.names], np.int64)


class Insists(Likes):
    """The same, but it will not score unprepared."""

    name = "Insists"
    unprepared = "nobody asked"


def profile(plugin: type[Plugin], *points: Point) -> Profile:
    """A plugin at some points."""
    at: dict[str, tuple[PluginEntry, ...]] = {point: (PluginEntry(plugin.name, 1),) for point in points}
    at[Point.QUEUE_SORT] = (PluginEntry(PrioritySort.name),)
    spec = ProfileSpec(scheduler_name="p", points=at)
    return build_profile(spec, Registry((PrioritySort, plugin)), Gates())


@pytest.mark.parametrize(
    ("points", "want"),
    [
        pytest.param([Point.PRE_SCORE, Point.SCORE], (["Likes"], []), id="asked to prepare"),
        pytest.param([Point.SCORE], ([], ["Likes"]), id="not asked to prepare"),
        pytest.param([Point.PRE_SCORE], (["Likes"], []), id="not asked to score"),
    ],
)
def test_who_prepares_when(points: list[Point], want: tuple[list[str], list[str]]) -> None:
    made = profile(Likes, *points)

    assert want == ([p.name for p in made.pre_scores], [p.name for p in made.late_pre_scores])


@pytest.mark.parametrize("points", [[Point.PRE_SCORE, Point.SCORE], [Point.SCORE]], ids=["in time", "late"])
def test_a_plugin_scores_prepared(points: list[Point]) -> None:
    decision, _ = attempt([node("a"), node("b")], pod(), profile(Likes, *points))

    assert "b" == decision.trace.node_name


def test_one_that_will_not_be_late_fails_the_attempt() -> None:
    with pytest.raises(PluginError, match=r'^running Score plugins: plugin "Insists" failed with: nobody asked$'):
        attempt([node("a"), node("b")], pod(), profile(Insists, Point.SCORE))
