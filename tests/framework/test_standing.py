"""A standing asks again only about rows that changed, and tells what a fresh look would tell."""

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import Depends, FilterPlugin, PluginError, ScorePlugin
from stowplan.framework.ranking import Scorer, Scores
from stowplan.framework.standing import Standing
from stowplan.framework.verdict import Verdict, fatal, rejection
from stowplan.goarith import IntN
from stowplan.testing.builders import cluster, node, pod

FULL = rejection("full")


class Door(FilterPlugin[object]):
    """Refuses nodes with two pods, and counts how many it was asked about."""

    name = "Door"
    depends = Depends.LOAD

    def __init__(self) -> None:
        self.asked = 0

    def filter(self, pod: PodInfo, rows: Rows, plan: object) -> Verdict:
        self.asked += len(rows)
        return Verdict.reject_where(rows.pod_count >= 2, FULL)


class Crowd(ScorePlugin[object]):
    """Scores ten a pod, and counts how many nodes it was asked about."""

    name = "Crowd"
    depends = Depends.LOAD

    def __init__(self) -> None:
        self.asked = 0

    def score(self, pod: PodInfo, rows: Rows, plan: object) -> IntN:
        self.asked += len(rows)
        return rows.pod_count * 10


class ShakyDoor(Door):
    """A door that fails when it is told to, on all nodes that it is asked about or by saying so of each."""

    name = "ShakyDoor"
    how = ""

    def filter(self, pod: PodInfo, rows: Rows, plan: object) -> Verdict:
        if self.how == "raises":
            raise PluginError("not now")
        return Verdict.reject_all(rows, fatal("not now")) if self.how == "says so" else super().filter(pod, rows, plan)


class ShakyCrowd(Crowd):
    """A crowd that fails when it is told to."""

    name = "ShakyCrowd"
    fails = False

    def score(self, pod: PodInfo, rows: Rows, plan: object) -> IntN:
        if self.fails:
            raise PluginError("not now")
        return super().score(pod, rows, plan)


class Relative(Crowd):
    """The same, told as a share of the fullest."""

    name = "Relative"

    def normalize(self, pod: PodInfo, rows: Rows, plan: object, raw_n: IntN) -> IntN:
        return raw_n * 100 // max(int(raw_n.max()), 1)


class Fleet(Crowd):
    """Scores by how many nodes there are that are cordoned."""

    name = "Fleet"
    depends = Depends.FLEET

    def score(self, pod: PodInfo, rows: Rows, plan: object) -> IntN:
        self.asked += len(rows)
        cordoned = int(rows.view.nodes.cordoned.data.sum())
        return np.full(len(rows), cordoned, np.int64)


class Scene:
    """Forty nodes and a standing of one class."""

    def __init__(self) -> None:
        self.state = cluster(*(node(f"n{i}") for i in range(40)))
        self.pod = self.state.compiler.compile(pod("waiting"))
        self.standing = Standing(self.state.view())

    def judge(self, plugin: Door, plan: object = None) -> Verdict:
        view = self.state.view()
        self.standing.catch_up(view)
        return self.standing.verdict(plugin, self.pod, view.rows, plan)

    def score(self, *plugins: Crowd, without: int | None = None) -> Scores:
        view = self.state.view()
        self.standing.catch_up(view)
        rows = view.rows if without is None else view.rows.select(np.arange(len(view)) != without)
        return self.standing.scores([Scorer(plugin, 3, None) for plugin in plugins], self.pod, rows)


def place_two(state: Cluster) -> None:
    """Two pods on n3."""
    state.put_pod(pod("a", on="n3"))
    state.put_pod(pod("b", on="n3"))


def test_only_the_rows_that_changed_are_judged_again() -> None:
    scene, door = Scene(), Door()
    scene.judge(door)
    place_two(scene.state)

    verdict = scene.judge(door)

    assert 41 == door.asked
    assert [None, FULL] == [verdict.at(2), verdict.at(3)]


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param(lambda scene, door: scene.judge(door, "another plan"), 80, id="another plan"),
        pytest.param(lambda scene, _: scene.state.put_node(node("n40")), 81, id="another node"),
        pytest.param(lambda scene, _: scene.state.put_node(node("n3", cordoned=True)), 41, id="a node that changed"),
        pytest.param(
            lambda scene, _: [scene.state.put_pod(pod(f"p{i}", on=f"n{i}")) for i in range(6)],
            80,
            id="so many changes that asking anew is cheaper",
        ),
    ],
)
def test_what_is_asked_anew(change: Callable[[Scene, Door], object], want: int) -> None:
    scene, door = Scene(), Door()
    scene.judge(door)

    change(scene, door)
    scene.judge(door, "another plan" if want == 80 and door.asked == 80 else None)

    assert want == door.asked


@pytest.mark.parametrize(
    ("plugin", "want"),
    [
        pytest.param(Crowd(), 20 * 3, id="scores as they are"),
        pytest.param(Relative(), 100 * 3, id="scores that hang on the others"),
    ],
)
def test_scores_and_their_sum_follow_the_rows_that_changed(plugin: Crowd, want: int) -> None:
    scene = Scene()
    before = scene.score(plugin)
    place_two(scene.state)

    after = scene.score(plugin)

    assert 41 == plugin.asked
    assert [0, want] == after.total_n[[2, 3]].tolist()
    assert [0, 0] == before.total_n[[2, 3]].tolist(), "a trace keeps what was so then"
    assert [0, 0] == before.by_plugin[0].raw_n[[2, 3]].tolist()


def test_another_set_of_feasible_nodes_is_summed_from_what_is_known() -> None:
    scene, crowd = Scene(), Crowd()
    place_two(scene.state)
    scene.score(crowd, without=3)
    assert 39 == crowd.asked

    after = scene.score(crowd)

    assert 40 == crowd.asked
    assert 60 == after.total_n[3]


def test_a_plugin_that_comes_or_goes_changes_the_sum() -> None:
    scene, crowd, fleet = Scene(), Crowd(), Fleet()
    scene.state.put_node(node("n9", cordoned=True))
    place_two(scene.state)

    assert 60 == scene.score(crowd).total_n[3]
    assert 63 == scene.score(crowd, fleet).total_n[3]
    assert 3 == scene.score(fleet).total_n[3]


def test_an_answer_about_the_fleet_outlives_pods_but_no_node() -> None:
    scene, fleet = Scene(), Fleet()
    scene.score(fleet)
    place_two(scene.state)
    scene.score(fleet)
    assert 40 == fleet.asked

    scene.state.put_node(node("n9", cordoned=True))

    assert 3 == scene.score(fleet).total_n[0]
    assert 80 == fleet.asked


@pytest.mark.parametrize("how", ["raises", "says so"])
def test_a_filter_that_failed_is_asked_anew(how: str) -> None:
    scene, door = Scene(), ShakyDoor()
    scene.judge(door)
    place_two(scene.state)

    door.how = how
    with suppress(PluginError):
        scene.judge(door)
    door.how = ""

    assert FULL == scene.judge(door).at(3)


def test_so_is_a_plugin_that_failed_to_score() -> None:
    scene, crowd = Scene(), ShakyCrowd()
    scene.score(crowd)
    place_two(scene.state)

    crowd.fails = True
    with pytest.raises(PluginError):
        scene.score(crowd)
    crowd.fails = False

    assert 60 == scene.score(crowd).total_n[3]
