"""What the kubelet of a pod's node does next, and when: a pure function of the pod.

Containers start together and, with a duration, end together; there are no probes, images are always there, nothing
crashes that was not told to. Upstream: pkg/kubelet/kubelet_pods.go, pkg/kubelet/status (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, final

from stowplan.api.meta import time_seconds, time_text
from stowplan.sim.cluster.names import DURATION, EXIT_CODE, START_DELAY
from stowplan.sim.cluster.pace import Pace, read_seconds
from stowplan.sim.cluster.records import Image, SimPod

Json = dict[str, Any]

KILLED = 137


class Act(Enum):
    """What a kubelet can do with a pod."""

    REPORT = "report"
    """Write a status."""
    REMOVE = "remove"
    """Write a last status if there is one, then let the object go."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to do, at its time."""

    due: float
    act: Act
    status: Json | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Where a pod runs."""

    host_address: str
    pod_address: str


def stage_of(pod: SimPod) -> str:
    """A text that changes whenever a new wait begins."""
    return f"{pod.deleting}{pod.status.phase}{pod.status.start_time is not None}{pod.restarts}"


def entered_of(pod: SimPod) -> float:
    """When the present stage began, as far as the pod itself tells, in whole seconds."""
    if pod.deleting:
        return time_seconds(pod.metadata.deletion_timestamp or "") - (pod.metadata.deletion_grace_period_seconds or 0)
    if pod.status.phase == "Running":
        started = [_started_at(pod, status.name) for status in pod.status.container_statuses]
        return max((moment for moment in started if moment is not None), default=0.0)
    return 0.0 if pod.status.start_time is None else time_seconds(pod.status.start_time)


def next_step(pod: SimPod, home: Home, pace: Pace, *, entered: float, now: float) -> Step | None:
    """The next thing to do with a pod, `entered` being when its present stage began; None when there is nothing."""
    if pod.deleting:
        return _stopping(pod, home, pace, entered, now)
    if pod.finished:
        return None
    if pod.status.phase == "Running":
        return _running(pod, home, pace, entered, now)
    delay = _seconds(pod, START_DELAY, pace.starting_of(pod.uid))
    if pod.status.start_time is None and delay > 0:
        return Step(due=now, act=Act.REPORT, status=creating(pod, home, now))
    return Step(due=entered + delay, act=Act.REPORT, status=running(pod, home, now))


def _stopping(pod: SimPod, home: Home, pace: Pace, entered: float, now: float) -> Step:
    grace = pod.metadata.deletion_grace_period_seconds
    wait = pace.stopping if grace is None else min(pace.stopping, float(grace))
    if pod.finished or pod.status.phase != "Running":
        wait = 0.0
    # Whoever holds the pod by a finalizer wants to know how it ended.
    told = pod.metadata.finalizers and not pod.finished
    return Step(due=entered + wait, act=Act.REMOVE, status=finished(pod, home, now, KILLED, "Error") if told else None)


def _running(pod: SimPod, home: Home, pace: Pace, entered: float, now: float) -> Step | None:
    ends = _ends_after(pod, pace)
    deadline = pod.spec.active_deadline_seconds
    started = pod.status.start_time
    if deadline is not None and started is not None:
        limit = time_seconds(started) + deadline
        if ends is None or limit < entered + ends:
            return Step(due=limit, act=Act.REPORT, status=_past_deadline(pod, home, now))
    if ends is not None:
        code = _exit_code(pod)
        restarts = pod.spec.restart_policy == "Always" or (pod.spec.restart_policy == "OnFailure" and code != 0)
        status = (
            running(pod, home, now, restarts=pod.restarts + len(pod.spec.containers), last=(code, entered))
            if restarts
            else finished(pod, home, now, code, "Completed" if code == 0 else "Error")
        )
        return Step(due=entered + ends, act=Act.REPORT, status=status)
    if _gates_open(pod) != pod.ready:
        return Step(due=now, act=Act.REPORT, status={"conditions": _conditions(pod, now, running=True)})
    return None


def creating(pod: SimPod, home: Home, now: float) -> Json:
    """The status of a pod that the kubelet has taken on."""
    waiting = {"waiting": {"reason": "PodInitializing" if pod.spec.init_containers else "ContainerCreating"}}
    return {
        **_common(pod, home),
        "phase": "Pending",
        "startTime": time_text(now),
        "conditions": _conditions(pod, now, running=False),
        "containerStatuses": [_container(pod, image, waiting, ready=False) for image in pod.spec.containers],
    }


def running(pod: SimPod, home: Home, now: float, *, restarts: int = 0, last: tuple[int, float] | None = None) -> Json:
    """The status of a pod whose containers run; `last` is how and since when they ran before a restart."""
    state = {"running": {"startedAt": time_text(now)}}
    each = restarts // max(len(pod.spec.containers), 1)
    before = {} if last is None else _terminated(last[0], "Completed" if last[0] == 0 else "Error", last[1], now)
    status = {
        **_common(pod, home),
        "phase": "Running",
        "startTime": pod.status.start_time or time_text(now),
        "podIP": home.pod_address,
        "podIPs": [{"ip": home.pod_address}],
        "conditions": _conditions(pod, now, running=True),
        "containerStatuses": [
            _container(pod, image, state, ready=True, restarts=each, last=before) for image in pod.spec.containers
        ],
    }
    if pod.spec.init_containers:
        done = _terminated(0, "Completed", now, now)
        status["initContainerStatuses"] = [
            _container(pod, image, state if image.restart_policy == "Always" else done, ready=True)
            for image in pod.spec.init_containers
        ]
    return status


def finished(pod: SimPod, home: Home, now: float, code: int, reason: str) -> Json:
    """The status of a pod that has ended."""
    state = _terminated(code, reason, entered_of(pod) or now, now)
    each = pod.restarts // max(len(pod.spec.containers), 1)
    return {
        **_common(pod, home),
        "phase": "Succeeded" if code == 0 else "Failed",
        "startTime": pod.status.start_time or time_text(now),
        "conditions": _conditions(pod, now, running=False, ended="PodCompleted" if code == 0 else "PodFailed"),
        "containerStatuses": [
            _container(pod, image, state, ready=False, restarts=each) for image in pod.spec.containers
        ],
    }


def _past_deadline(pod: SimPod, home: Home, now: float) -> Json:
    return {
        **finished(pod, home, now, KILLED, "Error"),
        "reason": "DeadlineExceeded",
        "message": "Pod was active on the node longer than the specified deadline",
    }


def _common(pod: SimPod, home: Home) -> Json:
    return {
        "observedGeneration": pod.metadata.generation,
        "hostIP": home.host_address,
        "hostIPs": [{"ip": home.host_address}],
    }


def _conditions(pod: SimPod, now: float, *, running: bool, ended: str = "") -> list[Json]:
    containers_wait = "" if running else ended or "ContainersNotReady"
    gates = _gates_open(pod)
    ready_wait = containers_wait or ("" if gates else "ReadinessGatesNotReady")
    wanted = (
        ("PodReadyToStartContainers", running, ""),
        ("Initialized", running or bool(ended) or not pod.spec.init_containers, ended if ended else ""),
        ("Ready", running and gates, ready_wait),
        ("ContainersReady", running, containers_wait),
    )
    return [_condition(pod, type_, ok, reason, now) for type_, ok, reason in wanted]


def _condition(pod: SimPod, type_: str, ok: bool, reason: str, now: float) -> Json:
    status = "True" if ok else "False"
    known = pod.condition(type_)
    since = known.last_transition_time if known is not None and known.status == status else None
    made: Json = {
        "type": type_,
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": since or time_text(now),
        "observedGeneration": pod.metadata.generation,
        # Conditions are merged: what no longer holds must be taken away by name.
        "reason": reason or None,
        "message": None,
    }
    if reason == "ContainersNotReady":
        names = " ".join(image.name for image in pod.spec.containers)
        made["message"] = f"containers with unready status: [{names}]"
    return made


def _gates_open(pod: SimPod) -> bool:
    found = (pod.condition(gate.condition_type) for gate in pod.spec.readiness_gates)
    return all(condition is not None and condition.status == "True" for condition in found)


def _container(
    pod: SimPod, image: Image, state: Json, *, ready: bool, restarts: int = 0, last: Json | None = None
) -> Json:
    made: Json = {
        "name": image.name,
        "image": image.image,
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }
    if "waiting" not in state:
        made["containerID"] = f"stowplan://{pod.uid}/{image.name}/{restarts}"
    return made


def _terminated(code: int, reason: str, started: float, now: float) -> Json:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": time_text(started),
            "finishedAt": time_text(now),
        }
    }


def _started_at(pod: SimPod, name: str) -> float | None:
    for status in pod.status.container_statuses:
        if status.name == name and status.state.running is not None:
            text = status.state.running.get("startedAt")
            return time_seconds(text) if text else None
    return None


def _ends_after(pod: SimPod, pace: Pace) -> float | None:
    owner = pod.controller
    usual = pace.jobs if owner is not None and owner.kind == "Job" else None
    if DURATION not in pod.metadata.annotations:
        return usual
    seconds = _seconds(pod, DURATION, -1.0)
    return usual if seconds < 0 else seconds


def _seconds(pod: SimPod, annotation: str, otherwise: float) -> float:
    """The seconds that an annotation says; what cannot be read is as if it were not there."""
    text = _annotations(pod).get(annotation)
    if text is None:
        return otherwise
    try:
        return read_seconds(text)
    except ValueError:
        return otherwise


def _exit_code(pod: SimPod) -> int:
    text = _annotations(pod).get(EXIT_CODE, "0")
    return int(text) & 255 if text.isascii() and text.isdecimal() and len(text) < 10 else 1


def _annotations(pod: SimPod) -> Mapping[str, str]:
    return pod.metadata.annotations
