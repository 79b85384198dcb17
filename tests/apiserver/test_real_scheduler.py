"""An unmodified kube-scheduler schedules this server's pods, when its binary is at hand.

It is looked for in the folder that KUBEBUILDER_ASSETS names, then on PATH.
"""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import NODES, PODS, node, pod
from tests.apiserver.wire import process

BINARY = shutil.which("kube-scheduler", path=os.environ.get("KUBEBUILDER_ASSETS")) or shutil.which("kube-scheduler")
SECONDS = 60


@pytest.mark.skipif(BINARY is None, reason="there is no kube-scheduler in KUBEBUILDER_ASSETS or on PATH")
def test_it_binds_pods_and_says_why_it_cannot(tmp_path: Path) -> None:
    config = tmp_path / "config"
    with process(ServerOptions(kubeconfig=config)) as (_, wire):
        wire.send("POST", NODES, json.dumps(node("n")).encode())
        for name in "abc":
            wire.send("POST", PODS, json.dumps(pod(name)).encode())
        wire.send("POST", PODS, json.dumps(pod("nowhere", nodeSelector={"no": "node"})).encode())
        assert BINARY is not None
        flags = [f"--{name}={config}" for name in ("kubeconfig", "authentication-kubeconfig",
                                                   "authorization-kubeconfig")]  # fmt: skip
        with subprocess.Popen(
            [BINARY, *flags, "--secure-port=0"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as scheduler:
            try:
                deadline = time.monotonic() + SECONDS
                while time.monotonic() < deadline:
                    items = wire.send("GET", PODS).json["items"]
                    placed = {item["metadata"]["name"]: item["spec"].get("nodeName") for item in items}
                    parked = next(item for item in items if item["metadata"]["name"] == "nowhere")["status"]
                    if all(placed[name] for name in "abc") and parked.get("conditions"):
                        break
                    time.sleep(0.1)
                events = wire.send("GET", "/apis/events.k8s.io/v1/namespaces/default/events").json["items"]
            finally:
                scheduler.terminate()

    assert {"a": "n", "b": "n", "c": "n", "nowhere": None} == placed
    assert "Unschedulable" == parked["conditions"][0]["reason"]
    assert {"Scheduled", "FailedScheduling"} == {event["reason"] for event in events}
