"""The scheduling queue, told story by story; its state machine is in test_queue_histories.py."""

import pytest

from stowplan.columns.pods import PodInfo
from stowplan.framework.wake import ObjectEvent
from stowplan.queue.backoff import Backoff
from stowplan.queue.queued_pod import QueuedPod
from stowplan.queue.scheduling_queue import QueueSettings, SchedulingQueue
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

PROFILES = {"default-scheduler": profile_of(*PLUGINS)}


class Watched:
    """A queue whose arrivals and failed hints are written down."""

    def __init__(self, settings: QueueSettings | None = None) -> None:
        self.arrivals: list[tuple[str, str]] = []
        self.failures: list[str] = []
        self.queue = SchedulingQueue(
            PROFILES,
            lambda: EMPTY_VIEW,
            settings or QueueSettings(),
            arrived=lambda place, event: self.arrivals.append((place, event)),
            hint_failed=lambda plugin, _pod, _event, _error: self.failures.append(plugin),
        )


def popped(queue: SchedulingQueue, now: float) -> QueuedPod:
    found = queue.pop(now)
    assert found is not None
    return found


def parked(queue: SchedulingQueue, pod: PodInfo, *rejected_by: str, now: float = 0.5) -> QueuedPod:
    """A pod that was tried and rejected."""
    queue.add(pod, now)
    found = popped(queue, now)
    queue.park(found, pod, rejected_by, now)
    return found


def names(queue: SchedulingQueue, now: float) -> list[str]:
    found = []
    while (queued := queue.pop(now)) is not None:
        found.append(queued.info.pod.name)
        queue.done(queued.uid)
    return found


def test_the_most_important_pod_comes_first_then_the_oldest() -> None:
    queue = Watched().queue
    queue.add(info("late"), 3)
    queue.add(info("early"), 1)
    queue.add(info("urgent", priority=5), 9)

    assert ["urgent", "early", "late"] == names(queue, 10)
    assert not queue.has_work()


def test_a_pod_that_is_known_is_not_added_again() -> None:
    queue = Watched().queue
    queue.add(info("p"), 1)
    queue.add(info("p"), 2)
    assert {"active": 1, "backoff": 0, "unschedulable": 0, "gated": 0, "in-flight": 0} == queue.counts()

    popped(queue, 3)
    queue.add(info("p"), 4)

    assert "in-flight" == queue.place_of("uid-p")
    assert queue.pop(5) is None


def test_a_rejected_pod_waits_for_what_its_plugins_wait_for() -> None:
    queue = Watched().queue
    parked(queue, info("p", labels={"app": "x"}), "NeedsNode")
    assert "unschedulable" == queue.place_of("uid-p")

    assert 0 == queue.move_all(ROOM, 20)
    assert 0 == queue.move_all(node_added("y"), 20)
    assert 1 == queue.move_all(node_added("x"), 20)

    assert "active" == queue.place_of("uid-p")


def test_a_woken_pod_finishes_its_back_off_first() -> None:
    watched = Watched()
    queue = watched.queue
    parked(queue, info("p"), "NeedsRoom", now=10.4)

    queue.move_all(ROOM, 10.6)
    assert "backoff" == queue.place_of("uid-p")
    assert 0 == queue.flush_backoff(11.9)
    assert 1 == queue.flush_backoff(12.0)

    assert "active" == queue.place_of("uid-p")
    assert [
        ("active", "UnschedulablePodAdd"),
        ("unschedulable", "ScheduleAttemptFailure"),
        ("backoff", "AssignedPodDelete"),
        ("active", "BackoffComplete"),
    ] == watched.arrivals


def test_back_off_doubles_up_to_ten_seconds() -> None:
    queue = Watched().queue
    queue.add(info("p"), 0)
    waits = []
    now = 0.0
    for _ in range(6):
        found = popped(queue, now)
        queue.park(found, found.info, ["NeedsRoom"], now)
        waits.append(queue.backoff_until(found) - now)
        now = 100.0 * len(waits)
        queue.move_all(ROOM, now)

    assert [1, 2, 4, 8, 10, 10] == waits


def test_errors_in_a_row_back_off_by_themselves_and_wake_nobody_waits() -> None:
    queue = Watched().queue
    queue.add(info("p"), 0)
    found = popped(queue, 0)
    queue.park(found, found.info, ["NeedsRoom"], 0)
    queue.activate([info("p")], 0)
    for expected in (1, 2):
        found = popped(queue, 100 * expected)
        assert "backoff" == queue.park(found, found.info, [], 100.0 * expected)
        assert expected == queue.backoff_until(found) - 100 * expected
        assert not queue.has_work(), "only pods that were rejected come early"
        assert 0 == queue.flush_backoff(100 * expected + expected)
        assert 1 == queue.flush_backoff(100 * expected + expected + 1)


def test_with_nothing_active_a_pod_comes_early_from_back_off() -> None:
    watched = Watched()
    queue = watched.queue
    parked(queue, info("p"), "NeedsRoom", now=10)
    queue.move_all(ROOM, 10)
    assert "backoff" == queue.place_of("uid-p")
    assert queue.has_work()

    assert "p" == popped(queue, 10.1).info.pod.name
    assert ("active", "PopFromBackoffQ") == watched.arrivals[-1]


def test_pods_of_one_back_off_window_come_by_importance() -> None:
    queue = Watched().queue
    for name, priority, at in (("a", 1, 10.1), ("b", 5, 10.8), ("c", 9, 11.2)):
        parked(queue, info(name, priority=priority), "NeedsRoom", now=at)
        queue.move_all(ROOM, at)

    assert ["b", "a", "c"] == names(queue, 11.3)


@pytest.mark.parametrize(
    ("event", "want"),
    [
        pytest.param(ROOM, "backoff", id="what it waits for"),
        pytest.param(EVERYTHING, "backoff", id="everything"),
        pytest.param(CLASS, "unschedulable", id="what it does not wait for"),
        pytest.param(node_added("other"), "unschedulable", id="what its hint dismisses"),
        pytest.param(node_added("broken", name="broken"), "unschedulable", id="a hint of a plugin that did not reject"),
    ],
)
def test_what_happens_in_flight_is_not_missed(event: ObjectEvent, want: str) -> None:
    queue = Watched().queue
    queue.add(info("p"), 10)
    queue.move_all(event, 10)
    queue.add(info("other"), 10)
    found = popped(queue, 10)

    queue.move_all(event, 10.1)

    assert want == queue.park(found, found.info, ["NeedsRoom"], 10.2)
    assert 0 == queue.in_flight.events


def test_what_happened_before_an_attempt_does_not_count() -> None:
    queue = Watched().queue
    queue.add(info("first"), 10)
    queue.add(info("second"), 11)
    first = popped(queue, 12)
    queue.move_all(ROOM, 13)
    second = popped(queue, 14)

    assert "unschedulable" == queue.park(second, second.info, ["NeedsRoom"], 15)
    assert 1 == queue.in_flight.events
    assert "backoff" == queue.park(first, first.info, ["NeedsRoom"], 15)
    assert 0 == queue.in_flight.events


def test_who_waits_for_something_pending_is_tried_at_once() -> None:
    queue = Watched().queue
    for number, event, want in ((0, CLAIM, "active"), (1, ROOM, "backoff")):
        queue.add(info(f"p{number}"), 10)
        found = popped(queue, 10)
        queue.park(found, found.info, ["NeedsRoom"], 10, pending_by=["NeedsClaim"])

        queue.move_all(event, 10)

        assert want == queue.place_of(found.uid)
        queue.delete(found.info)


def test_in_flight_too_what_was_pending_outdoes_the_rest() -> None:
    queue = Watched().queue
    queue.add(info("p"), 10)
    found = popped(queue, 10)
    queue.move_all(ROOM, 10)
    queue.move_all(CLAIM, 10)

    assert "active" == queue.park(found, found.info, ["NeedsRoom"], 10, pending_by=["NeedsClaim"])


def test_a_gated_pod_waits_outside_until_its_gate_opens() -> None:
    watched = Watched()
    queue = watched.queue
    closed, opened = info("p", labels={"gate": "shut"}), info("p")
    queue.add(closed, 1)
    assert ("gated", []) == (queue.place_of("uid-p"), names(queue, 1))
    assert [("unschedulable", "UnschedulablePodAdd")] == watched.arrivals

    queue.update(closed, opened, 2)

    assert ["p"] == names(queue, 2)
    assert ("active", "UnschedulablePodUpdatePodLabel") == watched.arrivals[-1]


def test_a_gated_pod_hears_only_what_its_gate_hears() -> None:
    queue = Watched().queue
    queue.add(info("p", labels={"gate": "shut"}), 1)

    assert 0 == queue.move_all(ROOM, 2)
    assert 0 == queue.move_all(EVERYTHING, 2)

    assert "gated" == queue.place_of("uid-p")


def test_a_gated_pod_is_not_bothered_with_what_only_its_filters_wait_for() -> None:
    queue = Watched().queue
    pod, gated = info("p"), info("p", labels={"second-gate": ""})
    parked(queue, pod, "NeedsRoom")
    queue.update(pod, gated, 20)
    queue.move_all(ROOM, 20)
    assert "gated" == queue.place_of("uid-p")
    queue.update(gated, pod, 21)

    assert 0 == queue.move_all(ROOM, 21), "its gate hears of nothing, so nobody asks whether it opened"
    assert 0 == queue.flush_unschedulable(300)
    assert 1 == queue.flush_unschedulable(301)


def test_the_gate_that_said_no_is_asked_first_and_the_others_after_it() -> None:
    queue = Watched().queue
    both, second, none = (
        info("p", labels=labels) for labels in ({"gate": "", "second-gate": ""}, {"second-gate": ""}, {})
    )
    queue.add(both, 1)
    queued = queue.get("uid-p")
    assert queued is not None
    assert "Gate" == queued.gated_by

    queue.update(both, second, 2)
    assert ("gated", "SecondGate") == (queue.place_of("uid-p"), queued.gated_by)
    queue.update(second, none, 3)

    assert "active" == queue.place_of("uid-p")
    assert not queued.gated


def test_a_gate_that_closes_after_an_attempt_keeps_the_pod_out() -> None:
    queue = Watched().queue
    queue.add(info("p"), 1)
    found = popped(queue, 1)

    assert "unschedulable" == queue.park(found, info("p", labels={"gate": ""}), [], 1)
    assert "gated" == queue.place_of("uid-p")
    assert 0 == queue.flush_backoff(1000)


def test_pods_parked_for_five_minutes_are_tried_again() -> None:
    watched = Watched()
    queue = watched.queue
    parked(queue, info("p"), "NeedsRoom", now=10)

    assert 0 == queue.flush_unschedulable(310)
    assert 1 == queue.flush_unschedulable(310.1)

    assert "active" == queue.place_of("uid-p")
    assert ("active", "UnschedulableTimeout") == watched.arrivals[-1]
    found = popped(queue, 311)
    assert found.flushed
    queue.park(found, found.info, ["NeedsRoom"], 311)
    assert not found.flushed


def test_a_gated_pod_is_flushed_no_more_often_than_others() -> None:
    queue = Watched().queue
    queue.add(info("p", labels={"gate": ""}), 10)

    assert 0 == queue.flush_unschedulable(311)
    queued = queue.get("uid-p")
    assert queued is not None
    assert (311, False) == (queued.flushed_at, queued.flushed)


def test_the_time_until_a_flush_is_a_setting() -> None:
    queue = Watched(QueueSettings(most_unschedulable_seconds=30, backoff=Backoff(2, 4))).queue
    found = parked(queue, info("p"), "NeedsRoom", now=10)

    assert 12 == queue.backoff_until(found)
    assert 1 == queue.flush_unschedulable(40.1)


def test_activate_fetches_a_pod_from_wherever_it_waits() -> None:
    watched = Watched()
    queue = watched.queue
    for name, event in (("parked", None), ("backing-off", ROOM)):
        found = parked(queue, info(name), "NeedsRoom", now=10)
        if event is not None:
            queue.move_all(event, 10)
            assert "backoff" == queue.place_of(found.uid)
            queue.activate([found.info], 10)
            assert "active" == queue.place_of(found.uid)
            assert ("active", "ForceActivate") == watched.arrivals[-1]
            continue
        queue.activate([found.info], 10)
        assert "active" == queue.place_of(found.uid)
        queue.done(popped(queue, 10).uid)


def test_activate_in_flight_brings_the_pod_back_and_nobody_else() -> None:
    queue = Watched().queue
    queue.add(info("a"), 10)
    queue.add(info("b"), 10)
    first, second = popped(queue, 10), popped(queue, 10)

    queue.activate([first.info, info("unknown")], 10)

    assert "backoff" == queue.park(first, first.info, ["NeedsRoom"], 10)
    assert "unschedulable" == queue.park(second, second.info, ["NeedsRoom"], 10)
    assert queue.place_of("uid-unknown") is None


def test_activate_does_not_open_a_gate() -> None:
    queue = Watched().queue
    gated = info("p", labels={"gate": ""})
    queue.add(gated, 1)

    queue.activate([gated], 2)

    assert "gated" == queue.place_of("uid-p")


def test_a_pod_in_flight_remembers_its_updates() -> None:
    queue = Watched().queue
    queue.add(info("p"), 10)
    found = popped(queue, 10)
    newer = info("p", labels={"app": "x"})

    queue.update(found.info, newer, 11)
    assert "in-flight" == queue.place_of("uid-p")

    assert 1 == queue.in_flight.events
    assert "unschedulable" == queue.park(found, newer, ["NeedsRoom"], 12)
    assert newer is found.info


def test_an_update_can_change_a_pods_turn() -> None:
    queue = Watched().queue
    queue.add(info("a"), 1)
    queue.add(info("b"), 2)

    queue.update(info("b"), info("b", priority=9), 3)

    assert ["b", "a"] == names(queue, 4)


def test_an_unknown_pod_that_is_updated_is_added() -> None:
    watched = Watched()
    watched.queue.update(info("p"), info("p", nominated="n"), 1)

    assert "active" == watched.queue.place_of("uid-p")
    assert [("active", "UnschedulablePodUpdate")] == watched.arrivals
    assert "n" == watched.queue.nominations.node_of("uid-p")


@pytest.mark.parametrize("place", ["active", "backoff", "unschedulable", "gated"])
def test_a_deleted_pod_is_nowhere(place: str) -> None:
    queue = Watched().queue
    pod = info("p", nominated="n", labels={"gate": ""} if place == "gated" else None)
    if place in {"active", "gated"}:
        queue.add(pod, 1)
    else:
        parked(queue, pod, "NeedsRoom")
        if place == "backoff":
            queue.move_all(ROOM, 0.5)
    assert place == queue.place_of("uid-p")

    queue.delete(pod)

    assert queue.place_of("uid-p") is None
    assert not any(queue.counts().values())
    assert {} == queue.nominations.by_node
    assert queue.pop(1000) is None


def test_a_pod_deleted_in_flight_is_left_to_who_tries_it() -> None:
    queue = Watched().queue
    queue.add(info("p"), 1)
    found = popped(queue, 1)

    queue.delete(found.info)
    assert "in-flight" == queue.place_of("uid-p")
    queue.done(found.uid)

    assert queue.place_of("uid-p") is None


def test_the_pre_check_spares_pods() -> None:
    queue = Watched().queue
    parked(queue, info("a"), "NeedsRoom")
    parked(queue, info("b"), "NeedsRoom")

    assert 1 == queue.move_all(ROOM, 20, only=lambda pod: pod.pod.name == "b")

    assert ("unschedulable", "active") == (queue.place_of("uid-a"), queue.place_of("uid-b"))


def test_a_hint_that_fails_wakes_the_pod_and_is_reported() -> None:
    watched = Watched()
    parked(watched.queue, info("p"), "NeedsNode")

    assert 1 == watched.queue.move_all(node_added(name="broken"), 20)

    assert ["NeedsNode"] == watched.failures


def test_nominations_follow_updates() -> None:
    queue = Watched().queue
    plain, named = info("p"), info("p", nominated="b")
    queue.add(plain, 1)
    queue.nominate(plain, "a")

    queue.update(plain, info("p", labels={"x": "y"}), 2)
    assert "a" == queue.nominations.node_of("uid-p"), "an update that knows of no nomination leaves ours"
    queue.update(plain, named, 3)
    assert "b" == queue.nominations.node_of("uid-p")
    queue.update(named, plain, 4)
    assert "" == queue.nominations.node_of("uid-p")


def test_waiting_lists_pods_in_their_order() -> None:
    queue = Watched().queue
    parked(queue, info("parked"), "NeedsRoom")
    queue.add(info("b", priority=1), 1)
    queue.add(info("a", priority=2), 2)
    queue.add(info("gated", labels={"gate": ""}), 3)

    listed = {place: [queued.info.pod.name for queued in pods] for place, pods in queue.waiting().items()}

    assert {"active": ["a", "b"], "backoff": [], "unschedulable": ["parked"], "gated": ["gated"]} == listed
