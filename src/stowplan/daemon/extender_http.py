"""POST and answer to one extender: kept-alive connections, one deadline for the whole exchange, bounded answers.

Upstream: send and makeTransport in pkg/scheduler/extender.go (v1.36.4).
"""

import http.client
import io
import select
import socket
import ssl
import threading
from typing import Final, final
from urllib.parse import urlsplit

from stowplan.client.errors import ConfigError
from stowplan.client.tls import TlsSettings, build_context
from stowplan.clock import Clock
from stowplan.config.spec import SECOND_NS, ExtenderSpec
from stowplan.framework.extender import ExtenderError

MOST_IDLE: Final = 4
LEAST_LIMIT: Final = 16 * 1024 * 1024
"""Answers may always be this long; longer ones must be in proportion to what was asked."""
TIMES_THE_QUESTION: Final = 4
_CHUNK: Final = 1 << 20


@final
class ExtenderTransport:
    """Connections to one extender, for use from several threads."""

    def __init__(self, spec: ExtenderSpec, clock: Clock) -> None:
        self.url = spec.url_prefix.rstrip("/")
        self._timeout = spec.http_timeout_ns / SECOND_NS
        self._clock = clock
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError as error:
            raise ConfigError(f"the extender's urlPrefix {self.url!r} is not a URL: {error}") from None
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ConfigError(f"the extender's urlPrefix {self.url!r} is not an http or https URL")
        self._host = parts.hostname
        self._port = port or (443 if parts.scheme == "https" else 80)
        self._path = parts.path
        self._tls = _context(spec) if parts.scheme == "https" else None
        self._server_name = (spec.tls.server_name if spec.tls is not None else "") or self._host
        self._idle: list[_Line] = []
        self._lock = threading.Lock()

    def post(self, verb: str, body: bytes, *, repeatable: bool) -> bytes:
        """The body of a 200 answer. A request is sent twice only when that can do no harm. Raises ExtenderError."""
        deadline = self._clock.monotonic() + self._timeout
        url = f"{self.url}/{verb}"
        line = self._take()
        if line is not None:
            try:
                return self._exchange(line, verb, body, deadline)
            except _Stale:
                if not repeatable:
                    raise ExtenderError(f'Post "{url}": EOF') from None
        try:
            return self._exchange(self._connect(url, deadline), verb, body, deadline)
        except _Stale as error:
            raise ExtenderError(f'Post "{url}": {error}') from error

    def close(self) -> None:
        """Close what is kept alive."""
        with self._lock:
            idle, self._idle = self._idle, []
        for line in idle:
            line.end()

    def _exchange(self, line: "_Line", verb: str, body: bytes, deadline: float) -> bytes:
        url = f"{self.url}/{verb}"
        keep = False
        line.deadline = deadline
        try:
            line.connection.request(
                "POST", f"{self._path}/{verb}", body, {"Content-Type": "application/json", "Accept": "application/json"}
            )
            response = line.connection.getresponse()
            answer = _read(response, max(LEAST_LIMIT, TIMES_THE_QUESTION * len(body)), url)
            if response.status != http.client.OK:
                raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
            keep = not response.will_close
            return answer
        except TimeoutError as error:
            raise ExtenderError(
                f'Post "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
            ) from error
        except (ConnectionError, http.client.RemoteDisconnected) as error:
            raise _Stale("EOF" if isinstance(error, http.client.RemoteDisconnected) else _reason(error)) from error
        except (OSError, http.client.HTTPException) as error:
            raise ExtenderError(f'Post "{url}": {_reason(error)}') from error
        finally:
            if keep:
                self._give_back(line)
            else:
                line.end()

    def _connect(self, url: str, deadline: float) -> "_Line":
        remaining = max(deadline - self._clock.monotonic(), 0.001)
        try:
            raw = socket.create_connection((self._host, self._port), timeout=remaining)
        except OSError as error:
            where = f"dial tcp {self._host}:{self._port}"
            why = "i/o timeout" if isinstance(error, TimeoutError) else f"connect: {_reason(error)}"
            raise ExtenderError(f'Post "{url}": {where}: {why}') from error
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is None:
            return _Line(raw, self._host, self._port, self._clock)
        try:
            return _Line(
                self._tls.wrap_socket(raw, server_hostname=self._server_name), self._host, self._port, self._clock
            )
        except OSError as error:
            raw.close()
            why = "net/http: TLS handshake timeout" if isinstance(error, TimeoutError) else f"tls: {_reason(error)}"
            raise ExtenderError(f'Post "{url}": {why}') from error

    def _take(self) -> "_Line | None":
        """A connection that is kept alive, and that the other side has not ended meanwhile."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                line = self._idle.pop()
            if not line.ended():
                return line
            line.end()

    def _give_back(self, line: "_Line") -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(line)
                return
        line.end()


class _Stale(Exception):  # noqa: N818 - a state of the connection
    """Raised when the other side ended the connection before it answered."""


@final
class _Line:
    """One connection. Every wait on it ends at the deadline, however slowly bytes drip in."""

    def __init__(self, raw: socket.socket, host: str, port: int, clock: Clock) -> None:
        self._raw = raw
        self._clock = clock
        self.deadline = 0.0
        self.connection = http.client.HTTPConnection(host, port)
        self.connection.sock = self  # it asks for sendall, makefile and close

    def remaining(self) -> float:
        """Seconds until the deadline. Raises TimeoutError when it has passed."""
        remaining = self.deadline - self._clock.monotonic()
        if remaining <= 0:
            raise TimeoutError("timed out")
        return remaining

    def sendall(self, data: bytes) -> None:
        """Send, as http.client asks."""
        self._raw.settimeout(self.remaining())
        self._raw.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        """What to read the answer from, as http.client asks."""
        return io.BufferedReader(_Reader(self._raw, self))

    def close(self) -> None:
        """Not yet, though http.client asks: it does so before the answer of a server that closes has been read."""

    def end(self) -> None:
        """End it."""
        self._raw.close()

    def ended(self) -> bool:
        """Whether the other side ended it, or said something that nobody asked for."""
        try:
            return bool(select.select([self._raw], [], [], 0)[0])
        except (OSError, ValueError):
            return True


@final
class _Reader(io.RawIOBase):
    def __init__(self, raw: socket.socket, line: _Line) -> None:
        self._raw = raw
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview | bytearray") -> int:  # type: ignore[override]
        self._raw.settimeout(self._line.remaining())
        return self._raw.recv_into(buffer)


def _read(response: http.client.HTTPResponse, limit: int, url: str) -> bytes:
    chunks, size = [], 0
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        if size > limit:
            raise ExtenderError(f"the extender at URL {url} answers more than {limit} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _context(spec: ExtenderSpec) -> ssl.SSLContext:
    tls = spec.tls
    # parity: with enableHTTPS and no root of its own the server is not verified (makeTransport)
    insecure = (spec.enable_https and not spec.verifies_server) or (tls is not None and tls.insecure)
    if tls is None:
        return build_context(TlsSettings(insecure=insecure))
    return build_context(
        TlsSettings(
            ca_data=tls.ca_data or None,
            ca_file=tls.ca_file or None,
            certificate_data=tls.cert_data or None,
            certificate_file=tls.cert_file or None,
            key_data=tls.key_data or None,
            key_file=tls.key_file or None,
            server_name=tls.server_name or None,
            insecure=insecure,
        )
    )


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
