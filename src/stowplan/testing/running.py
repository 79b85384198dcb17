"""Run one plugin by itself and read its answer by node name."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import (
    FilterPlugin,
    Plugin,
    PreFilterPlugin,
    PreScorePlugin,
    Restricted,
    ScorePlugin,
    Skip,
)
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.queue.events import node_events, object_events, pod_events
from stowplan.testing.builders import cluster as build_cluster


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """What a filter plugin said: of all nodes at once, or node by node."""

    skipped: bool = False
    rejected: Rejection | None = None
    """The rejection that `prepare` returned."""
    node_names: frozenset[str] | None = None
    """The nodes to which `prepare` restricted the pod."""
    by_node: Mapping[str, Rejection | None] | None = None

    def on(self, name: str) -> Rejection | None:
        """The rejection of a node, None when it passes."""
        if self.skipped:
            return None
        if self.rejected is not None:
            return self.rejected
        assert self.by_node is not None
        return self.by_node[name]

    def passed(self) -> set[str]:
        """The nodes that pass."""
        return {name for name, why in (self.by_node or {}).items() if why is None}


def run_filter(plugin: Plugin, objects: Cluster | Iterable[KubeObject], pod: Pod) -> Answer:
    """Prepare and filter all nodes."""
    view, info = _setting(objects, pod)
    plan = prepare(plugin, view, info)
    if isinstance(plan, Skip):
        return Answer(skipped=True)
    if isinstance(plan, Rejection):
        return Answer(rejected=plan)
    names = None
    if isinstance(plan, Restricted):
        names, plan = plan.node_names, plan.plan
    assert isinstance(plugin, FilterPlugin), f"{plugin.name} does not filter"
    return Answer(node_names=names, by_node=by_name(plugin.filter(info, view.rows, plan), view.rows))


def run_score(
    plugin: Plugin, objects: Cluster | Iterable[KubeObject], pod: Pod, *, normalized: bool = False
) -> dict[str, int]:
    """Prepare and score all nodes; nothing when the plugin has nothing to say."""
    view, info = _setting(objects, pod)
    plan = prepare(plugin, view, info)
    plans = {} if isinstance(plan, Skip) else {plugin.name: plan.plan if isinstance(plan, Restricted) else plan}
    score_plan = plugin.prepare_score(info, view.rows, plans) if isinstance(plugin, PreScorePlugin) else None
    if score_plan is Skip.SKIP:
        return {}
    assert isinstance(plugin, ScorePlugin), f"{plugin.name} does not score"
    raw_n = plugin.score(info, view.rows, score_plan)
    scores_n = plugin.normalize(info, view.rows, score_plan, raw_n) if normalized else raw_n
    return dict(zip(view.rows.names, scores_n.tolist(), strict=True))


def run_wakes(
    plugin: Plugin,
    pod: Pod,
    *,
    old: KubeObject | None = None,
    new: KubeObject | None = None,
    objects: Cluster | Iterable[KubeObject] = (),
) -> bool:
    """Whether the plugin takes a change of an object for a reason to try a pod again that it rejected."""
    view, parked = _setting(objects, pod)
    changed = new if new is not None else old
    if isinstance(changed, Pod):
        compiler = PodCompiler()
        infos = [compiler.compile(side) if isinstance(side, Pod) else None for side in (old, new)]
        events = pod_events(infos[0], infos[1], assigned=bool(changed.spec.node_name))
    elif isinstance(changed, Node):
        before = old if isinstance(old, Node) else None
        events = node_events(before, new if isinstance(new, Node) else None)
    else:
        events = object_events(old, new)
    return any(
        wake.hears(event) and (wake.when is None or wake.when(parked, event, view))
        for event in events
        for wake in plugin.wakes
    )


def prepare(plugin: Plugin, view: View, pod: PodInfo) -> Any:
    """What the plugin's `prepare` returns, None when it has none."""
    return plugin.prepare(view, pod) if isinstance(plugin, PreFilterPlugin) else None


def by_name(verdict: Verdict, rows: Rows) -> dict[str, Rejection | None]:
    """A verdict by node name."""
    return {name: verdict.at(at) for at, name in enumerate(rows.names)}


def _setting(objects: Cluster | Iterable[KubeObject], pod: Pod) -> tuple[View, PodInfo]:
    built = objects if isinstance(objects, Cluster) else build_cluster(*objects)
    return built.view(), built.compiler.compile(pod)
