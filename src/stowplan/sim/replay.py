"""Replay: play a scenario as the recorder of kube-scheduler's decisions does, and report in the same form.

One attempt per pending pod, all nodes judged, ties to the lowest name, preemption at once; nothing is bound.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final, final

import msgspec

from stowplan.api.errors import QuantityError
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod, is_terminal
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.composition import Setup, set_up
from stowplan.config.errors import ConfigError
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Bind, Decision, Evict, Nominate, Park, Trace
from stowplan.framework.plugin import PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.reserving import assume_and_reserve
from stowplan.framework.runner import Rejected
from stowplan.framework.wake import ObjectEvent
from stowplan.queue.events import node_events, object_events, pod_events
from stowplan.queue.nominations import Nominations
from stowplan.queue.waking import WakeTable
from stowplan.sim.scenario import Event, Scenario

DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"
ALL_NODES: Final = 100
NOW: Final = 4_000_000_000.0
"""Later than any pod's start, as the present is for the recorder."""

Result = dict[str, Any]


class ReplayError(Exception):
    """Raised when a scenario cannot be played: the text names the object."""


def replay(scenario: Scenario, set_up_for: Callable[[bytes | None], Setup] = set_up) -> Result:
    """Play a scenario; the result is what a line of a results file holds. Raises ReplayError."""
    try:
        setup = set_up_for(scenario.config)
    except ConfigError as error:
        raise ReplayError(str(error)) from error
    stage = Stage(setup)
    for obj in scenario.objects:
        stage.put(obj)
    attempts = [attempt for pod in scenario.pending for attempt in stage.schedule(pod)]
    result: Result = {"id": scenario.id, "attempts": attempts}
    if stage.parked:
        result["parked"] = {info.key: sorted(plugins) for info, plugins in stage.parked.values()}
        result["wakes"] = [stage.play(event) for event in scenario.events]
    return result


@final
class Stage:
    """The cluster of one scenario and the pods parked so far."""

    def __init__(self, setup: Setup) -> None:
        self.cluster = Cluster()
        self.nominations = Nominations()
        self.parked: dict[str, tuple[PodInfo, frozenset[str]]] = {}
        self._unheard: list[ObjectEvent] = []
        self._setup = setup
        self._wake_tables = {name: WakeTable(profile) for name, profile in setup.profiles.items()}
        self._rng = Random(0)  # noqa: S311 - a fixed seed for what the recorder leaves to chance

    def put(self, obj: KubeObject) -> None:
        """An object that exists from the start, or comes later."""
        try:
            if not (isinstance(obj, Pod) and is_terminal(obj)):
                self.cluster.put(obj)
        except QuantityError as error:
            raise ReplayError(f"{obj.kind} {obj.key}: {error}") from error

    def schedule(self, pod: Pod) -> list[Result]:
        """The attempts of one pending pod: a second one follows when room was made."""
        try:
            info = self.cluster.compiler.compile(pod)
        except QuantityError as error:
            return [{"pod": pod.key, "error": str(error)}]
        try:
            profile = self.profile_of(info)
        except ReplayError as error:
            return [{"pod": pod.key, "error": str(error)}]
        first, room_on = self._attempt(info, profile)
        if not room_on:
            return [first]
        status = msgspec.structs.replace(pod.status, nominated_node_name=room_on)
        again = self.cluster.compiler.compile(msgspec.structs.replace(pod, status=status))
        self.nominations.add(again, room_on)
        second, _ = self._attempt(again, profile)
        return [first, second]

    def profile_of(self, info: PodInfo) -> Profile:
        """The profile that schedules a pod. Raises ReplayError when the configuration has none for it."""
        name = info.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        if name not in self._setup.profiles:
            raise ReplayError(f"no profile for scheduler name {name!r}")
        return self._setup.profiles[name]

    def trace(self, info: PodInfo) -> Trace:
        """Decide about a pod and perform nothing. Raises PluginError and ReplayError."""
        decision, _ = decide(self.cluster.view(), info, self.profile_of(info), self._circumstances())
        return decision.trace

    def _circumstances(self) -> Circumstances:
        return Circumstances(
            rng=self._rng, now=NOW, ties="first", percentage=ALL_NODES, nominated=self.nominations.by_node
        )

    def _attempt(self, info: PodInfo, profile: Profile) -> tuple[Result, str]:
        try:
            decision, _ = decide(self.cluster.view(), info, profile, self._circumstances())
            return report(decision.trace), self._perform(decision, profile)
        except PluginError as error:
            return {"pod": info.key, "error": str(error)}, ""

    def _perform(self, decision: Decision, profile: Profile) -> str:
        """Do at once what a live scheduler would ask the API to do; returns the node where room was made."""
        room_on = ""
        for effect in decision.effects:
            match effect:
                case Bind(pod, node_name):
                    assert decision.trace.prepared is not None
                    self.nominations.remove(pod.uid)
                    plans = decision.trace.prepared.plans
                    rejected = assume_and_reserve(self.cluster, profile, pod, node_name, plans)
                    if rejected is not None:
                        raise PluginError(rejected.why.message)
                case Nominate(_, node_name):
                    room_on = node_name
                case Evict(_, _, victims):
                    for victim in victims:
                        self.cluster.remove_pod(victim.uid)
                        self._unheard += pod_events(victim, None, assigned=True)
                case Park(pod, plugins, _) if not room_on:
                    self.parked[pod.uid] = (pod, plugins)
        return room_on

    def play(self, event: Event) -> list[str] | None:
        """Apply an event and name the parked pods it wakes; None when it cannot happen any more."""
        # parity: in the recordings the parked pods hear of evictions together with the first event that follows
        unheard, self._unheard = self._unheard, []
        events = self._apply(event)
        if events is None:
            return None
        view = self.cluster.view()
        woken = set()
        for pod, plugins in self.parked.values():
            table = self._wake_tables[pod.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME]
            if any(table.wakes(pod, plugins, happened, view) for happened in (*unheard, *events)):
                woken.add(pod.key)
        return sorted(woken)

    def _apply(self, event: Event) -> list[ObjectEvent] | None:
        obj, deleted = event.object, event.op == "delete"
        known = self._known(obj)
        if (known is None) != (event.op == "create"):
            return None
        if deleted:
            self.cluster.remove(obj)
        else:
            self.put(obj)
        if isinstance(obj, Node):
            assert known is None or isinstance(known, Node)
            return node_events(known, None if deleted else obj)
        if isinstance(obj, Pod):
            assert known is None or isinstance(known, PodInfo)
            new = None if deleted else self.cluster.placed_pod(obj.uid or obj.key)
            return pod_events(known, new, assigned=True)
        assert not isinstance(known, PodInfo)
        return object_events(known, None if deleted else obj)

    def _known(self, obj: KubeObject) -> KubeObject | PodInfo | None:
        if isinstance(obj, Pod):
            return self.cluster.placed_pod(obj.uid or obj.key)
        if isinstance(obj, Node):
            row = self.cluster.nodes.row_of.get(obj.name)
            return None if row is None else self.cluster.nodes.records[row]
        return self.cluster.objects.get(type(obj), obj.key)


def report(trace: Trace) -> Result:
    """An attempt in the recorder's form."""
    result: Result = {"pod": trace.pod.key}
    if trace.absent is not None:
        result["preFilter"] = _status(trace.absent)
    judgement = trace.judgement
    if judgement is not None:
        names = judgement.rows.names
        outcomes = judgement.outcome_n.tolist()
        rejected = {name: judgement.rejections[o - 1] for name, o in zip(names, outcomes, strict=True) if o}
        if rejected:
            result["rejected"] = {name: _status(why) for name, why in rejected.items()}
    if trace.scores is not None:
        names = trace.scores.rows.names
        weighted = [(score.plugin, score.weighted_n.tolist()) for score in trace.scores.by_plugin]
        result["scores"] = {name: {plugin: n[i] for plugin, n in weighted} for i, name in enumerate(names)}
        result["totals"] = dict(zip(names, trace.scores.total_n.tolist(), strict=True))
    if trace.node_name:
        result["node"] = trace.node_name
    if trace.message:
        result["message"] = trace.message
    result.update(_room(trace))
    return result


def _room(trace: Trace) -> Mapping[str, Any]:
    if trace.room is None:
        return {}
    return {"nominated": trace.room.node_name, "victims": sorted(victim.key for victim in trace.room.victims)}


def _status(rejected: Rejected) -> Mapping[str, Any]:
    return {"plugin": rejected.plugin, "code": str(rejected.why.code), "reasons": list(rejected.why.reasons)}
