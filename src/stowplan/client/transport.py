"""Requests to one API server as one user; every failure becomes a ClientError that names the server and the request.

Upstream: staging/src/k8s.io/client-go/rest/request.go (v1.36.4).
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, Self, final
from urllib.parse import urlencode, urlsplit

import msgspec

from stowplan.client.connection import Connection
from stowplan.client.errors import ApiError, BadResponse, ClientError, ConfigError, error_of_answer
from stowplan.client.http1 import Answer
from stowplan.client.pool import ConnectionPool
from stowplan.client.rate import RateLimiter
from stowplan.client.session import Call, Session, Stream
from stowplan.client.tls import TlsContexts
from stowplan.clock import Clock

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

Params = Mapping[str, str | int]

_UNAUTHORIZED = 401


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TransportSettings:
    """Limits of a client. Times are in seconds."""

    max_connections: int = 100
    connect_timeout: float = 30.0  # parity: the dialer's timeout (transport/cache.go)
    request_timeout: float = 60.0
    # perf: below the 60 s and more after which servers and balancers drop idle connections
    idle_timeout: float = 30.0
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
        host, port, self._prefix = _address(self.server)
        authority = urlsplit(self.server).netloc
        self._tls = TlsContexts(connection.tls, clock=clock) if self.server.startswith("https:") else None
        self._pool = ConnectionPool(
            host,
            port,
            limit=self.settings.max_connections,
            connect_timeout=self.settings.connect_timeout,
            idle_timeout=self.settings.idle_timeout,
            clock=clock,
        )
        self._common = f"HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {self.settings.user_agent}\r\nAccept: {JSON}\r\n"
        self._proxied: Session | None = None
        self._streams: Session | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; requests under way and open streams end."""
        self._pool.close()
        sessions = [session for session in (self._proxied, self._streams) if session is not None]
        self._proxied = self._streams = None
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
        target = self._target(path, params)
        limit = self.settings.request_timeout if timeout is None else timeout
        retries = 0
        while True:
            try:
                answer = await self._authorized(method, target, body, content_type, limit)
            except ClientError as error:
                raise self._named(error, method, path) from error.__cause__
            if answer.status < 300:
                return answer.body
            refusal = self._refusal(answer, method, path)
            delay = self._retry_delay(refusal, retries)
            if delay is None:
                raise refusal
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
        target = self._target(path, params)
        try:
            stream = await self._open_stream(target, silence_timeout)
            try:
                if stream.status >= 300:
                    raise self._refusal(await stream.whole(), "GET", path)
                async with aclosing(stream.lines()) as lines:
                    async for line in lines:
                        yield line
            finally:
                stream.close()
        except ClientError as error:
            raise self._named(error, "GET", path) from error.__cause__

    def _target(self, path: str, params: Params | None) -> str:
        target = f"{self._prefix}{path}?{urlencode(params)}" if params else self._prefix + path
        quoted = target.isascii() and target.isprintable() and " " not in target
        assert quoted, f"a path that has to be quoted first: {target!r}"
        return target

    async def _authorized(
        self, method: str, target: str, body: bytes | None, content_type: str, timeout: float
    ) -> Answer:
        """One attempt, and a second with a fresh credential when the first was not recognised."""
        credentials = self.connection.credentials
        authorization = await credentials.authorization()
        answer = await self._attempt(method, target, body, content_type, timeout=timeout, authorization=authorization)
        if answer.status == _UNAUTHORIZED and await credentials.refused(authorization):
            authorization = await credentials.authorization()
            answer = await self._attempt(
                method, target, body, content_type, timeout=timeout, authorization=authorization
            )
        return answer

    async def _attempt(
        self,
        method: str,
        target: str,
        body: bytes | None,
        content_type: str,
        *,
        timeout: float,
        authorization: str | None,
    ) -> Answer:
        if self.limiter is not None and not self.limiter.try_acquire():
            await self.limiter.acquire()
        started = self._clock.monotonic()
        status = 0
        try:
            if self.connection.proxy is not None:
                answer = await self._through_proxy(
                    self._call(method, target, body, content_type, authorization), timeout
                )
            else:
                self._pool.present(self._context(), self.connection.tls.server_name)
                head = [method, " ", target, " ", self._common]
                if authorization is not None:
                    head += ("Authorization: ", authorization, "\r\n")
                if body is not None:
                    head += ("Content-Type: ", content_type, "\r\nContent-Length: ", str(len(body)), "\r\n")
                head.append("\r\n")
                request = "".join(head).encode("ascii") + (body or b"")
                answer = await self._pool.exchange(request, timeout=timeout, repeatable=method == "GET")
            status = answer.status
            return answer
        finally:
            if self._observer is not None:
                self._observer.attempt_done(method, status, self._clock.monotonic() - started)

    async def _through_proxy(self, call: Call, timeout: float) -> Answer:
        if self._proxied is None:
            self._proxied = self._new_session(limit=self.settings.max_connections)
        return await self._proxied.exchange(call, timeout=timeout)

    async def _open_stream(self, target: str, silence: float | None) -> Stream:
        credentials = self.connection.credentials
        if self._streams is None:
            self._streams = self._new_session(limit=0)
        for last in (False, True):
            if self.limiter is not None and not self.limiter.try_acquire():
                await self.limiter.acquire()
            authorization = await credentials.authorization()
            started = self._clock.monotonic()
            status = 0
            try:
                stream = await self._streams.open_stream(
                    self._call("GET", target, None, JSON, authorization), silence=silence
                )
                status = stream.status
            finally:
                if self._observer is not None:
                    self._observer.attempt_done("GET", status, self._clock.monotonic() - started)
            if last or status != _UNAUTHORIZED or not await credentials.refused(authorization):
                break
            stream.close()
        return stream

    def _call(self, method: str, target: str, body: bytes | None, content_type: str, authorization: str | None) -> Call:
        headers = {"Accept": JSON, "User-Agent": self.settings.user_agent}
        if body is not None:
            headers["Content-Type"] = content_type
        if authorization is not None:
            headers["Authorization"] = authorization
        return Call(
            method=method,
            url=self.server.removesuffix(self._prefix) + target,
            headers=headers,
            body=body,
            context=self._context(),
            server_name=self.connection.tls.server_name,
            proxy=self.connection.proxy,
        )

    def _context(self) -> ssl.SSLContext | None:
        return self._tls.current(self.connection.credentials.certificate()) if self._tls is not None else None

    def _new_session(self, *, limit: int) -> Session:
        return Session(
            limit=limit, connect_timeout=self.settings.connect_timeout, idle_timeout=self.settings.idle_timeout
        )

    def _retry_delay(self, error: ApiError, retries: int) -> float | None:
        # parity: with_retry.go checkWait, 429 and 5xx answers are retried when they say when
        if retries >= self.settings.max_retries or not error.retriable or error.retry_after is None:
            return None
        return min(error.retry_after, self.settings.longest_retry_wait)

    def _refusal(self, answer: Answer, method: str, path: str) -> ApiError:
        return error_of_answer(
            answer.status,
            answer.body,
            server=self.server,
            request=f"{method} {path}",
            retry_after=answer.retry_after,
        )

    def _named(self, error: ClientError, method: str, path: str) -> ClientError:
        """The error with the server and the request in it."""
        if error.server:
            return error
        return type(error)(error.message, server=self.server, request=f"{method} {path}")

    def _decode(self, answer: bytes, method: str, path: str) -> Any:
        try:
            return msgspec.json.decode(answer)
        except msgspec.DecodeError as error:
            raise BadResponse(
                f"the answer is not JSON: {error}", server=self.server, request=f"{method} {path}"
            ) from error


def encode(value: Any) -> bytes:
    """JSON of a value; bytes are taken as already encoded."""
    return value if isinstance(value, bytes) else msgspec.json.encode(value)


def _address(server: str) -> tuple[str, int, str]:
    """Host, port and path prefix of a server's URL."""
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"the server {server!r} is not a URL: {error}") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ConfigError(f"the server {server!r} is not an http or https URL")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError(f"the server {parts.hostname!r}: a user, a query or a fragment has no place in its URL")
    return parts.hostname, port or (443 if parts.scheme == "https" else 80), parts.path
