"""The server as a process of its own: how to start one, and how it says that it is ready."""

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import msgspec

from stowplan.apiserver.options import ServerOptions, StartError


@dataclass(frozen=True, slots=True)
class Ready:
    """What a started server says of itself, as one line of JSON on its standard output."""

    url: str
    token: str
    port: int
    authority: str


COMMAND = (sys.executable, "-m", "stowplan.apiserver")
FROM_INPUT = "-"
"""Instead of options: they come on standard input, where no other user of the machine can read the tokens."""


def encode_options(options: ServerOptions) -> str:
    """Options as one argument."""
    return msgspec.json.encode(options, enc_hook=_encode).decode()


def decode_options(text: str) -> ServerOptions:
    """Options from one argument."""
    return msgspec.json.decode(text, type=ServerOptions, dec_hook=_decode)


def spawn(options: ServerOptions, *, stderr: IO[bytes] | int | None = None) -> "ServerProcess":
    """Start a server and wait until it listens."""
    child = subprocess.Popen(  # noqa: S603 (our own interpreter and module)
        [*COMMAND, FROM_INPUT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
    )
    assert child.stdin is not None
    # a child that ended already says why by its status
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(encode_options(options).encode())
        child.stdin.close()
    assert child.stdout is not None
    line = child.stdout.readline()
    if not line:
        child.stdout.close()
        raise StartError(f"the API server ended with status {child.wait()} before it was ready")
    return ServerProcess(child, msgspec.json.decode(line, type=Ready))


class ServerProcess:
    """A running server process; leaving the `with` block ends it."""

    def __init__(self, child: "subprocess.Popen[bytes]", ready: Ready) -> None:
        self.child = child
        self.ready = ready

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, timeout: float = 10.0) -> None:
        """Ask the process to end; make it end when it does not."""
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()

    def kill(self) -> None:
        """End the process without a word."""
        self.child.kill()
        self.child.wait()
        if self.child.stdout is not None:
            self.child.stdout.close()


def _encode(value: object) -> str:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value).__name__)


def _decode(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind.__name__)
