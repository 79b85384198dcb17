"""A process of ours: started on a leash, with a log file, heard when it says that it is ready."""

import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import final

from stowplan.clock import Clock

LONGEST_LINE = 4096


class ChildEndedError(Exception):
    """Raised when a process ended before it was ready; the text is what it said last."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


@final
class Leash:
    """The pipe that all children hold on to: they end when this process does."""

    def __init__(self) -> None:
        self.held, self._ours = os.pipe()

    def close(self) -> None:
        """Let go: whoever still runs is asked to end."""
        os.close(self.held)
        os.close(self._ours)


@final
class Child:
    """One process."""

    def __init__(
        self, name: str, module: str, arguments: Sequence[str], *, leash: Leash, log: Path, clock: Clock
    ) -> None:
        self.name = name
        self.log = log
        self._clock = clock
        self._started = clock.monotonic()
        with log.open("ab") as errors:
            self._log_start = errors.tell()
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and modules
                [sys.executable, "-m", "stowplan.sim.leash", str(leash.held), module, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=(leash.held,),
                # Ctrl-C reaches this process only, which then ends its children in order.
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def age(self) -> float:
        """Seconds since the start."""
        return self._clock.monotonic() - self._started

    def ended(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def wait_line(self, seconds: float) -> str | None:
        """The first line that the process prints; None when it takes longer than that."""
        assert self._process.stdout is not None, "the output is piped"
        pipe, line, deadline = self._process.stdout.fileno(), b"", self._clock.monotonic() + seconds
        while b"\n" not in line:
            left = deadline - self._clock.monotonic()
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                return None
            read = os.read(pipe, LONGEST_LINE)
            if not read:
                raise ChildEndedError(self.last_words(), self._process.wait())
            line += read
        return line.partition(b"\n")[0].decode()

    def last_words(self) -> str:
        """The last line of this process in its log."""
        with self.log.open("rb") as file:
            file.seek(self._log_start)
            lines = [line for line in file.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1] if lines else f"the {self.name} said nothing"

    def stop(self, seconds: float = 5.0) -> None:
        """Ask the process to end; make it end when it does not."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
