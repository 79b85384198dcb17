"""Properties that every plugin has: what it says of a row depends on the pod and the row alone.

The caches and the what-ifs of the scheduler rely on them. Give them clusters and pods of your plugin's world.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.columns.journal import Changed
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.columns.worlds import Worlds
from stowplan.framework.plugin import Depends, FilterPlugin, Plugin, PreScorePlugin, Restricted, ScorePlugin, Skip
from stowplan.framework.verdict import Rejection
from stowplan.goarith import IntN
from stowplan.testing.running import prepare

STALE: Final = {
    Depends.NODE: Changed.NODE | Changed.MEMBERS,
    Depends.LOAD: Changed.NODE | Changed.MEMBERS | Changed.LOAD,
    Depends.FLEET: Changed.NODE | Changed.MEMBERS,
}
"""Which changes of a row make a kept answer about it stale, or about all rows when the plugin looks at the fleet."""


@final
@dataclass(frozen=True, slots=True)
class Said:
    """What a plugin said of one row."""

    rejection: Rejection | None
    raw_score: int | None


@final
@dataclass(frozen=True, slots=True)
class Prepared:
    """What a plugin prepared for a pod, made ready for `filter` and `score`."""

    answer: Any
    plan: Any
    filters: bool
    score_plan: Any
    scores: bool


def assert_rows_agree(plugin: Plugin, cluster: Cluster, pod: Pod) -> None:
    """All rows, some rows, other orders, one by one, or as worlds in which nothing changed: the same answers."""
    view, info = cluster.view(), cluster.compiler.compile(pod)
    prepared = prepare_all(plugin, view, info)
    want = dict(zip(view.rows.index.tolist(), judge(plugin, info, view.rows, prepared), strict=True))
    for rows in _choices(view):
        got = judge(plugin, info, rows, prepared)
        expected = [want[row] for row in rows.index.tolist()]
        assert expected == got, f"{plugin.name} judges {_differing(rows, expected, got)} otherwise among other rows"


def assert_worlds_agree(plugin: Plugin, make_cluster: Callable[[], Cluster], pod: Pod, guest: Pod) -> None:
    """What `filter` says of a world is what it says of a cluster that is really so, pods added or removed.

    Clusters are made anew for every comparison: adding a pod and taking it away again may leave traces (host ports).
    """
    assert isinstance(plugin, FilterPlugin), f"{plugin.name} does not filter"
    cluster = make_cluster()
    view, info, coming = cluster.view(), cluster.compiler.compile(pod), cluster.compiler.compile(guest)
    prepared = prepare_all(plugin, view, info)
    if not prepared.filters:
        return
    added, removed = Worlds(view, view.rows.index), Worlds(view, view.rows.index)
    for at in range(len(view)):
        added.add(at, coming)
        for gone in view.rows.pods(at)[:1]:
            removed.remove(at, gone)
    with_guest = plugin.filter(info, added, prepared.plan)
    without_first = plugin.filter(info, removed, prepared.plan)
    for at, name in enumerate(view.rows.names):
        real = make_cluster()
        real.assume(real.compiler.compile(guest), name)
        want = _alone(plugin, real, pod, name)
        assert want == with_guest.at(at), f"{plugin.name} judges {name} otherwise with {guest.key} in a world"
        for gone in view.rows.pods(at)[:1]:
            real = make_cluster()
            real.remove_pod(gone.uid)
            want = _alone(plugin, real, pod, name)
            assert want == without_first.at(at), f"{plugin.name} judges {name} otherwise without {gone.key} in a world"


def assert_kept_answers_hold(plugin: Plugin, cluster: Cluster, pod: Pod, change: Callable[[Cluster], object]) -> None:
    """After a change, judging only the rows that the journal names gives what judging all of them gives.

    A plugin that prepares something else than before is asked afresh, and so is one that depends on the cluster.
    """
    view, info = cluster.view(), cluster.compiler.compile(pod)
    before = prepare_all(plugin, view, info)
    kept = dict(zip(view.rows.index.tolist(), judge(plugin, info, view.rows, before), strict=True))
    change(cluster)
    now = cluster.view()
    changes = cluster.journal.since(view.generation)
    after = prepare_all(plugin, now, info)
    if plugin.depends not in STALE or changes is None or before != after:
        return
    stale = {row for row, changed in changes.items() if changed & STALE[plugin.depends]}
    if stale and plugin.depends is Depends.FLEET:
        stale = set(now.rows.index.tolist())
    dirty = Rows(now, np.array([row for row in now.rows.index.tolist() if row in stale], dtype=np.int64))
    kept.update(zip(dirty.index.tolist(), judge(plugin, info, dirty, after), strict=True))
    want = judge(plugin, info, now.rows, after)
    got = [kept[row] for row in now.rows.index.tolist()]
    assert want == got, f"{plugin.name} depends on more than {plugin.depends.name}: {_differing(now.rows, want, got)}"


def prepare_all(plugin: Plugin, view: View, pod: PodInfo) -> Prepared:
    """Ask the plugin to prepare filtering and scoring, as far as it does."""
    answer = prepare(plugin, view, pod)
    plan = answer.plan if isinstance(answer, Restricted) else answer
    filters = isinstance(plugin, FilterPlugin) and not isinstance(plan, Skip | Rejection)
    plans = {} if isinstance(plan, Skip | Rejection) else {plugin.name: plan}
    score_plan = plugin.prepare_score(pod, view.rows, plans) if isinstance(plugin, PreScorePlugin) else None
    scores = isinstance(plugin, ScorePlugin) and not isinstance(score_plan, Skip)
    return Prepared(answer, plan, filters, score_plan, scores)


def judge(plugin: Plugin, pod: PodInfo, rows: Rows, prepared: Prepared) -> list[Said]:
    """What the plugin says of each row."""
    rejections: list[Rejection | None] = [None] * len(rows)
    raw: list[int | None] = [None] * len(rows)
    if prepared.filters and isinstance(plugin, FilterPlugin):
        verdict = plugin.filter(pod, rows, prepared.plan)
        rejections = [verdict.at(at) for at in range(len(rows))]
    if prepared.scores and isinstance(plugin, ScorePlugin) and len(rows):
        raw_n: IntN = plugin.score(pod, rows, prepared.score_plan)
        assert raw_n.shape == (len(rows),), f"{plugin.name} returns {raw_n.shape} scores for {len(rows)} rows"
        assert raw_n.dtype == np.int64, f"{plugin.name} returns scores of type {raw_n.dtype}"
        raw = list(raw_n.tolist())
    return [Said(rejection, score) for rejection, score in zip(rejections, raw, strict=True)]


def _choices(view: View) -> Iterator[Rows]:
    index = view.rows.index
    yield Rows(view, index)
    yield Rows(view, index[::2])
    yield Rows(view, index[1::2])
    yield Rows(view, index[::-1])
    yield Rows(view, view.order)
    yield Rows(view, index[:0])
    yield Worlds(view, np.concatenate([index, index[::2]]))
    for at in range(len(index)):
        yield Rows(view, index[at : at + 1])
        yield Rows(view, index[at : at + 1], contiguous=True)


def _alone(plugin: FilterPlugin[Any], cluster: Cluster, pod: Pod, name: str) -> Rejection | None:
    view, info = cluster.view(), cluster.compiler.compile(pod)
    prepared = prepare_all(plugin, view, info)
    if isinstance(prepared.plan, Skip):
        return None
    assert prepared.filters, f"{plugin.name} would not prepare for {pod.key} in the changed cluster"
    return plugin.filter(info, view.only([name]), prepared.plan).at(0)


def _differing(rows: Rows, want: list[Said], got: list[Said]) -> str:
    return ", ".join(f"{name}: {w} or {g}" for name, w, g in zip(rows.names, want, got, strict=True) if w != g)
