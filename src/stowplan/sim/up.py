"""A whole cluster as processes of this machine: API server, simulation, scheduler; started, watched and ended."""

import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self, final

import msgspec

from stowplan.apiserver.kubeconfig import refuse_foreign, write_kubeconfig
from stowplan.apiserver.options import ServerOptions, StartError
from stowplan.apiserver.process import Ready, encode_options
from stowplan.clock import Clock
from stowplan.sim.child import Child, ChildEndedError, Leash
from stowplan.sim.cluster.pools import PoolsError, read_shape

USAGE: Final = 2
FAILED: Final = 1

START_SECONDS: Final = 60.0
FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 30.0
# A scheduler that ends this soon after its first start was told something that it cannot do.
YOUNG: Final = 20.0


class UpError(Exception):
    """Raised when a cluster cannot start or go on; `status` is the exit status that says so."""

    def __init__(self, text: str, status: int = FAILED) -> None:
        super().__init__(text)
        self.status = status


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UpOptions:
    """What the cluster is to be."""

    nodes: str = "3"
    port: int = 0
    kubeconfig: Path | None = None
    data_dir: Path | None = None
    scheduler_config: Path | None = None
    with_scheduler: bool = True


@final
class Up:
    """One cluster. `start`, then `watch` now and then; `stop` ends it, also after a failed start."""

    def __init__(self, options: UpOptions, *, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._leash: Leash | None = None
        self._folder: Path | None = None
        self._temporary: Path | None = None
        self._server: Child | None = None
        self._simulation: Child | None = None
        self._scheduler: Child | None = None
        self._check: Child | None = None
        self._pauses: dict[str, float] = {}
        self._resting: dict[str, float] = {}
        self._ready: Ready | None = None
        self._own_kubeconfig = Path()
        self.kubeconfig = Path()
        self.node_count = 0

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ready(self) -> Ready:
        """What the API server says of itself."""
        assert self._ready is not None, "the cluster is not started"
        return self._ready

    @property
    def folder(self) -> Path:
        """Where the logs are."""
        assert self._folder is not None, "the cluster is not started"
        return self._folder

    @property
    def has_scheduler(self) -> bool:
        """Whether our scheduler is part of the cluster."""
        return self._options.with_scheduler

    @property
    def pids(self) -> dict[str, int]:
        """The processes that run, by what they are."""
        return {child.name: child.pid for child in self._children() if child.ended() is None}

    def start(self) -> None:
        """Check what was asked for, start the processes, and wait until the server listens."""
        options = self._options
        try:
            self.node_count = read_shape(options.nodes).nodes
        except PoolsError as error:
            raise UpError(str(error), USAGE) from None
        if options.scheduler_config is not None and not options.scheduler_config.is_file():
            raise UpError(f"{options.scheduler_config}: no such file", USAGE)
        self._leash = Leash()
        self._temporary = Path(tempfile.mkdtemp(prefix="stowplan-"))
        self._folder = self._temporary if options.data_dir is None else make_folder(options.data_dir)
        self.kubeconfig = (options.kubeconfig or self._folder / "kubeconfig").absolute()
        try:
            refuse_foreign(self.kubeconfig)
        except StartError as error:
            raise UpError(str(error), USAGE) from None
        # The file that our own processes wait for, in a folder that nothing is left in from before.
        self._own_kubeconfig = self._temporary / "kubeconfig"
        server = ServerOptions(
            port=options.port,
            data_dir=options.data_dir.absolute() if options.data_dir is not None else None,
            kubeconfig=self._own_kubeconfig,
        )
        self._server = self._spawn("API server", "stowplan.apiserver", encode_options(server))
        if options.scheduler_config is not None and options.with_scheduler:
            # perf: the scheduler reads its configuration while the server starts
            self._check = self._start_check(options.scheduler_config)
        # perf: the simulation reads its modules while the server reads its own
        self._simulation = self._start_simulation()
        self._ready = self._listening(self._server)
        if self._check is not None:
            self._refuse_configuration(self._check)
        self._write_kubeconfig(self._ready)
        if options.with_scheduler:
            self._scheduler = self._start_scheduler()

    def wait_nodes(self, seconds: float) -> bool:
        """Wait until all nodes are registered; False when that takes longer."""
        assert self._simulation is not None, "the cluster is not started"
        try:
            return self._simulation.wait_line(seconds) is not None
        except ChildEndedError as error:
            raise UpError(f"the simulation ended: {error}") from None

    def watch(self, say: Callable[[str], None]) -> None:
        """Start again what has ended; UpError when that cannot be done."""
        assert self._server is not None, "the cluster is not started"
        status = self._server.ended()
        if status is not None:
            raise UpError(f"the API server {ending(status)}: {self._server.last_words()}")
        if self._simulation is not None and self._rested(self._simulation, say):
            self._simulation = self._start_simulation()
        if self._scheduler is not None and self._rested(self._scheduler, say):
            self._scheduler = self._start_scheduler()

    def stop(self) -> None:
        """End all processes, the server last, and leave nothing behind but the data folder."""
        for child in reversed(list(self._children())):
            child.stop()
        self._server = self._simulation = self._scheduler = self._check = None
        if self._leash is not None:
            self._leash.close()
            self._leash = None
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    def _children(self) -> Iterator[Child]:
        for child in (self._server, self._simulation, self._scheduler, self._check):
            if child is not None:
                yield child

    def _write_kubeconfig(self, ready: Ready) -> None:
        if self.kubeconfig == self._own_kubeconfig:
            return
        try:
            write_kubeconfig(self.kubeconfig, url=ready.url, authority_pem=ready.authority.encode(), token=ready.token)
        except StartError as error:
            raise UpError(str(error), USAGE) from None

    def _spawn(self, name: str, module: str, *arguments: str) -> Child:
        assert self._leash is not None, "the leash comes first"
        assert self._folder is not None, "the folder comes first"
        log = self._folder / f"{name.lower().replace(' ', '-')}.log"
        try:
            return Child(name, module, arguments, leash=self._leash, log=log, clock=self._clock)
        except OSError as error:
            raise UpError(f"cannot start the {name}: {error}") from None

    def _start_simulation(self) -> Child:
        return self._spawn("simulation", "stowplan.sim.cluster", str(self._own_kubeconfig), self._options.nodes)

    def _start_scheduler(self) -> Child:
        arguments = ["scheduler", "--kubeconfig", str(self._own_kubeconfig), "--leader-elect=false", "--secure-port=0"]
        if self._options.scheduler_config is not None:
            arguments.append(f"--config={self._options.scheduler_config}")
        return self._spawn("scheduler", "stowplan", *arguments)

    def _start_check(self, config: Path) -> Child:
        written = str(self._own_kubeconfig.with_name("scheduler-configuration"))
        arguments = ("scheduler", f"--config={config}", f"--write-config-to={written}")
        return self._spawn("scheduler's configuration", "stowplan", *arguments)

    def _refuse_configuration(self, check: Child) -> None:
        """Wait until the scheduler has read its configuration; UpError when it does not like it."""
        try:
            check.wait_line(START_SECONDS)
        except ChildEndedError as error:
            if error.status:
                raise UpError(str(error).removeprefix("Error: "), USAGE) from None
        check.stop()
        check.log.unlink(missing_ok=True)
        self._check = None

    def _listening(self, server: Child) -> Ready:
        try:
            line = server.wait_line(START_SECONDS)
        except ChildEndedError as error:
            raise UpError(str(error).removeprefix("stowplan apiserver: ")) from None
        if line is None:
            raise UpError(f"the API server is not ready after {START_SECONDS:g} s")
        return msgspec.json.decode(line, type=Ready)

    def _rested(self, child: Child, say: Callable[[str], None]) -> bool:
        """Whether a child has ended and has had its pause."""
        status = child.ended()
        if status is None:
            if child.age > LONGEST_PAUSE:
                self._pauses.pop(child.name, None)
            return False
        if child.name not in self._resting:
            if status > 0 and child.name not in self._pauses and child.age < YOUNG:
                raise UpError(f"the {child.name} {ending(status)}: {child.last_words()}")
            pause = self._pauses.get(child.name, FIRST_PAUSE)
            self._pauses[child.name] = min(pause * 2, LONGEST_PAUSE)
            self._resting[child.name] = self._clock.monotonic() + pause
            say(f"the {child.name} {ending(status)}, starting it again: {child.last_words()}")
        if self._clock.monotonic() < self._resting[child.name]:
            return False
        del self._resting[child.name]
        child.stop()
        return True


def ending(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def make_folder(folder: Path) -> Path:
    """The data folder, made when it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UpError(f"data folder {folder}: {error.strerror}") from None
    return folder


def shown(path: Path) -> str:
    """A path as a shell wants to read it."""
    text = os.fspath(path)
    plain = all(letter.isalnum() or letter in "/._-+=:@%," for letter in text)
    return text if plain else "'" + text.replace("'", "'\\''") + "'"
