"""Requests to one API server over a bounded pool of kept-alive connections; every failure becomes a ClientError.

Upstream: staging/src/k8s.io/client-go/rest/request.go (v1.36.4).
"""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, final
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from stowplan.client.connection import Connection
from stowplan.client.errors import (
    ApiError,
    BadResponse,
    ClientError,
    ConfigError,
    ConnectionLost,
    RequestTimedOut,
    Unreachable,
    error_of_answer,
)
from stowplan.client.rate import RateLimiter
from stowplan.client.tls import TlsContexts
from stowplan.clock import Clock

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Params = Mapping[str, str | int]

_LONGEST_LINE = 64 * 1024 * 1024
_READ_BUFFER = 256 * 1024


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """Limits of a client. Times are in seconds."""

    max_connections: int = 100
    connect_timeout: float = 30.0  # parity: the dialer's timeout (transport/cache.go)
    request_timeout: float = 60.0
    # perf: below the 60 s and more after which servers and balancers drop idle connections
    keepalive_timeout: float = 30.0
    max_retries: int = 10  # parity: rest/request.go, retries that the server asks for
    longest_retry_wait: float = 60.0
    user_agent: str = "stowplan"


class RequestObserver(Protocol):
    """Told about every attempt, for metrics."""

    def attempt_done(self, method: str, code: int, seconds: float) -> None:
        """An attempt ended; `code` is 0 when there was no answer."""


@final
class ApiClient:
    """One server, one identity, one rate limit. Use it as an async context manager, or call `close`."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        limiter: RateLimiter | None = None,
        settings: TransportSettings | None = None,
        observer: RequestObserver | None = None,
    ) -> None:
        self.connection = connection
        self.server = connection.server.rstrip("/")
        self.settings = settings or TransportSettings()
        self.limiter = limiter
        self._clock = clock
        self._observer = observer
        url = URL(self.server)
        if url.scheme not in {"http", "https"} or not url.host:
            raise ConfigError(f"the server {connection.server!r} is not an http or https URL")
        self._tls = TlsContexts(connection.tls, clock=clock) if url.scheme == "https" else None
        self._session: aiohttp.ClientSession | None = None
        self._streams: aiohttp.ClientSession | None = None
        self._timeout = aiohttp.ClientTimeout(
            total=self.settings.request_timeout, sock_connect=self.settings.connect_timeout
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; open streams end."""
        sessions = [session for session in (self._session, self._streams) if session is not None]
        self._session = self._streams = None
        for session in sessions:
            await session.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
        timeout: float | None = None,
    ) -> bytes:
        """The body of a 2xx answer. Answers that name a Retry-After (429, 5xx) are retried, all others raise."""
        retries = 0
        while True:
            try:
                return await self._attempt(
                    method, path, params=params, body=body, content_type=content_type, timeout=timeout
                )
            except ApiError as error:
                delay = self._retry_delay(error, retries)
                if delay is None:
                    raise
                retries += 1
            await asyncio.sleep(delay)

    async def get_json(self, path: str, params: Params | None = None) -> Any:
        """GET, decoded."""
        return self._decode(await self.request("GET", path, params=params), "GET", path)

    async def post(self, path: str, body: Any, *, params: Params | None = None) -> Any:
        """POST an object (encoded as JSON unless it is bytes); the created object, decoded."""
        return self._decode(await self.request("POST", path, params=params, body=encode(body)), "POST", path)

    async def put(self, path: str, body: Any, *, params: Params | None = None) -> Any:
        """PUT an object; the stored object, decoded."""
        return self._decode(await self.request("PUT", path, params=params, body=encode(body)), "PUT", path)

    async def patch(
        self, path: str, body: Any, *, content_type: str = MERGE_PATCH, params: Params | None = None
    ) -> Any:
        """PATCH an object; the patched object, decoded."""
        answer = await self.request("PATCH", path, params=params, body=encode(body), content_type=content_type)
        return self._decode(answer, "PATCH", path)

    async def delete(self, path: str, body: Any = None, *, params: Params | None = None) -> Any:
        """DELETE, with DeleteOptions if given; the server's answer, decoded."""
        encoded = None if body is None else encode(body)
        return self._decode(await self.request("DELETE", path, params=params, body=encoded), "DELETE", path)

    async def stream(
        self, path: str, params: Params | None = None, *, silence_timeout: float | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The lines of a streaming answer, as they arrive; ends when the server ends it properly.

        Close the generator (`contextlib.aclosing`) to free the connection when leaving early.
        """
        timeout = aiohttp.ClientTimeout(
            total=None, sock_connect=self.settings.connect_timeout, sock_read=silence_timeout
        )
        if self._streams is None:
            self._streams = self._new_session(limit=0)
        started = self._clock.monotonic()
        code = 0
        try:
            async with await self._open(self._streams, "GET", path, params=params, timeout=timeout) as response:
                code = response.status
                if code >= 300:
                    raise self._refusal(response, await response.read(), "GET", path)
                self._observe("GET", code, started)
                async for line in _lines(response.content):
                    yield line
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(error, "GET", path) from error
        finally:
            if code == 0 or code >= 300:
                self._observe("GET", code, started)

    async def _attempt(
        self,
        method: str,
        path: str,
        *,
        params: Params | None,
        body: bytes | None,
        content_type: str,
        timeout: float | None,
    ) -> bytes:
        if self._session is None:
            self._session = self._new_session(limit=self.settings.max_connections)
        limits = self._timeout if timeout is None else aiohttp.ClientTimeout(total=timeout, sock_connect=timeout)
        started = self._clock.monotonic()
        code = 0
        try:
            async with await self._open(
                self._session,
                method,
                path,
                params=params,
                body=body,
                content_type=content_type,
                timeout=limits,
            ) as response:
                answer = await response.read()
                code = response.status
                if code >= 300:
                    raise self._refusal(response, answer, method, path)
                return answer
        except (aiohttp.ClientError, OSError) as error:
            raise self._failure(error, method, path) from error
        finally:
            self._observe(method, code, started)

    async def _open(
        self,
        session: aiohttp.ClientSession,
        method: str,
        path: str,
        *,
        timeout: aiohttp.ClientTimeout,
        params: Params | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Send one request, and once more with a fresh credential when the first is not recognised."""
        credentials = self.connection.credentials
        url = URL(f"{self.server}{path}?{urlencode(params)}" if params else f"{self.server}{path}", encoded=True)
        for last in (False, True):
            if self.limiter is not None and not self.limiter.try_acquire():
                await self.limiter.acquire()
            headers = {} if body is None else {"Content-Type": content_type}
            authorization = await credentials.authorization()
            if authorization is not None:
                headers["Authorization"] = authorization
            response = await session.request(
                method,
                url,
                data=body,
                headers=headers,
                allow_redirects=False,
                ssl=self._tls.current(credentials.certificate()) if self._tls is not None else True,
                server_hostname=self.connection.tls.server_name,
                proxy=self.connection.proxy,
                timeout=timeout,
            )
            if last or response.status != 401 or not await self._renew(response, authorization):
                break
        return response

    async def _renew(self, response: aiohttp.ClientResponse, authorization: str | None) -> bool:
        renewed = await self.connection.credentials.refused(authorization)
        if renewed:
            response.release()
        return renewed

    def _new_session(self, *, limit: int) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=limit,
                keepalive_timeout=self.settings.keepalive_timeout,
                socket_factory=_kept_alive_socket,
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"Accept": JSON, "User-Agent": self.settings.user_agent},
            skip_auto_headers=("Accept-Encoding",),
            read_bufsize=_READ_BUFFER,
        )

    def _retry_delay(self, error: ApiError, retries: int) -> float | None:
        # parity: with_retry.go checkWait, 429 and 5xx answers are retried when they say when
        if retries >= self.settings.max_retries or not error.retriable or error.retry_after is None:
            return None
        return min(error.retry_after, self.settings.longest_retry_wait)

    def _refusal(self, response: aiohttp.ClientResponse, body: bytes, method: str, path: str) -> ApiError:
        return error_of_answer(
            response.status,
            body,
            server=self.server,
            request=f"{method} {path}",
            retry_after=response.headers.get("Retry-After"),
        )

    def _failure(self, error: Exception, method: str, path: str) -> ClientError:
        request = f"{method} {path}"
        text = str(error) or type(error).__name__
        kind: type[ClientError] = ConnectionLost
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            kind, text = Unreachable, f"no connection within {self.settings.connect_timeout:g} s"
        elif isinstance(error, TimeoutError):
            kind, text = RequestTimedOut, "no answer in time"
        elif isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientProxyConnectionError):
            kind = Unreachable
        elif isinstance(error, aiohttp.ClientResponseError):
            kind, text = BadResponse, f"not an HTTP answer: {error.message}"
        elif isinstance(error, aiohttp.InvalidURL):
            kind = ConfigError
        return kind(text, server=self.server, request=request)

    def _decode(self, answer: bytes, method: str, path: str) -> Any:
        try:
            return msgspec.json.decode(answer)
        except msgspec.DecodeError as error:
            raise BadResponse(
                f"the answer is not JSON: {error}", server=self.server, request=f"{method} {path}"
            ) from error

    def _observe(self, method: str, code: int, started: float) -> None:
        if self._observer is not None:
            self._observer.attempt_done(method, code, self._clock.monotonic() - started)


def encode(value: Any) -> bytes:
    """JSON of a value; bytes are taken as already encoded."""
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


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
    # parity: Go's dialer probes after 30 s (transport/cache.go KeepAlive), every 15 s, and gives up after 9
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        option = getattr(socket, name, None)  # macOS and Windows lack some of these
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
    return sock
