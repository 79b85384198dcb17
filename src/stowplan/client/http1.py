"""One HTTP/1.1 connection that carries one small request after another.

perf: measured on bindings and events over loopback, a general client spends several times as much per request;
streams and proxied requests stay with the general one (`session.py`).
"""

import asyncio
from typing import NamedTuple, cast, final

from stowplan.client.errors import BadResponse, ConnectionLost, RequestTimedOut

_LONGEST_HEAD = 64 * 1024
_LONGEST_CHUNK_LINE = 1024
_BODILESS = frozenset({204, 304})


class Answer(NamedTuple):
    """An answer, as far as API clients look at it."""

    status: int
    body: bytes
    retry_after: str | None = None


@final
class ChunkedBody:
    """Takes a chunked body apart as it arrives."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.done = False
        self._rest = b""
        self._left = 0
        self._between = False  # the line end after a chunk is due
        self._trailer = False

    def feed(self, data: bytes) -> None:
        """Take in what arrived; BadResponse when it is not chunked."""
        data = self._rest + data if self._rest else data
        self._rest = b""
        position = 0
        while not self.done:
            if self._left:
                part = data[position : position + self._left]
                self.parts.append(part)
                position += len(part)
                self._left -= len(part)
                if self._left:
                    return
                self._between = True
            end = data.find(b"\r\n", position)
            if end < 0:
                self._rest = data[position:]
                if len(self._rest) > _LONGEST_CHUNK_LINE:
                    raise BadResponse("a line between two chunks does not end")
                return
            line = data[position:end]
            position = end + 2
            self._line(line)
        if position != len(data):
            raise BadResponse("there is more after the end of the answer")

    def _line(self, line: bytes) -> None:
        if self._between:
            if line:
                raise BadResponse("a chunk is longer than it says")
            self._between = False
        elif self._trailer:
            self.done = not line
        else:
            try:
                self._left = int(line.split(b";", 1)[0], 16)
            except ValueError:
                raise BadResponse("a chunk does not say its length") from None
            if self._left < 0:
                raise BadResponse("a chunk says a negative length")
            self._trailer = self._left == 0


@final
class Http1Connection(asyncio.Protocol):
    """Sends a request, and reads its answer."""

    def __init__(self) -> None:
        self.used = 0
        self.idle_since = 0.0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._head = b""
        self._parts: list[bytes] = []
        self._expected = -1  # bytes of the body still to come; -1: no length was given
        self._chunked: ChunkedBody | None = None
        self._status = 0
        self._retry_after: str | None = None
        self._keep = True
        self._in_body = False

    @property
    def usable(self) -> bool:
        """Whether another request can be sent."""
        return self._keep and self._transport is not None and not self._transport.is_closing()

    async def exchange(self, request: bytes, timeout: float) -> Answer:
        """Send a complete request; its answer. RequestTimedOut when that takes too long."""
        assert self._waiter is None, "a connection carries one request at a time"
        if self._transport is None or self._transport.is_closing():
            raise ConnectionLost("the connection was closed before the request went out")
        self.used += 1
        self._waiter = self._loop.create_future()
        self._transport.write(request)
        # perf: asyncio.timeout costs 10 µs a request, a timer of the loop one
        late = self._loop.call_later(timeout, self._time_out, timeout)
        try:
            return await self._waiter
        finally:
            late.cancel()
            if not self._waiter.done() or self._waiter.cancelled():
                self.close()  # an answer that nobody waits for would be taken for the next one
            self._waiter = None

    def _time_out(self, timeout: float) -> None:
        self._fail(RequestTimedOut(f"no answer within {timeout:g} s"))
        self.close()  # an answer that nobody waits for would be taken for the next one

    def close(self) -> None:
        """Close without waiting for anything."""
        self._keep = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's own are not subclasses

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone; an answer without a length is complete by that."""
        self._transport = None
        self._keep = False
        if self._in_body and self._expected < 0 and self._chunked is None and exc is None:
            self._finish()
        else:
            self._fail(ConnectionLost(f"the connection was lost: {exc}" if exc else "the server closed the connection"))

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._waiter is None or self._waiter.done():
            self.close()  # nobody asked
            return
        try:
            if self._in_body:
                self._take(data)
            else:
                self._read_head(self._head + data if self._head else data)
        except BadResponse as error:
            self.close()
            self._fail(error)

    def _read_head(self, data: bytes) -> None:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if len(data) > _LONGEST_HEAD:
                raise BadResponse("the head of the answer does not end")
            self._head = data
            return
        self._head = b""
        head = data[:end].lower()
        if not head.startswith(b"http/1.") or not head[9:12].isdigit():
            raise BadResponse("this is not an HTTP answer")
        self._status = int(head[9:12])
        if self._status < 200:
            self._read_head(data[end + 4 :])
            return
        self._keep = head[7:8] != b"0" and _header(head, b"connection") != b"close"
        retry_after = _header(head, b"retry-after")
        self._retry_after = None if retry_after is None else retry_after.decode("latin-1")
        length = _header(head, b"content-length")
        self._in_body = True
        if self._status in _BODILESS:
            self._expected = 0
        elif (_header(head, b"transfer-encoding") or b"").endswith(b"chunked"):
            self._chunked = ChunkedBody()
        elif length is not None:
            if not length.isdigit():
                raise BadResponse("the answer does not say its length")
            self._expected = int(length)
        else:
            self._keep = False
        self._take(data[end + 4 :])

    def _take(self, data: bytes) -> None:
        if self._chunked is not None:
            self._chunked.feed(data)
            if self._chunked.done:
                self._parts = self._chunked.parts
                self._finish()
            return
        self._parts.append(data)
        if self._expected < 0:
            return
        self._expected -= len(data)
        if self._expected < 0:
            raise BadResponse("there is more after the end of the answer")
        if self._expected == 0:
            self._finish()

    def _finish(self) -> None:
        answer = Answer(self._status, b"".join(self._parts), self._retry_after)
        self._parts = []
        self._chunked = None
        self._expected = -1
        self._in_body = False
        if not self._keep:
            self.close()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)


def _header(head: bytes, name: bytes) -> bytes | None:
    """The value of a header in a lower-case head."""
    start = head.find(b"\r\n" + name + b":")
    if start < 0:
        return None
    start += len(name) + 3
    end = head.find(b"\r\n", start)
    return head[start : end if end >= 0 else len(head)].strip()
