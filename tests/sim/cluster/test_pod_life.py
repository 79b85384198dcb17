"""What the kubelet does with a pod, and when."""

from typing import Any

import pytest

from stowplan.api.meta import Condition
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.pod_life import Act, Home, Step, entered_of, next_step, stage_of
from stowplan.sim.cluster.records import Image, ReadinessGate, SimPod
from tests.sim.objects import NOW, sim_pod

HOME = Home(host_address="172.16.0.2", pod_address="10.1.0.1")
PACE = Pace(starting=2.0, spread=0.0, stopping=3.0, jobs=5.0)


def step(pod: SimPod, *, entered: float = NOW, now: float = NOW, pace: Pace = PACE) -> Step | None:
    return next_step(pod, HOME, pace, entered=entered, now=now)


def status_of(step: Step | None) -> dict[str, Any]:
    assert step is not None, "there is a step"
    assert step.status is not None, "a status is written"
    return step.status


def conditions_of(step: Step | None) -> dict[str, tuple[str, str | None]]:
    return {one["type"]: (one["status"], one["reason"]) for one in status_of(step)["conditions"]}


def test_a_bound_pod_is_taken_on_at_once() -> None:
    got = step(sim_pod())

    assert got is not None
    assert (NOW, Act.REPORT, "Pending") == (got.due, got.act, status_of(got)["phase"])
    assert {"waiting": {"reason": "ContainerCreating"}} == status_of(got)["containerStatuses"][0]["state"]
    assert ("False", "ContainersNotReady") == conditions_of(got)["Ready"]
    assert ("True", None) == conditions_of(got)["Initialized"]


def test_a_pod_that_was_taken_on_runs_after_its_delay() -> None:
    got = step(sim_pod(started=NOW))

    assert got is not None
    assert (NOW + 2.0, "Running", "10.1.0.1") == (got.due, status_of(got)["phase"], status_of(got)["podIP"])
    assert {("True", None)} == set(conditions_of(got).values())
    assert status_of(got)["containerStatuses"][0]["ready"]


def test_without_a_delay_a_pod_runs_with_one_write() -> None:
    got = step(sim_pod(), pace=Pace(starting=0.0, spread=0.0))

    assert (NOW, "Running") == (got.due if got else None, status_of(got)["phase"])


def test_an_annotation_sets_the_delay() -> None:
    got = step(sim_pod(started=NOW, annotations={"sim.stowplan.dev/start-delay": "1m"}))

    assert NOW + 60 == (got.due if got else None)


def test_an_annotation_that_cannot_be_read_is_as_if_absent() -> None:
    got = step(sim_pod(started=NOW, annotations={"sim.stowplan.dev/start-delay": "later"}))

    assert NOW + 2.0 == (got.due if got else None)


def test_init_containers_have_ended_when_the_pod_runs_and_sidecars_go_on() -> None:
    inits = (Image(name="prepare"), Image(name="proxy", restart_policy="Always"))
    waiting = step(sim_pod(init_containers=inits))
    running = step(sim_pod(started=NOW, init_containers=inits))

    assert "PodInitializing" == status_of(waiting)["containerStatuses"][0]["state"]["waiting"]["reason"]
    assert ("False", None) == conditions_of(waiting)["Initialized"]
    states = {one["name"]: set(one["state"]) for one in status_of(running)["initContainerStatuses"]}
    assert {"prepare": {"terminated"}, "proxy": {"running"}} == states


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param({}, None, id="a plain pod runs on"),
        pytest.param({"annotations": {"sim.stowplan.dev/duration": "30s"}, "restart_policy": "Never"},
                     (NOW + 30, "Succeeded"), id="one with a duration ends"),
        pytest.param({"owner": ("Job", "j"), "restart_policy": "Never"}, (NOW + 5, "Succeeded"),
                     id="one of a Job ends after the usual time"),
        pytest.param({"owner": ("Job", "j"), "restart_policy": "Never",
                      "annotations": {"sim.stowplan.dev/duration": "1s"}}, (NOW + 1, "Succeeded"),
                     id="its own duration comes first"),
        pytest.param({"annotations": {"sim.stowplan.dev/duration": "1s", "sim.stowplan.dev/exit-code": "3"},
                      "restart_policy": "Never"}, (NOW + 1, "Failed"), id="an exit code makes it fail"),
        pytest.param({"annotations": {"sim.stowplan.dev/duration": "1s"}, "restart_policy": "Always"},
                     (NOW + 1, "Running"), id="one that always restarts does"),
        pytest.param({"annotations": {"sim.stowplan.dev/duration": "1s", "sim.stowplan.dev/exit-code": "1"},
                      "restart_policy": "OnFailure"}, (NOW + 1, "Running"), id="one that restarts on failure does"),
        pytest.param({"annotations": {"sim.stowplan.dev/duration": "1s"}, "restart_policy": "OnFailure"},
                     (NOW + 1, "Succeeded"), id="but not after success"),
        pytest.param({"active_deadline_seconds": 4}, (NOW + 4, "Failed"), id="a deadline ends any pod"),
    ],
)  # fmt: skip
def test_a_running_pod(pod: dict[str, Any], want: tuple[float, str] | None) -> None:
    got = step(sim_pod(phase="Running", ready=True, started=NOW, running_since=NOW, **pod))

    assert want == (None if got is None else (got.due, status_of(got)["phase"]))


def test_a_restart_counts_and_remembers() -> None:
    marks = {"sim.stowplan.dev/duration": "1s", "sim.stowplan.dev/exit-code": "7"}
    pod = sim_pod(phase="Running", ready=True, started=NOW, running_since=NOW, annotations=marks, restarts=2)

    container = status_of(step(pod, now=NOW + 1))["containerStatuses"][0]

    assert (3, 7) == (container["restartCount"], container["lastState"]["terminated"]["exitCode"])


def test_a_gate_keeps_a_pod_from_being_ready() -> None:
    gates = (ReadinessGate(condition_type="example.com/open"),)
    closed = sim_pod(phase="Running", started=NOW, running_since=NOW, readiness_gates=gates)
    opened = [Condition(type="example.com/open", status="True")]
    open_ = sim_pod(phase="Running", started=NOW, running_since=NOW, readiness_gates=gates, conditions=opened)

    assert step(closed) is None
    assert ("True", None) == conditions_of(step(open_))["Ready"]
    assert ("False", "ReadinessGatesNotReady") == conditions_of(step(sim_pod(started=NOW, readiness_gates=gates)))[
        "Ready"
    ]


@pytest.mark.parametrize(
    ("pod", "want"),
    [
        pytest.param(sim_pod(phase="Running", started=NOW, deleted=NOW), NOW + 3, id="a running pod takes its time"),
        pytest.param(sim_pod(phase="Running", started=NOW, deleted=NOW, grace=1), NOW + 1, id="within its grace"),
        pytest.param(sim_pod(started=NOW, deleted=NOW), NOW, id="one that does not run yet goes at once"),
        pytest.param(sim_pod(phase="Succeeded", started=NOW, deleted=NOW), NOW, id="so does one that has ended"),
    ],
)
def test_a_deleted_pod_goes(pod: SimPod, want: float) -> None:
    got = step(pod)

    assert (want, Act.REMOVE, None) == (None if got is None else (got.due, got.act, got.status))


def test_whoever_holds_a_deleted_pod_is_told_how_it_ended() -> None:
    held = sim_pod(phase="Running", started=NOW, deleted=NOW, finalizers=["example.com/hold"])

    assert "Failed" == status_of(step(held))["phase"]
    assert step(sim_pod(phase="Failed", started=NOW, deleted=NOW, finalizers=["x"])) == Step(due=NOW, act=Act.REMOVE)


def test_a_pod_that_has_ended_is_left_alone() -> None:
    assert step(sim_pod(phase="Succeeded")) is None


def test_a_new_wait_begins_with_every_stage() -> None:
    running = sim_pod(phase="Running", started=NOW, running_since=NOW + 4)
    stages = [sim_pod(), sim_pod(started=NOW), running, sim_pod(phase="Running", started=NOW, restarts=1),
              sim_pod(phase="Running", started=NOW, deleted=NOW)]  # fmt: skip

    assert len(stages) == len({stage_of(pod) for pod in stages})
    assert [0.0, NOW, NOW + 4, 0.0, NOW] == [entered_of(pod) for pod in stages]
