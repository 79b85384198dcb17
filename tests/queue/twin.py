"""The scheduling queue's scalar twin: a list of pods with a place each, and the whole history of events."""

import math
from dataclasses import dataclass, field
from typing import Final, Literal, final

from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from tests.queue.scene import CLOSED, EMPTY_VIEW, PLUGINS, Gate, SecondGate

Strategy = Literal["skip", "after-backoff", "at-once"]

WAKES: Final[dict[str, tuple[Wake, ...]]] = {
    plugin.name: tuple(plugin.wakes)
    for plugin in PLUGINS
    if plugin.name in {"Gate", "SecondGate", "NeedsNode", "NeedsRoom", "NeedsClaim"}
}


@final
@dataclass(slots=True, eq=False)
class PodTwin:
    """A waiting pod."""

    info: PodInfo
    queued_at: float
    place: str = ""
    attempts: int = 0
    rejections: int = 0
    errors: int = 0
    rejected_by: set[str] = field(default_factory=set)
    pending_by: set[str] = field(default_factory=set)
    gate: str = ""
    flushed_at: float = 0.0
    taken: int = 0
    """How long the history was when it was taken."""
    number: int = 0

    @property
    def until(self) -> float:
        """The window in which its back-off ends."""
        tries = self.errors or self.rejections
        if not tries:
            return 0.0
        return math.floor(self.queued_at + min(2.0 ** (tries - 1), 10.0))

    def turn(self) -> tuple[int, float]:
        """Its place in the order of the active queue."""
        return -self.info.priority, self.queued_at


@final
class QueueTwin:
    """All pods that are known."""

    def __init__(self) -> None:
        self.pods: dict[str, PodTwin] = {}
        self.history: list[ObjectEvent] = []
        self.nominated: dict[str, str] = {}

    def in_place(self, *places: str) -> list[PodTwin]:
        """The pods at some places."""
        return [pod for pod in self.pods.values() if pod.place in places]

    # ---- moves

    def to_active(self, pod: PodTwin, *, gate: bool = True, new: bool = False) -> None:
        """Into the active queue if the gates let it."""
        if gate and self.gated(pod):
            pod.place = "gated"
            return
        pod.place = "active"
        if new:
            self.nominate(pod.info, pod.info.pod.status.nominated_node_name)

    def gated(self, pod: PodTwin) -> bool:
        """Whether a gate is closed for it."""
        gates = [Gate(), SecondGate()]
        gates.sort(key=lambda plugin: plugin.name != pod.gate)
        for plugin in gates:
            if plugin.pre_enqueue(EMPTY_VIEW, pod.info) is CLOSED:
                pod.gate = plugin.name
                pod.rejected_by.add(plugin.name)
                return True
        pod.gate = ""
        return False

    def requeue(self, pod: PodTwin, strategy: Strategy, now: float) -> None:
        """Where a pod goes that an event is worth this much to."""
        if strategy == "skip":
            pod.place = "gated" if pod.gate else "unschedulable"
        elif strategy == "after-backoff" and pod.until >= math.floor(now):
            if self.gated(pod):
                pod.place = "gated"
            else:
                pod.place = "backoff" if pod.rejected_by or pod.pending_by else "error-backoff"
        else:
            self.to_active(pod)

    def worth(self, pod: PodTwin, event: ObjectEvent) -> Strategy:
        """What an event is worth to a pod."""
        if not pod.rejected_by and not pod.pending_by:
            return "after-backoff"
        if event.kind is Kind.ANY and event.change is Change.ALL:
            return "after-backoff" if event.new is None or event.new.uid == pod.info.uid else "skip"
        if any(wakes(name, pod.info, event) for name in pod.pending_by):
            return "at-once"
        return "after-backoff" if any(wakes(name, pod.info, event) for name in pod.rejected_by) else "skip"

    def nominate(self, info: PodInfo, node_name: str) -> None:
        """Remember or forget a nomination."""
        self.nominated.pop(info.uid, None)
        if node_name:
            self.nominated[info.uid] = node_name

    # ---- what happens

    def happens(self, event: ObjectEvent, now: float) -> None:
        """An event for everybody who waits."""
        wildcard = event.kind is Kind.ANY
        for pod in self.in_place("unschedulable", "gated"):
            deaf = pod.gate and not any(wake.hears(event) for wake in WAKES[pod.gate])
            strategy = self.worth(pod, event)
            if (wildcard or not deaf) and strategy != "skip":
                self.requeue(pod, strategy, now)
        self.history.append(event)

    def came_back(self, pod: PodTwin, now: float) -> None:
        """A pod was rejected: everything since it was taken is considered."""
        found = [self.worth(pod, event) for event in self.history[pod.taken :]]
        best: Strategy = "skip"
        if not pod.rejected_by and not pod.pending_by:
            best = "after-backoff"
        elif "at-once" in found:
            best = "at-once"
        elif "after-backoff" in found:
            best = "after-backoff"
        self.requeue(pod, best, now)

    def next(self) -> PodTwin | None:
        """Whom `pop` should return."""
        active = self.in_place("active")
        if active:
            return min(active, key=PodTwin.turn)
        early = self.in_place("backoff")
        return min(early, key=lambda pod: (pod.until, pod.turn())) if early else None


def wakes(name: str, pod: PodInfo, event: ObjectEvent) -> bool:
    """Whether a plugin's wakes bring a pod back."""
    for wake in WAKES[name]:
        if wake.kind is event.kind and wake.change & event.change:
            if wake.when is None:
                return True
            try:
                if wake.when(pod, event, EMPTY_VIEW):
                    return True
            except ValueError:
                return True
    return False
