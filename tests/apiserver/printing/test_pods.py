"""The table of pods."""

from typing import Any

import pytest

from stowplan.apiserver.printing.pods import pod_row

SPEC = {"containers": [{"name": "c"}]}


def pod(status: dict[str, Any], spec: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    """A pod with a status."""
    return {"metadata": {"name": "a", "creationTimestamp": "1970-01-01T00:00:00Z", **meta}, "spec": spec or SPEC,
            "status": status}  # fmt: skip


def container(state: dict[str, Any], **members: Any) -> dict[str, Any]:
    """The status of container c."""
    return {"name": "c", "state": state, **members}


RUNNING: dict[str, Any] = {"running": {}}
SIDECAR = {"containers": [{"name": "c"}], "initContainers": [{"name": "s", "restartPolicy": "Always"}]}
INIT = {"containers": [{"name": "c"}], "initContainers": [{"name": "i"}, {"name": "j"}]}


@pytest.mark.parametrize(
    ("value", "want"),
    [
        pytest.param(pod({"phase": "Pending"}), ["0/1", "Pending", "0"], id="it waits"),
        pytest.param(pod({"phase": "Running", "containerStatuses": [container(RUNNING, ready=True)]}),
                     ["1/1", "Running", "0"], id="it runs"),
        pytest.param(pod({"phase": "Running", "containerStatuses": [
            container({"waiting": {"reason": "CrashLoopBackOff"}}, restartCount=3,
                      lastState={"terminated": {"finishedAt": "1970-01-01T00:00:50Z"}})]}),
                     ["0/1", "CrashLoopBackOff", "3 (10s ago)"], id="it crashes"),
        pytest.param(pod({"phase": "Succeeded", "containerStatuses": [
            container({"terminated": {"reason": "Completed"}})]}), ["0/1", "Completed", "0"], id="it is done"),
        pytest.param(pod({"phase": "Failed", "containerStatuses": [container({"terminated": {"exitCode": 3}})]}),
                     ["0/1", "ExitCode:3", "0"], id="it failed"),
        pytest.param(pod({"phase": "Failed", "reason": "Evicted"}), ["0/1", "Evicted", "0"], id="it was evicted"),
        pytest.param(pod({"phase": "Running"}, deletionTimestamp="x"), ["0/1", "Terminating", "0"], id="it goes"),
        pytest.param(pod({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "reason": "SchedulingGated"}]}), ["0/1", "SchedulingGated", "0"], id="gated"),
        pytest.param(pod({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "state": {"terminated": {"exitCode": 0}}}, {"name": "j", "state": RUNNING}]}, INIT),
                     ["0/1", "Init:1/2", "0"], id="it prepares"),
        pytest.param(pod({"phase": "Pending", "initContainerStatuses": [
            {"name": "i", "state": {"waiting": {"reason": "ImagePullBackOff"}}}]}, INIT),
                     ["0/1", "Init:ImagePullBackOff", "0"], id="it cannot prepare"),
        pytest.param(pod({"phase": "Running", "containerStatuses": [container(RUNNING, ready=True)],
                          "initContainerStatuses": [{"name": "s", "started": True, "ready": True, "state": RUNNING,
                                                     "restartCount": 1}]}, SIDECAR),
                     ["2/2", "Running", "1"], id="it has a sidecar"),
    ],
)  # fmt: skip
def test_a_row(value: dict[str, Any], want: list[str]) -> None:
    assert want == pod_row(value, 60.0)[1:4]
