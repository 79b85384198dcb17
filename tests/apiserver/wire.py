"""A server in a process of its own, and a plain connection to it."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

from stowplan.apiserver.options import ServerOptions
from stowplan.apiserver.process import Ready, ServerProcess, spawn


@final
@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The answer as an object."""
        value: dict[str, Any] = json.loads(self.body)
        return value


@final
class Wire:
    """One connection, opened again when it is lost."""

    def __init__(self, ready: Ready, timeout: float = 10.0) -> None:
        self._ready = ready
        self._trust = ssl.create_default_context(cadata=ready.authority)
        self._timeout = timeout
        self._connection: http.client.HTTPSConnection | None = None

    def send(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> Reply:
        """Send one request; a server that does not answer in time fails the test."""
        if self._connection is None:
            self._connection = http.client.HTTPSConnection(
                "127.0.0.1", self._ready.port, timeout=self._timeout, context=self._trust
            )
        headers = {"Authorization": f"Bearer {self._ready.token}", "Content-Type": kind}
        try:
            self._connection.request(method, path, body=body, headers=headers)
            answer = self._connection.getresponse()
            reply = Reply(answer.status, answer.read())
        except BaseException:
            self.close()
            raise
        if answer.will_close:
            self.close()
        return reply

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def process(options: ServerOptions | None = None) -> Iterator[tuple[ServerProcess, Wire]]:
    """A server process that lives as long as the block."""
    with spawn(options or ServerOptions()) as server:
        wire = Wire(server.ready)
        try:
            yield server, wire
        finally:
            wire.close()
