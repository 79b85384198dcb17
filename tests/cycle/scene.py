"""Scenes of scheduling attempts: plugins and extenders that say what they are told to, and what a decision comes to."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, final

from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Bind, Decision, Effect, Evict, Nominate, Park
from stowplan.framework.extender import ExtenderAnswer, ExtenderError, Victims
from stowplan.framework.gates import Gates
from stowplan.framework.per_node import NodeFilterPlugin, NodeScorePlugin, NodeView
from stowplan.framework.plugin import Plugin, Point, PostFilterPlugin, PreFilterPlugin, points_of
from stowplan.framework.post_filter import FailedAttempt, PostFilterResult
from stowplan.framework.profile import PluginEntry, Profile, ProfileSpec, build_profile
from stowplan.framework.registry import Registry
from stowplan.framework.verdict import Rejection, Verdict, fatal, rejection
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.testing.builders import cluster

NOW: Final = 4_000_000_000.0
FULL: Final = rejection("node(s) were full")
TAKEN: Final = rejection("node(s) were taken")


def profile_of(
    *plugins: type[Plugin], percentage: int | None = None, weights: Mapping[str, int] | None = None
) -> Profile:
    """Plugins at all the points that they take part in, in this order."""
    everyone: Sequence[type[Plugin]] = (PrioritySort, *plugins)
    points: dict[str, tuple[PluginEntry, ...]] = {
        point: tuple(PluginEntry(p.name, (weights or {}).get(p.name, 1)) for p in everyone if point in points_of(p))
        for point in Point
    }
    spec = ProfileSpec(scheduler_name="scene", percentage_of_nodes_to_score=percentage, points=points)
    return build_profile(spec, Registry(everyone), Gates())


def attempt(objects: Sequence[KubeObject], incoming: Pod, profile: Profile, **given: Any) -> tuple[Decision, int]:
    """Decide about a pod; of the best nodes the first by name, unless the circumstances are others."""
    built = cluster(*objects)
    circumstances = Circumstances(**{"rng": Random(0), "now": NOW, "ties": "first", **given})
    return decide(built.view(), built.compiler.compile(incoming), profile, circumstances)


def compiled(pod: Pod) -> PodInfo:
    """A pod by itself, as the scheduler reads it."""
    return PodCompiler().compile(pod)


def effects(decision: Decision) -> list[str]:
    """What is to be done, a line each."""
    return [_line(effect) for effect in decision.effects]


def _line(effect: Effect) -> str:
    match effect:
        case Bind(_, node_name):
            return f"bind to {node_name}"
        case Nominate(_, ""):
            return "void the nomination"
        case Nominate(_, node_name):
            return f"nominate to {node_name}"
        case Evict(_, node_name, victims):
            return f"evict {', '.join(victim.pod.name for victim in victims)} from {node_name}"
        case Park(_, plugins, message):
            return f"park for {', '.join(sorted(plugins)) or 'nobody'}: {message}"
        case _:
            return f"write {effect.obj.metadata.name}"


# ---- plugins


def rejects(plugin: str, why: Mapping[str, Rejection], asked: list[list[str]] | None = None) -> type[Plugin]:
    """A filter that turns down some nodes; `asked` collects the nodes of each call."""

    class Rejecter(NodeFilterPlugin):
        name = plugin

        def filter(self, pod: PodInfo, rows: Rows, plan: Any) -> Verdict:
            if asked is not None:
                asked.append(list(rows.names))
            return super().filter(pod, rows, plan)

        def filter_node(self, pod: PodInfo, node: NodeView) -> Rejection | None:
            return why.get(node.name)

    return Rejecter


def takes_one_pod(plugin: str, broken: Collection[str] = ()) -> type[Plugin]:
    """A filter that lets a single pod onto a node; broken ones are those about which it fails once they are empty."""

    class OnePod(NodeFilterPlugin):
        name = plugin

        def filter_node(self, pod: PodInfo, node: NodeView) -> Rejection | None:
            if node.pods:
                return TAKEN
            return fatal("lost the node") if node.name in broken else None

    return OnePod


def prepares(plugin: str, answer: Any) -> type[Plugin]:
    """A PreFilter plugin that gives an answer, or raises it."""

    class Preparer(PreFilterPlugin[Any]):
        name = plugin

        def prepare(self, view: View, pod: PodInfo) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

    return Preparer


def scores(plugin: str, by_node: Mapping[str, int]) -> type[Plugin]:
    """A plugin that likes some nodes, and the others not at all."""

    class Liking(NodeScorePlugin):
        name = plugin

        def score_node(self, pod: PodInfo, node: NodeView) -> int:
            return by_node.get(node.name, 0)

    return Liking


def makes_room(plugin: str, answer: PostFilterResult | Exception) -> type[Plugin]:
    """A post-filter plugin that gives an answer, or raises it."""

    class RoomMaker(PostFilterPlugin):
        name = plugin

        def post_filter(self, attempt: FailedAttempt) -> PostFilterResult:
            if isinstance(answer, Exception):
                raise answer
            return answer

    return RoomMaker


# ---- extenders


@final
@dataclass(slots=True)
class FakeExtender:
    """An extender in the process: turns nodes down and gives points, or fails."""

    name: str = "ext"
    failed: Mapping[str, str] = field(default_factory=dict)
    failed_for_good: Mapping[str, str] = field(default_factory=dict)
    dropped: Collection[str] = ()
    """Turned down without a word."""
    points: Mapping[str, int] = field(default_factory=dict)
    fails_on: Collection[str] = ()
    """It fails when it is asked about one of these."""
    ignorable: bool = False
    wants: bool = True
    filters: bool = True
    prioritizes: bool = True
    preempts: bool = False
    weight: int = 1

    def interested(self, pod: PodInfo) -> bool:
        return self.wants

    def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderAnswer:
        self._fail(node_names)
        out = {*self.failed, *self.failed_for_good, *self.dropped}
        return ExtenderAnswer([name for name in node_names if name not in out], self.failed, self.failed_for_good)

    def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        self._fail(node_names)
        return self.points

    def preempt(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        raise AssertionError("it does not preempt")

    def _fail(self, node_names: Sequence[str]) -> None:
        if set(self.fails_on) & set(node_names):
            raise ExtenderError("unreachable")
