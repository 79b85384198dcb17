"""Streams, and requests through a proxy, by aiohttp."""

import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, final

import aiohttp

from stowplan.client.errors import (
    BadResponse,
    ClientError,
    ConfigError,
    ConnectionLost,
    RequestTimedOut,
    Unreachable,
)
from stowplan.client.http1 import Answer

_LONGEST_LINE = 64 * 1024 * 1024
_READ_BUFFER = 256 * 1024


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request, ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    context: ssl.SSLContext | None = None
    server_name: str | None = None
    proxy: str | None = None


@final
class Session:
    """One aiohttp session; `limit` 0 means any number of connections."""

    def __init__(self, *, limit: int, connect_timeout: float, idle_timeout: float) -> None:
        self._connect_timeout = connect_timeout
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limit, keepalive_timeout=idle_timeout, socket_factory=_kept_alive_socket
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=_READ_BUFFER,
        )

    async def close(self) -> None:
        """Close all connections; open streams end."""
        await self._session.close()

    async def exchange(self, call: Call, *, timeout: float) -> Answer:
        """Send a request and read its whole answer."""
        try:
            async with await self._open(call, total=timeout) as response:
                return Answer(response.status, await response.read(), response.headers.get("Retry-After"))
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(error) from error

    async def open_stream(self, call: Call, *, silence: float | None) -> "Stream":
        """Send a request; its answer as a stream. `silence` is how long nothing may arrive."""
        try:
            return Stream(await self._open(call, total=None, silence=silence), self)
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(error) from error

    async def _open(self, call: Call, *, total: float | None, silence: float | None = None) -> aiohttp.ClientResponse:
        connect = self._connect_timeout if total is None else min(total, self._connect_timeout)
        return await self._session.request(
            call.method,
            call.url,
            data=call.body,
            headers=call.headers,
            allow_redirects=False,
            ssl=call.context if call.context is not None else True,
            server_hostname=call.server_name,
            proxy=call.proxy,
            timeout=aiohttp.ClientTimeout(total=total, sock_connect=connect, sock_read=silence),
        )

    def _failure(self, error: Exception) -> ClientError:
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return Unreachable(f"no connection within {self._connect_timeout:g} s")
        if isinstance(error, TimeoutError):
            return RequestTimedOut("no answer in time")
        if isinstance(error, aiohttp.ClientConnectorCertificateError):
            return Unreachable(f"the server's certificate is not trusted: {error.certificate_error}")
        if isinstance(error, aiohttp.ClientConnectorError):
            return Unreachable(f"cannot connect: {error.strerror or error.os_error}")
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return Unreachable(f"the proxy refused: {error.status} {error.message}")
        if isinstance(error, aiohttp.ClientResponseError):
            return BadResponse(f"this is not an HTTP answer: {error.message}")
        if isinstance(error, aiohttp.InvalidURL):
            return ConfigError(f"not a URL: {error}")
        return ConnectionLost(f"the connection was lost: {str(error) or type(error).__name__}")


@final
class Stream:
    """A streaming answer."""

    def __init__(self, response: aiohttp.ClientResponse, session: Session) -> None:
        self._response = response
        self._session = session

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    async def whole(self) -> Answer:
        """The rest, read at once."""
        try:
            body = await self._response.read()
        except (aiohttp.ClientError, OSError) as error:
            raise self._session._failure(error) from error
        return Answer(self.status, body, self._response.headers.get("Retry-After"))

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The lines as they arrive, without their ends; empty ones are left out."""
        try:
            async for line in _lines(self._response.content):
                yield line
        except (aiohttp.ClientError, OSError) as error:
            raise self._session._failure(error) from error

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


async def _lines(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    begun: list[bytes] = []
    held = 0
    while chunk := await content.readany():
        *complete, rest = chunk.split(b"\n")
        if complete:
            if begun:
                complete[0] = b"".join((*begun, complete[0]))
                begun.clear()
                held = 0
            for line in complete:
                if line:
                    yield line
        if rest:
            begun.append(rest)
            held += len(rest)
            if held > _LONGEST_LINE:
                raise BadResponse(f"a line of the stream is longer than {_LONGEST_LINE} bytes")
    if begun:
        yield b"".join(begun)


def _kept_alive_socket(address: tuple[Any, ...]) -> socket.socket:
    """A TCP socket that notices within about a minute that the other side has vanished."""
    family, kind, protocol, _name, _address = address
    sock = socket.socket(family, kind, protocol)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)  # macOS and Windows lack some of these
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
    return sock
