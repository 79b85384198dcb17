"""A cluster for tests: API server, simulated nodes and the scheduler as processes, for the length of a `with` block."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self, final

from stowplan.client.connection import Connection
from stowplan.client.kubeconfig import Kubeconfig
from stowplan.clock import SystemClock
from stowplan.sim.up import Up, UpError, UpOptions

START_SECONDS = 60.0


class KubectlError(Exception):
    """Raised when kubectl is missing or fails; the text is what it said."""


@final
class LocalCluster:
    """`with LocalCluster(nodes=3) as cluster: cluster.kubectl("get", "nodes")`."""

    def __init__(
        self,
        *,
        nodes: int | str | Path = 3,
        scheduler: bool = True,
        scheduler_config: Path | None = None,
        data_dir: Path | None = None,
        port: int = 0,
    ) -> None:
        self._up = Up(
            UpOptions(
                nodes=str(nodes),
                port=port,
                data_dir=data_dir,
                scheduler_config=scheduler_config,
                with_scheduler=scheduler,
            ),
            clock=SystemClock(),
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start all processes and wait until all nodes are there; UpError says why it cannot be done."""
        try:
            self._up.start()
            if not self._up.wait_nodes(START_SECONDS):
                raise UpError(f"the nodes are not there after {START_SECONDS:g} s")
        except BaseException:
            self._up.stop()
            raise

    def stop(self) -> None:
        """End all processes and wait for their end."""
        self._up.stop()

    @property
    def kubeconfig(self) -> Path:
        """The file that leads to the cluster."""
        return self._up.kubeconfig

    @property
    def url(self) -> str:
        """Where the API server is."""
        return self._up.ready.url

    @property
    def token(self) -> str:
        """The administrator's bearer token."""
        return self._up.ready.token

    @property
    def pids(self) -> Mapping[str, int]:
        """The running processes, by what they are."""
        return self._up.pids

    def check(self) -> None:
        """UpError when a process has ended that should run; those that can be started again are."""
        self._up.watch(lambda _text: None)

    def log(self, process: str) -> str:
        """What a process has logged: `api-server`, `simulation` or `scheduler`."""
        return (self._up.folder / f"{process}.log").read_text()

    def connection(self) -> Connection:
        """For clients of `stowplan.client`."""
        return Kubeconfig.load([self.kubeconfig]).connection(environment={}, clock=SystemClock())

    def environment(self) -> dict[str, str]:
        """The environment of a command that is to work with this cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def kubectl(self, *arguments: str, stdin: str | None = None, timeout: float = 60.0) -> str:
        """Run stock kubectl; its standard output. KubectlError when it fails."""
        command = shutil.which("kubectl")
        if command is None:
            raise KubectlError("there is no kubectl on PATH")
        try:
            done = subprocess.run(  # noqa: S603 - the caller's arguments are for kubectl
                [command, *arguments],
                env=self.environment(),
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise KubectlError(f"kubectl {' '.join(arguments)}: no end after {timeout:g} s") from None
        if done.returncode:
            raise KubectlError(f"kubectl {' '.join(arguments)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout
