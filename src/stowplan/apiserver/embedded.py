"""Assembles the server and runs it: in a running event loop, or as the whole of a process."""

import asyncio
import contextlib
import errno
import gc
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from stowplan.apiserver.audit import AuditLog
from stowplan.apiserver.authentication import Authenticator
from stowplan.apiserver.authorization import Authorizer
from stowplan.apiserver.bootstrap import bootstrap
from stowplan.apiserver.certs import Authority, load_or_create_authority, server_context, write_private
from stowplan.apiserver.context import Api
from stowplan.apiserver.custom.definitions import establish_all
from stowplan.apiserver.expiry import EventExpiry
from stowplan.apiserver.http import BODY_LIMIT, HttpServer
from stowplan.apiserver.kubeconfig import refuse_foreign, write_kubeconfig
from stowplan.apiserver.options import ADMIN, ServerOptions, StartError
from stowplan.apiserver.resources.builtin import builtin_resources
from stowplan.apiserver.resources.registry import Registry
from stowplan.apiserver.schema.models import Models
from stowplan.apiserver.selecting.fields import FieldIndex
from stowplan.apiserver.storage.journal import Journal, NoJournal, NotKeptError, SqliteJournal
from stowplan.apiserver.storage.store import Store
from stowplan.apiserver.watch.hub import Hub
from stowplan.clock import Clock, SystemClock

BACKLOG = 1024
SHUTDOWN_SECONDS = 2.0
GC_THRESHOLDS = (50_000, 20, 100)

log = logging.getLogger(__name__)


@final
class EmbeddedServer:
    """One API server in the running event loop. `start`, then `url`, `token`, `authority_pem`; `stop` ends it."""

    def __init__(self, options: ServerOptions, *, clock: Clock | None = None) -> None:
        self._options = options
        self._clock = clock or SystemClock()
        self._runner: web.ServerRunner | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._audit: AuditLog | None = None
        self._api: Api | None = None
        self.url = ""
        self.token = ""
        self.port = 0
        self.authority: Authority | None = None

    @property
    def api(self) -> Api:
        """The parts of the running server."""
        assert self._api is not None, "the server is not started"
        return self._api

    @property
    def authority_pem(self) -> bytes:
        """The certificate that clients trust."""
        assert self.authority is not None, "the server is not started"
        return self.authority.pem

    async def start(self) -> None:
        """Read what is kept, listen, and write the kubeconfig."""
        options = self._options
        if options.kubeconfig is not None:
            refuse_foreign(options.kubeconfig)
        listening = _listen(options.host, options.port)
        try:
            await self._start(listening)
        except BaseException:
            listening.close()
            await self.stop()
            raise

    async def _start(self, listening: socket.socket) -> None:
        options = self._options
        journal = NoJournal() if options.data_dir is None else SqliteJournal(options.data_dir)
        self._api = self._assemble(journal)
        folder = options.cert_dir or (options.data_dir / "pki" if options.data_dir else None)
        self.authority = load_or_create_authority(folder)
        self.token = _token(options, folder)
        self._audit = AuditLog(options.audit_log) if options.audit_log else None
        self.port = listening.getsockname()[1]
        bootstrap(self._api, self.port, self.authority.pem.decode())
        establish_all(self._api)
        try:
            await self._api.store.committed()
        except NotKeptError as error:
            raise StartError(str(error)) from error
        authenticator = Authenticator({**options.users, self.token: ADMIN})
        server = HttpServer(self._api, authenticator, Authorizer(self._api.store), self._audit)
        loop = asyncio.get_running_loop()
        self._runner = web.ServerRunner(
            web.Server(
                server.handle,
                request_factory=_request_factory(loop),
                access_log=None,
                keepalive_timeout=600,
                handler_cancellation=True,
            ),
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        await self._runner.setup()
        context = server_context(self.authority, options.host)
        await web.SockSite(self._runner, listening, ssl_context=context, backlog=BACKLOG).start()
        shown = f"[{options.host}]" if ":" in options.host else options.host
        self.url = f"https://{'127.0.0.1' if shown in ('0.0.0.0', '[::]') else shown}:{self.port}"  # noqa: S104
        if options.kubeconfig is not None:
            write_kubeconfig(options.kubeconfig, url=self.url, authority_pem=self.authority.pem, token=self.token)
        self._ticker = asyncio.create_task(self._tick())

    def _assemble(self, journal: Journal) -> Api:
        fields = FieldIndex()
        store = Store(journal, window=self._options.history, fields=fields.read, taken_back=self._taken_back)
        hub = Hub()
        store.listen(hub.publish)
        api = Api(
            options=self._options,
            clock=self._clock,
            registry=Registry(builtin_resources()),
            models=Models(),
            store=store,
            hub=hub,
            fields=fields,
        )
        store.load()
        return api

    async def stop(self) -> None:
        """End all watches, close all connections, keep what is pending."""
        if self._ticker is not None:
            self._ticker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._ticker
            self._ticker = None
        if self._api is not None:
            self._api.hub.end_all()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        if self._api is not None:
            self._api.store.close()
            self._api = None
        if self._audit is not None:
            self._audit.close()
            self._audit = None

    def _taken_back(self, error: NotKeptError) -> None:
        log.error("writes were refused and taken back: %s", error)
        # what is served because of definitions goes with them
        establish_all(self.api)

    async def _tick(self) -> None:
        expiry = EventExpiry(self.api, self._options.event_seconds)
        while True:
            await asyncio.sleep(self._options.bookmark_seconds)
            expiry.tick()
            # a bookmark promises that everything before it has been told
            self.api.store.flush_now()
            self.api.hub.bookmark_all(self.api.store.version)


def serve(options: ServerOptions, ready: Callable[[EmbeddedServer], None] | None = None) -> None:
    """Run a server until SIGINT or SIGTERM; `ready` is told when it listens."""
    # perf: objects are kept as bytes and hold no cycles; searching a large heap for them stops the server
    gc.set_threshold(*GC_THRESHOLDS)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(options, ready))


async def _serve(options: ServerOptions, ready: Callable[[EmbeddedServer], None] | None) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, ended.set)
    server = EmbeddedServer(options)
    await server.start()
    try:
        if ready is not None:
            ready(server)
        await ended.wait()
    finally:
        await server.stop()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if sys.platform == "win32":
        return None
    import uvloop

    return uvloop.new_event_loop


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
    except OSError as error:
        raise StartError(f"cannot listen on {host}:{port}: {error.strerror or error}") from error
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        why = "the port is taken" if error.errno == errno.EADDRINUSE else error.strerror
        raise StartError(f"cannot listen on {host}:{port}: {why}") from error
    return listening


def _token(options: ServerOptions, folder: Path | None) -> str:
    if options.token:
        return options.token
    path = folder / "token" if folder is not None else None
    if path is not None and path.exists():
        return path.read_text().strip()
    made = secrets.token_urlsafe(32)
    if path is not None:
        write_private(path, made.encode() + b"\n")
    return made


def _request_factory(loop: asyncio.AbstractEventLoop) -> Any:
    def make(
        message: RawRequestMessage, payload: StreamReader, protocol: RequestHandler, writer: Any,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:  # fmt: skip
        return web.BaseRequest(message, payload, protocol, writer, task, loop, client_max_size=BODY_LIMIT)

    return make
