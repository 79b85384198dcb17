"""The scheduling queue: every pod that waits is in exactly one place, and nothing that could help it is missed.

Active: to be tried, most important first. Back-off: tried lately, to be tried again after a pause. Unschedulable:
parked until something changes that its rejecting plugins care about, gated pods among them. In flight: being tried.
Upstream: pkg/scheduler/backend/queue/scheduling_queue.go (v1.36.4).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.profile import Profile
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.queue.backoff import Backoff
from stowplan.queue.events import pod_events
from stowplan.queue.heap import KeyedHeap
from stowplan.queue.in_flight import InFlight
from stowplan.queue.nominations import Nominations
from stowplan.queue.queued_pod import QueuedPod
from stowplan.queue.waking import HintFailed, WakeTable, ignore_failure

Place = Literal["active", "backoff", "unschedulable", "gated", "in-flight"]

ATTEMPT_FAILED: Final = "ScheduleAttemptFailure"
BACKOFF_COMPLETE: Final = "BackoffComplete"
POPPED_FROM_BACKOFF: Final = "PopFromBackoffQ"
FORCED: Final = "ForceActivate"
TIMED_OUT: Final = "UnschedulableTimeout"
POD_ADDED: Final = "UnschedulablePodAdd"
POD_UPDATED: Final = "UnschedulablePodUpdate"

MOST_UNSCHEDULABLE_SECONDS: Final = 300.0

Arrived = Callable[[str, str], None]
"""Hears which queue a pod came to, and the event that brought it."""


def nobody_counts(_queue: str, _event: str) -> None:
    """For those who keep no metrics."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSettings:
    """The queue's timing."""

    backoff: Backoff = field(default_factory=Backoff)
    most_unschedulable_seconds: float = MOST_UNSCHEDULABLE_SECONDS


@final
class SchedulingQueue:
    """Where pods wait. Time is an argument; nothing here sleeps or calls out but to plugins' gates and hints."""

    def __init__(
        self,
        profiles: Mapping[str, Profile],
        view: Callable[[], View],
        settings: QueueSettings = QueueSettings(),
        *,
        arrived: Arrived = nobody_counts,
        hint_failed: HintFailed = ignore_failure,
    ) -> None:
        self.nominations = Nominations()
        self.in_flight = InFlight()
        self._profiles = profiles
        self._view = view
        self._settings = settings
        self._arrived = arrived
        self._wakes = {name: WakeTable(profile, hint_failed) for name, profile in profiles.items()}
        self._active: KeyedHeap[QueuedPod] = KeyedHeap()
        self._backoff: KeyedHeap[QueuedPod] = KeyedHeap()
        self._error_backoff: KeyedHeap[QueuedPod] = KeyedHeap()
        self._parked: dict[str, QueuedPod] = {}

    # ---- what is where

    def place_of(self, uid: str) -> Place | None:
        """Where a pod is; None when the queue does not know it."""
        if uid in self._active:
            return "active"
        if uid in self._backoff or uid in self._error_backoff:
            return "backoff"
        if uid in self._parked:
            return "gated" if self._parked[uid].gated else "unschedulable"
        return "in-flight" if uid in self.in_flight else None

    def get(self, uid: str) -> QueuedPod | None:
        """A waiting pod."""
        return self._active.get(uid) or self._backed_off(uid) or self._parked.get(uid)

    def waiting(self) -> dict[Place, list[QueuedPod]]:
        """All waiting pods by place, those that come first in front."""
        parked = list(self._parked.values())
        return {
            "active": list(self._active),
            "backoff": [*self._backoff, *self._error_backoff],
            "unschedulable": [pod for pod in parked if not pod.gated],
            "gated": [pod for pod in parked if pod.gated],
        }

    def counts(self) -> dict[str, int]:
        """How many pods are where."""
        gated = sum(pod.gated for pod in self._parked.values())
        return {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._error_backoff),
            "unschedulable": len(self._parked) - gated,
            "gated": gated,
            "in-flight": len(self.in_flight),
        }

    def has_work(self) -> bool:
        """Whether `pop` would return a pod."""
        return bool(self._active) or bool(self._backoff)

    def backoff_until(self, pod: QueuedPod) -> float:
        """When a pod's back-off ends."""
        return self._settings.backoff.until(pod)

    # ---- pods come, change and go

    def add(self, pod: PodInfo, now: float) -> None:
        """A pod that waits for a node was created."""
        if self.place_of(pod.uid) is None:
            self._to_active(QueuedPod(pod, now), now, POD_ADDED)

    def update(self, old: PodInfo, new: PodInfo, now: float) -> None:
        """A waiting pod changed. In flight, the change is remembered; parked, it may be what it needed."""
        events = pod_events(old, new, assigned=False)
        uid = new.uid
        if uid in self.in_flight:
            for event in events:
                self.in_flight.record(event)
            return
        for heap, key in (
            (self._active, self._sort_key),
            (self._backoff, self._backoff_key),
            (self._error_backoff, self._error_key),
        ):
            queued = heap.get(uid)
            if queued is not None:
                queued.info = new
                heap.push(uid, queued, key(queued))
                self._update_nomination(old, new)
                return
        queued = self._parked.get(uid)
        if queued is None:
            self._to_active(QueuedPod(new, now), now, POD_UPDATED)
            return
        queued.info = new
        self._update_nomination(old, new)
        for event in events:
            if self._requeue(queued, self._worth(queued, event), now, event.label) != "unschedulable":
                break

    def delete(self, pod: PodInfo) -> None:
        """A waiting pod is gone, or was bound by somebody else. One in flight is left to whoever tries it."""
        self.nominations.remove(pod.uid)
        for heap in (self._active, self._backoff, self._error_backoff):
            heap.remove(pod.uid)
        self._parked.pop(pod.uid, None)

    # ---- attempts

    def pop(self, now: float) -> QueuedPod | None:
        """Take the next pod to try; when none is active, one that backs off after a rejection comes early."""
        queued = self._active.pop()
        if queued is None:
            queued = self._backoff.pop()
            if queued is None:
                return None
            self._arrived("active", POPPED_FROM_BACKOFF)
        if not self.in_flight.take(queued.uid):
            return self.pop(now)  # it is being tried already; a second copy is dropped
        queued.attempts += 1
        return queued

    def done(self, uid: str) -> None:
        """A pod's attempt is over and it does not come back: it can no longer be rejected."""
        self.in_flight.done(uid)

    def park(
        self,
        queued: QueuedPod,
        latest: PodInfo,
        rejected_by: Collection[str],
        now: float,
        *,
        pending_by: Collection[str] = (),
    ) -> Place:
        """A pod comes back from a failed attempt; `latest` is how it looks now. Nothing that happened is missed."""
        try:
            if self.place_of(queued.uid) not in {"in-flight", None}:
                return self.place_of(queued.uid) or "active"  # it was added anew meanwhile
            queued.info = latest
            queued.rejected_by, queued.pending_by = set(rejected_by), set(pending_by)
            queued.gated_by = ""
            if queued.rejectors:
                queued.rejections += 1
                queued.errors_in_a_row = 0
            else:
                queued.errors_in_a_row += 1
            queued.queued_at = now
            queued.backoff_until = None
            queued.flushed, queued.flushed_at = False, 0.0
            return self._requeue(queued, self._worth_in_flight(queued), now, ATTEMPT_FAILED)
        finally:
            self.in_flight.done(queued.uid)

    # ---- what happens meanwhile

    def move_all(self, event: ObjectEvent, now: float, only: Callable[[PodInfo], bool] | None = None) -> int:
        """Something changed in the cluster: wake the parked pods it may help. Returns how many it woke."""
        if not _is_wildcard(event) and not any(table.heard(event) for table in self._wakes.values()):
            return 0
        chosen = [pod for pod in self._parked.values() if only is None or only(pod.info)]
        woken = self._move(chosen, event, now)
        self.in_flight.record(event)
        return woken

    def activate(self, pods: Iterable[PodInfo], now: float) -> None:
        """Somebody wants these pods tried at once, whatever they wait for."""
        for pod in pods:
            queued = self._parked.get(pod.uid)
            from_backoff = queued is None
            if queued is None:
                queued = self._backoff.remove(pod.uid) or self._error_backoff.remove(pod.uid)
            if queued is not None:
                self._to_active(queued, now, FORCED, gate=not from_backoff)
            elif pod.uid in self.in_flight:
                self.in_flight.record(ObjectEvent(Kind.ANY, Change.ALL, None, pod))

    def flush_backoff(self, now: float) -> int:
        """Let pods whose back-off is over into the active queue. Returns how many."""
        moved = 0
        for heap in (self._backoff, self._error_backoff):
            while (queued := heap.peek()) is not None and not self._settings.backoff.waits(queued, now):
                heap.pop()
                # gates were asked when it was put there
                self._to_active(queued, now, BACKOFF_COMPLETE, gate=False)
                moved += 1
        return moved

    def flush_unschedulable(self, now: float) -> int:
        """Try pods again that were parked for very long: a hint may be wrong. Returns how many."""
        stale = [
            pod
            for pod in self._parked.values()
            if now - max(pod.queued_at, pod.flushed_at) > self._settings.most_unschedulable_seconds
        ]
        for pod in stale:
            pod.flushed, pod.flushed_at = True, now
        event = ObjectEvent(Kind.ANY, Change.ALL)
        moved = self._move(stale, event, now, label=TIMED_OUT)
        if stale:
            self.in_flight.record(event)
        return moved

    # ---- nominations

    def nominate(self, pod: PodInfo, node_name: str) -> None:
        """Remember where room is being made for a pod; an empty name forgets it."""
        if node_name:
            self.nominations.add(pod, node_name)
        else:
            self.nominations.remove(pod.uid)

    def _update_nomination(self, old: PodInfo, new: PodInfo) -> None:
        before, after = old.pod.status.nominated_node_name, new.pod.status.nominated_node_name
        # parity: a nomination that only we know of survives an update that knows of none (UpdateNominatedPod)
        kept = self.nominations.node_of(old.uid) if not before and not after else ""
        self.nominate(new, kept or after)

    # ---- the moves

    def _move(self, pods: Iterable[QueuedPod], event: ObjectEvent, now: float, label: str = "") -> int:
        woken = 0
        for pod in pods:
            if pod.gated and not _is_wildcard(event) and not self._gate_hears(pod, event):
                continue
            strategy = self._worth(pod, event)
            if strategy == "skip":
                continue
            self._parked.pop(pod.uid, None)
            woken += self._requeue(pod, strategy, now, label or event.label) != "unschedulable"
        return woken

    def _requeue(self, pod: QueuedPod, strategy: str, now: float, label: str) -> Place:
        if strategy == "skip":
            self._keep_parked(pod, label)
            return "unschedulable"
        if strategy == "after-backoff" and self._settings.backoff.waits(pod, now):
            return "backoff" if self._to_backoff(pod, label) else "unschedulable"
        return "active" if self._to_active(pod, now, label) else "unschedulable"

    def _to_active(self, pod: QueuedPod, now: float, label: str, *, gate: bool = True) -> bool:
        if gate and self._is_gated(pod):
            self._keep_parked(pod, label)
            return False
        if pod.first_tried_at is None:
            pod.first_tried_at = now
        self._parked.pop(pod.uid, None)
        self._active.push(pod.uid, pod, self._sort_key(pod))
        self._arrived("active", label)
        if label in {POD_ADDED, POD_UPDATED}:
            self.nominate(pod.info, pod.info.pod.status.nominated_node_name)
        return True

    def _to_backoff(self, pod: QueuedPod, label: str) -> bool:
        if self._is_gated(pod):
            self._keep_parked(pod, label)
            return False
        self._parked.pop(pod.uid, None)
        if pod.rejectors:
            self._backoff.push(pod.uid, pod, self._backoff_key(pod))
        else:
            self._error_backoff.push(pod.uid, pod, self._error_key(pod))
        self._arrived("backoff", label)
        return True

    def _keep_parked(self, pod: QueuedPod, label: str) -> None:
        if pod.gated:
            pod.flushed = False
        if pod.uid not in self._parked:
            self._arrived("unschedulable", label)
        self._parked[pod.uid] = pod

    def _is_gated(self, pod: QueuedPod) -> bool:
        """Ask the gates, the one that said no last time first."""
        gates = self._profile(pod).pre_enqueue
        for plugin in sorted(gates, key=lambda gate: gate.name != pod.gated_by):
            if plugin.pre_enqueue(self._view(), pod.info) is not None:
                pod.gated_by = plugin.name
                pod.rejected_by.add(plugin.name)
                return True
        pod.gated_by = ""
        return False

    # ---- is it worth trying again?

    def _worth(self, pod: QueuedPod, event: ObjectEvent) -> str:
        if not pod.rejectors:
            return "after-backoff"
        if _is_wildcard(event):
            meant = event.new is None or event.new.uid == pod.uid
            return "after-backoff" if meant else "skip"
        table, view = self._wakes[self._profile_name(pod)], self._view()
        if pod.pending_by and table.waking_plugins(pod.info, pod.pending_by, event, view):
            return "at-once"
        woken = bool(pod.rejected_by) and table.wakes(pod.info, pod.rejected_by, event, view)
        return "after-backoff" if woken else "skip"

    def _worth_in_flight(self, pod: QueuedPod) -> str:
        if not pod.rejectors or pod.uid not in self.in_flight:
            return "after-backoff"
        best = "skip"
        for event in self.in_flight.events_since(pod.uid):
            strategy = self._worth(pod, event)
            if strategy == "at-once":
                return strategy
            if strategy == "after-backoff":
                best = strategy
                if not pod.pending_by:
                    break
        return best

    def _gate_hears(self, pod: QueuedPod, event: ObjectEvent) -> bool:
        plugin = self._profile(pod).plugins[pod.gated_by]
        return any(wake.hears(event) for wake in plugin.wakes)

    # ---- orders

    def _profile_name(self, pod: QueuedPod) -> str:
        return pod.info.cls.spec.scheduler_name or "default-scheduler"

    def _profile(self, pod: QueuedPod) -> Profile:
        return self._profiles[self._profile_name(pod)]

    def _sort_key(self, pod: QueuedPod) -> Any:
        return self._profile(pod).queue_sort.queue_key(pod)

    def _backoff_key(self, pod: QueuedPod) -> Any:
        return (self._settings.backoff.until(pod), self._sort_key(pod))

    def _error_key(self, pod: QueuedPod) -> Any:
        return self._settings.backoff.until(pod)

    def _backed_off(self, uid: str) -> QueuedPod | None:
        return self._backoff.get(uid) or self._error_backoff.get(uid)


def _is_wildcard(event: ObjectEvent) -> bool:
    return event.kind is Kind.ANY and event.change is Change.ALL
