"""Every default plugin, in whole clusters: any rows, worlds, and whatever it has followed give the same answers.

Plugins keep books (which volumes are attached, which devices are free, what selectors count) and follow changes. What
one says that has lived through all of them is what a new one says of a cluster that never was otherwise.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from random import Random

import pytest

from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.composition import set_up
from stowplan.framework.plugin import FilterPlugin, Plugin, PluginError, Restricted, ScorePlugin
from stowplan.framework.profile import Profile
from stowplan.framework.verdict import Rejection
from stowplan.plugins.default_order import DEFAULT_ORDER
from stowplan.testing.properties import assert_rows_agree, assert_worlds_agree, judge, prepare_all
from tests.plugins.whole_worlds import World

JUDGES = [entry.plugin.name for entry in DEFAULT_ORDER if issubclass(entry.plugin, FilterPlugin | ScorePlugin)]
FILTERS = [entry.plugin.name for entry in DEFAULT_ORDER if issubclass(entry.plugin, FilterPlugin)]
WORLDS, STEPS = 8, 5
CONFIGURATION = b"""
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}, {name: example.com/gpu, weight: 3}]}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: cpu, weight: 1}, {name: memory, weight: 1}, {name: example.com/gpu, weight: 1}]}
"""

each_judge = pytest.mark.parametrize("name", JUDGES)
each_filter = pytest.mark.parametrize("name", FILTERS)


@dataclass(frozen=True, slots=True)
class Told:
    """What a plugin says of a pod, by name of node."""

    rejected: Rejection | None = None
    only: frozenset[str] | None = None
    rejections: dict[str, Rejection | None] | None = None
    raw: dict[str, int | None] | None = None
    normalized: dict[str, int] | None = None
    failed: bool = False


def told(plugin: Plugin, built: Cluster, pod: Pod) -> Told:
    view, info = built.view(), built.compiler.compile(pod)
    try:
        prepared = prepare_all(plugin, view, info)
        said = judge(plugin, info, view.rows, prepared)
        normalized = None
        if prepared.scores and isinstance(plugin, ScorePlugin):
            raw_n = plugin.score(info, view.rows, prepared.score_plan)
            scores_n = plugin.normalize(info, view.rows, prepared.score_plan, raw_n)
            normalized = dict(zip(view.rows.names, scores_n.tolist(), strict=True))
    except PluginError:
        # which of several failures is told hangs on the order of nodes
        return Told(failed=True)
    names = list(view.rows.names)
    fatal = any(one.rejection is not None and one.rejection.fatal for one in said)
    return Told(
        rejected=prepared.answer if isinstance(prepared.answer, Rejection) else None,
        only=prepared.answer.node_names if isinstance(prepared.answer, Restricted) else None,
        rejections=None if fatal else {name: one.rejection for name, one in zip(names, said, strict=True)},
        raw={name: one.raw_score for name, one in zip(names, said, strict=True)},
        normalized=normalized,
    )


def lives(seeds: int = WORLDS) -> Iterator[tuple[World, Profile, list[Pod]]]:
    """Worlds at every step of their lives, each with its plugins and pods that wait."""
    for seed in range(seeds):
        world = World(Random(seed))
        world.fill()
        profile = set_up(CONFIGURATION).first
        for step in range(STEPS):
            for _ in range(step):
                world.change()
            wishes = [world.random.choice(["", "", "", "n0"]) for _ in range(4)]
            yield world, profile, [world.pod(f"waiting-{step}-{i}", on=wish) for i, wish in enumerate(wishes)]


@each_judge
def test_a_plugin_that_has_followed_everything_says_what_a_new_one_says(name: str) -> None:
    plugin_type = type(set_up().first.plugins[name])
    answers: list[Rejection | None] = []
    scores = set()
    for world, profile, pods in lives():
        fresh, anew = set_up(CONFIGURATION).first, world.anew()
        for pod in pods:
            got = told(profile.plugins[name], world.built, pod)
            assert told(fresh.plugins[name], anew, pod) == got
            answers += (got.rejections or {"all": got.rejected}).values()
            scores |= set((got.raw or {}).values())
    if issubclass(plugin_type, FilterPlugin):
        assert (True, True) == (None in answers, any(answers)), "the worlds do not try the filter"
    if issubclass(plugin_type, ScorePlugin) and name != "VolumeBinding":  # which scores behind a gate only
        assert len(scores - {None}) > 1, "the worlds do not try the score"


@each_judge
def test_answers_do_not_depend_on_the_other_rows(name: str) -> None:
    for world, profile, pods in lives():
        for pod in pods:
            with suppress(PluginError):
                assert_rows_agree(profile.plugins[name], world.built, pod)


@each_filter
def test_worlds_are_judged_as_the_clusters_they_stand_for(name: str) -> None:
    for world, _, pods in lives(3):
        plugin = set_up(CONFIGURATION).first.plugins[name]
        with suppress(PluginError):
            assert_worlds_agree(plugin, world.anew, pods[0], world.pod("guest"))
