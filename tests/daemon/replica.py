"""A scheduler as a process of its own, as it runs in a cluster."""

import asyncio
import base64
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.daemon.api import ApiServer

LEASE_SECONDS = 3
CONFIGURATION: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "clientConnection": {"qps": 5000, "burst": 5000},
    "leaderElection": {
        "leaderElect": True,
        "leaseDuration": f"{LEASE_SECONDS}s",
        "renewDeadline": "2s",
        "retryPeriod": "400ms",
    },
}


def scheduler_command(*arguments: str) -> list[str]:
    """How to start a scheduler."""
    return [sys.executable, "-m", "stowplan", "scheduler", *arguments]


@contextmanager
def replica(
    server: ApiServer,
    url: str,
    folder: Path,
    name: str,
    *,
    elects: bool = True,
    flags: Sequence[str] = ("--secure-port=0",),
    more: Mapping[str, Any] | None = None,
) -> "Iterator[subprocess.Popen[bytes]]":
    """A replica that talks to the server through a URL; `more` is configuration. It ends with the block."""
    kubeconfig, config, log = folder / f"{name}.kubeconfig", folder / f"{name}.json", folder / f"{name}.log"
    authority = base64.b64encode(server.authority).decode()
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "c", "cluster": {"server": url, "certificate-authority-data": authority}}],
                "users": [{"name": "u", "user": {"token": server.scheduler_token}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                "current-context": "x",
            }
        )
    )
    kubeconfig.chmod(0o600)
    connection = {**CONFIGURATION["clientConnection"], "kubeconfig": str(kubeconfig)}
    election = {**CONFIGURATION["leaderElection"], "leaderElect": elects}
    told = {**CONFIGURATION, "clientConnection": connection, "leaderElection": election, **(more or {})}
    config.write_text(json.dumps(told))
    command = scheduler_command(f"--config={config}", *flags)
    with log.open("wb") as output:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
    try:
        yield child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait()


async def ended(child: "subprocess.Popen[bytes]", within: float = 10.0) -> int:
    """Wait until a replica has ended by itself; its exit status."""
    return await asyncio.to_thread(child.wait, within)
