"""Whatever happens, every waiting pod is in exactly one place, and that is where the twin has it."""

from typing import Any, Final

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.queue.events import pod_events
from stowplan.queue.queued_pod import QueuedPod
from stowplan.queue.scheduling_queue import SchedulingQueue
from tests.queue.scene import (
    CLAIM,
    CLASS,
    EMPTY_VIEW,
    EVERYTHING,
    PLUGINS,
    ROOM,
    info,
    node_added,
    profile_of,
)
from tests.queue.twin import PodTwin, QueueTwin

PROFILES: Final = {"default-scheduler": profile_of(*PLUGINS)}
OPEN: Final[tuple[dict[str, str], ...]] = ({}, {"app": "x"})
GATED: Final[tuple[dict[str, str], ...]] = (
    {"gate": ""},
    {"second-gate": "", "app": "x"},
    {"gate": "", "second-gate": ""},
)
EVENTS: Final[tuple[ObjectEvent, ...]] = (
    ROOM,
    CLAIM,
    CLASS,
    EVERYTHING,
    node_added("x"),
    node_added(""),
    node_added(name="broken"),
)
MOST: Final = 8
REJECTION_SETS: Final = tuple(
    (rejected_by, pending_by)
    for rejected_by in (("NeedsNode",), ("NeedsRoom",), ("NeedsNode", "NeedsRoom"), ())
    for pending_by in ((), (), ("NeedsClaim",))
)
Outcome = tuple[tuple[str, ...], tuple[str, ...]] | str

outcomes = st.sampled_from([*REJECTION_SETS, *["stays"] * 12, "bound"])
looks = st.fixed_dictionaries(
    {
        "labels": st.sampled_from([*OPEN, *OPEN, *OPEN, *GATED]),
        "nominated": st.sampled_from(["", "", "n1", "n2"]),
        "priority": st.sampled_from([0, 0, 5]),
    }
)


class QueueMachine(RuleBasedStateMachine):
    """Does the same to the queue and to its twin."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.queue = SchedulingQueue(PROFILES, lambda: EMPTY_VIEW)
        self.twin = QueueTwin()
        self.flying: dict[str, QueuedPod] = {}
        self.latest: dict[str, PodInfo] = {}
        self.deleted: set[str] = set()
        self.made = 0

    @precondition(lambda self: len(self.twin.pods) < MOST)
    @rule(look=looks)
    def add(self, look: dict[str, Any]) -> None:
        self.made += 1
        # no two pods are queued at the same instant, so that order is never a matter of taste
        self.now += 0.001
        pod = info(f"p{self.made}", **look)
        self.queue.add(pod, self.now)
        twin = self.twin.pods[pod.uid] = PodTwin(pod, self.now, number=self.made)
        self.latest[pod.uid] = pod
        self.twin.to_active(twin, new=True)

    @precondition(lambda self: len(self.twin.pods) > len(self.deleted))
    @rule(data=st.data(), look=looks)
    def update(self, data: st.DataObject, look: dict[str, Any]) -> None:
        old = self.latest[self._someone(data)]
        new = info(old.pod.name, **look)
        self.latest[new.uid] = new
        self.queue.update(old, new, self.now)
        twin = self.twin.pods[new.uid]
        events = pod_events(old, new, assigned=False)
        if twin.place == "in-flight":
            self.twin.history += events
            return
        twin.info = new
        ours = self.twin.nominated.get(new.uid, "")
        before, after = old.pod.status.nominated_node_name, new.pod.status.nominated_node_name
        self.twin.nominate(new, ours if not before and not after else after)
        for event in events:
            if twin.place in {"unschedulable", "gated"}:
                self.twin.requeue(twin, self.twin.worth(twin, event), self.now)

    @precondition(lambda self: len(self.twin.pods) > len(self.deleted))
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        uid = self._someone(data)
        self.queue.delete(self.latest[uid])
        self.twin.nominated.pop(uid, None)
        if uid in self.flying:
            self.deleted.add(uid)
        else:
            del self.twin.pods[uid]

    @initialize(pods=st.lists(st.tuples(looks, outcomes), min_size=2, max_size=5))
    def some_were_tried(self, pods: list[tuple[dict[str, Any], Outcome]]) -> None:
        for look, outcome in pods:
            self.add(look)
            self.attempt(outcome)

    @rule(outcome=outcomes)
    def attempt(self, outcome: Outcome) -> None:
        want = self.twin.next()
        queued = self.queue.pop(self.now)
        assert (want and want.info) is (queued and queued.info)
        if want is None or queued is None:
            return
        want.attempts += 1
        want.place, want.taken = "in-flight", len(self.twin.history)
        assert want.attempts == queued.attempts
        self.flying[queued.uid] = queued
        self._ends(queued.uid, outcome)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), outcome=outcomes)
    def an_attempt_ends(self, data: st.DataObject, outcome: Outcome) -> None:
        self._ends(data.draw(st.sampled_from(sorted(self.flying))), outcome)

    def _ends(self, uid: str, outcome: Outcome) -> None:
        if outcome == "stays":
            return
        queued = self.flying.pop(uid)
        if outcome == "bound" or uid in self.deleted:
            self.deleted.discard(uid)
            self.queue.done(uid)
            self.queue.nominate(self.latest[uid], "")
            self.twin.nominated.pop(uid, None)
            del self.twin.pods[uid]
            return
        assert not isinstance(outcome, str)
        rejected_by, pending_by = outcome
        self.now += 0.001
        self.queue.park(queued, self.latest[uid], rejected_by, self.now, pending_by=pending_by)
        twin = self.twin.pods[uid]
        twin.info, twin.gate, twin.queued_at = self.latest[uid], "", self.now
        twin.rejected_by, twin.pending_by = set(rejected_by), set(pending_by)
        if rejected_by or pending_by:
            twin.rejections, twin.errors = twin.rejections + 1, 0
        else:
            twin.errors += 1
        twin.flushed_at = 0.0
        self.twin.came_back(twin, self.now)

    @rule(event=st.sampled_from(EVENTS))
    def something_happens(self, event: ObjectEvent) -> None:
        before = {pod.info.uid for pod in self.twin.in_place("unschedulable", "gated")}
        woken = self.queue.move_all(event, self.now)
        self.twin.happens(event, self.now)
        assert len(before - {pod.info.uid for pod in self.twin.in_place("unschedulable", "gated")}) == woken

    @rule(seconds=st.sampled_from([0.2, 0.9, 1.0, 3.0, 11.0, 301.0]), flush=st.booleans())
    def time_passes(self, seconds: float, flush: bool) -> None:
        self.now += seconds
        if flush:
            self.flush_backoff()
            self.flush_unschedulable()

    @rule()
    def flush_backoff(self) -> None:
        moved = 0
        for pod in self.twin.in_place("backoff", "error-backoff"):
            if pod.until < int(self.now):
                self.twin.to_active(pod, gate=False)
                moved += 1
        assert moved == self.queue.flush_backoff(self.now)

    @rule()
    def flush_unschedulable(self) -> None:
        self.queue.flush_unschedulable(self.now)
        stale = [
            pod
            for pod in self.twin.in_place("unschedulable", "gated")
            if self.now - max(pod.queued_at, pod.flushed_at) > 300
        ]
        for pod in stale:
            pod.flushed_at = self.now
            self.twin.requeue(pod, "after-backoff", self.now)
        if stale:
            self.twin.history.append(EVERYTHING)

    @precondition(lambda self: self.twin.pods)
    @rule(data=st.data())
    def activate(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.twin.pods)))
        twin = self.twin.pods[uid]
        self.queue.activate([twin.info], self.now)
        match twin.place:
            case "unschedulable" | "gated":
                self.twin.to_active(twin)
            case "backoff" | "error-backoff":
                self.twin.to_active(twin, gate=False)
            case "in-flight":
                self.twin.history.append(ObjectEvent(Kind.ANY, Change.ALL, None, twin.info))

    @precondition(lambda self: len(self.twin.pods) > len(self.deleted))
    @rule(data=st.data(), node_name=st.sampled_from(["", "n1", "n3"]))
    def nominate(self, data: st.DataObject, node_name: str) -> None:
        pod = self.latest[self._someone(data)]
        self.queue.nominate(pod, node_name)
        self.twin.nominate(pod, node_name)

    def _someone(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(sorted(self.twin.pods.keys() - self.deleted)))

    @invariant()
    def every_pod_is_in_exactly_one_place_and_that_is_the_twins(self) -> None:
        queue = self.queue
        holders: list[Any] = [
            queue._active,
            queue._backoff,
            queue._error_backoff,
            queue._parked,
            queue.in_flight,
        ]
        for uid, pod in self.twin.pods.items():
            assert 1 == sum(uid in holder for holder in holders)
            assert pod.place.removeprefix("error-") == queue.place_of(uid)
            if pod.place == "error-backoff":
                assert uid in queue._error_backoff
        assert len(self.twin.pods) == sum(queue.counts().values())
        assert bool(self.twin.in_place("active", "backoff")) == queue.has_work()

    @invariant()
    def nominations_are_the_twins(self) -> None:
        found = {pod.uid: name for name, pods in self.queue.nominations.by_node.items() for pod in pods}
        assert self.twin.nominated == found
        assert all(self.queue.nominations.by_node.values())
        assert all(name == self.queue.nominations.node_of(uid) for uid, name in found.items())

    @invariant()
    def events_are_kept_while_somebody_could_miss_them(self) -> None:
        oldest = min((pod.taken for pod in self.twin.in_place("in-flight")), default=len(self.twin.history))
        # those that nobody asked for need not be kept
        assert self.queue.in_flight.events <= len(self.twin.history) - oldest
        if not self.flying:
            assert 0 == self.queue.in_flight.events


TestEveryHistory = QueueMachine.TestCase
TestEveryHistory.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
