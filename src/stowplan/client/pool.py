"""A bounded pool of kept-alive connections to one server; those who find none free wait their turn."""

import asyncio
import ssl
from collections import deque
from typing import final

from stowplan.client.errors import ClientError, ConnectionLost, Unreachable
from stowplan.client.http1 import Answer, Http1Connection
from stowplan.clock import Clock


@final
class ConnectionPool:
    """Carries requests, one at a time per connection."""

    def __init__(
        self, host: str, port: int, *, limit: int, connect_timeout: float, idle_timeout: float, clock: Clock
    ) -> None:
        self._host = host
        self._port = port
        self._limit = limit
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._clock = clock
        self._context: ssl.SSLContext | None = None
        self._server_name: str | None = None
        self._idle: list[Http1Connection] = []
        self._busy: set[Http1Connection] = set()
        self._taken = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._closed = False

    def present(self, context: ssl.SSLContext | None, server_name: str | None) -> None:
        """What new connections show and trust; when it changes, idle connections under the old one are closed."""
        if context is not self._context:
            self._drop_idle()
        self._context = context
        self._server_name = server_name

    async def exchange(self, request: bytes, *, timeout: float, repeatable: bool) -> Answer:
        """Carry one complete request.

        A `repeatable` one is sent again when a connection that was used before turns out to be closed. The time-out
        counts from when it is sent; a new connection has as long at the most.
        """
        await self._take_slot()
        connection: Http1Connection | None = None
        try:
            while True:
                if self._closed:
                    raise ClientError("the client is closed")
                connection = self._take_idle() or await self._connect(timeout)
                self._busy.add(connection)
                fresh = connection.used == 0
                try:
                    return await connection.exchange(request, timeout)
                except ConnectionLost:
                    if fresh or not repeatable:
                        raise
                    self._busy.discard(connection)
        finally:
            self._give_back(connection)

    def close(self) -> None:
        """Close all connections; requests under way end as lost."""
        self._closed = True
        self._drop_idle()
        for connection in tuple(self._busy):
            connection.close()

    async def _take_slot(self) -> None:
        if self._taken < self._limit:
            self._taken += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter  # whoever gives a slot back hands it on
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self._free_slot()
            raise

    def _free_slot(self) -> None:
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._taken -= 1

    def _give_back(self, connection: Http1Connection | None) -> None:
        if connection is not None:
            self._busy.discard(connection)
            if connection.usable and not self._closed:
                connection.idle_since = self._clock.monotonic()
                self._idle.append(connection)
            else:
                connection.close()
        self._free_slot()

    def _take_idle(self) -> Http1Connection | None:
        oldest = self._clock.monotonic() - self._idle_timeout
        while self._idle:
            connection = self._idle.pop()  # the one used last is the least likely to be closed
            if connection.usable and connection.idle_since >= oldest:
                return connection
            connection.close()
        return None

    def _drop_idle(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    async def _connect(self, timeout: float) -> Http1Connection:
        loop = asyncio.get_running_loop()
        server_name = (self._server_name or self._host) if self._context is not None else None
        limit = min(timeout, self._connect_timeout)
        try:
            async with asyncio.timeout(limit):
                _, connection = await loop.create_connection(
                    Http1Connection, self._host, self._port, ssl=self._context, server_hostname=server_name
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {limit:g} s") from None
        except ssl.SSLCertVerificationError as error:
            raise Unreachable(f"the server's certificate is not trusted: {error.verify_message}") from error
        except OSError as error:
            raise Unreachable(f"cannot connect: {error.strerror or error}") from error
        if self._closed:
            connection.close()
            raise ClientError("the client is closed")
        return connection
