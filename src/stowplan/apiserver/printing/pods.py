"""The table of pods.

Upstream: pkg/printers/internalversion/printers.go, printPod (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.printing.columns import (
    NONE,
    Cells,
    Json,
    Printer,
    age,
    columns,
    human_duration,
    name_of,
    seconds_of,
)

ISSUED_FOR_NODE_LOST = "NodeLost"


def pod_row(pod: Json, now: float) -> Cells:
    """Readiness, phase in words, restarts, age, addresses."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    reason, initializing = _initial_reason(pod)
    ready, restarts, last_restart = 0, 0, None
    total = len(spec.get("containers") or ())
    sidecars = {
        container["name"] for container in spec.get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }  # fmt: skip
    total += len(sidecars)
    for found in status.get("initContainerStatuses") or ():
        if found.get("name") in sidecars or initializing:
            restarts += found.get("restartCount", 0)
        if found.get("name") in sidecars and found.get("started") and found.get("ready"):
            ready += 1
    if not initializing:
        has_running = False
        for found in reversed(status.get("containerStatuses") or ()):
            restarts += found.get("restartCount", 0)
            finished = seconds_of(((found.get("lastState") or {}).get("terminated") or {}).get("finishedAt"))
            if finished is not None:
                last_restart = max(last_restart or 0.0, finished)
            told = container_reason(found.get("state") or {})
            if told:
                reason = told
            elif found.get("ready") and "running" in (found.get("state") or {}):
                has_running = True
                ready += 1
        if reason == "Completed" and has_running:
            reason = "Running" if condition(pod, "Ready") == "True" else "NotReady"
    else:
        ready += sum(1 for found in status.get("containerStatuses") or () if found.get("ready"))
    if "deletionTimestamp" in pod["metadata"]:
        if status.get("reason") == ISSUED_FOR_NODE_LOST:
            reason = "Unknown"
        elif status.get("phase") not in ("Failed", "Succeeded"):
            reason = "Terminating"
    restarts_text: Any = str(restarts)
    if restarts and last_restart is not None:
        restarts_text = f"{restarts} ({human_duration(now - last_restart)} ago)"
    addresses = status.get("podIPs") or ()
    return [
        name_of(pod), f"{ready}/{total}", reason, restarts_text, age(pod, now),
        addresses[0].get("ip", NONE) if addresses else status.get("podIP") or NONE,
        spec.get("nodeName") or NONE, status.get("nominatedNodeName") or NONE, _gates(spec, status),
    ]  # fmt: skip


def _initial_reason(pod: Json) -> tuple[str, bool]:
    """The phase or its reason; and what an init container that is not done says instead."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    reason = status.get("reason") or status.get("phase") or "Unknown"
    for found in status.get("conditions") or ():
        if found.get("type") == "PodScheduled" and found.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    inits = spec.get("initContainers") or ()
    sidecars = {container["name"] for container in inits if container.get("restartPolicy") == "Always"}
    for index, found in enumerate(status.get("initContainerStatuses") or ()):
        state = found.get("state") or {}
        ended = state.get("terminated")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if found.get("name") in sidecars and found.get("started"):
            continue
        told = container_reason(state)
        if ended is not None:
            return f"Init:{told}", True
        if told and told != "PodInitializing":
            return f"Init:{told}", True
        return f"Init:{index}/{len(inits)}", True
    return reason, False


def container_reason(state: Json) -> str:
    """Why a container is not running."""
    waiting, ended = state.get("waiting"), state.get("terminated")
    if waiting and waiting.get("reason"):
        return str(waiting["reason"])
    if ended is None:
        return ""
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode', 0)}"


def condition(value: Json, kind: str) -> str:
    """The status of one condition."""
    for found in (value.get("status") or {}).get("conditions") or ():
        if found.get("type") == kind:
            return str(found.get("status", ""))
    return ""


def _gates(spec: Json, status: Json) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    true = {found.get("type") for found in status.get("conditions") or () if found.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


PODS = Printer(
    columns("Ready", "Status", "Restarts", "Age", wide=("IP", "Node", "Nominated Node", "Readiness Gates")), pod_row
)
