"""The secure port: health, metrics and debugging pages over HTTPS, for those whom the cluster lets in.

Upstream: newEndpointsHandler and buildHandlerChain in cmd/kube-scheduler/app/server.go (v1.36.4).
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, final

import msgspec
from aiohttp import web

from stowplan.api.gotext import quote
from stowplan.client.errors import ClientError
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.config.spec import SECOND_NS
from stowplan.daemon.client_cas import TrustSource
from stowplan.daemon.flag_values import parse_level
from stowplan.daemon.health import Checks, Health, Probes
from stowplan.daemon.metrics import CONTENT_TYPE
from stowplan.daemon.options import Options
from stowplan.daemon.serving_access import Authorizer
from stowplan.daemon.serving_auth import Authenticator, Unauthorized, User
from stowplan.daemon.serving_pages import flagz, refusal, statusz
from stowplan.daemon.serving_tls import ServerTls, ServingError
from stowplan.daemon.tls_flags import ServingOptions

_LOG = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 60.0
"""How often certificates on disk and authorities in the cluster are looked at."""
STOP_SECONDS: Final = 5.0
MOST_CONNECTIONS: Final = 128
_JSON: Final = "application/json"
_TEXT: Final = "text/plain; charset=utf-8"
_ALWAYS: Final = {"Cache-Control": "no-cache, private", "X-Content-Type-Options": "nosniff", "Server": "stowplan"}
_ENDPOINTS: Final = ("healthz", "livez", "readyz")

Handler = Callable[[web.BaseRequest], web.Response]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """Where the answers come from. `resources` is None while this process does not lead."""

    metrics: Callable[[], bytes]
    resources: Callable[[], bytes | None]
    configz: Callable[[], Mapping[str, Any]]
    set_verbosity: Callable[[int], None]
    profiling: bool = True
    queue: Callable[[], Any] | None = None
    explain: Callable[[str], Any] | None = None
    """By namespace/name; LookupError when there is no such pod."""


@final
class Serving:
    """The server. `start` after the loop runs, `stop` before it ends; with --secure-port=0 both do nothing.

    `authentication` and `authorization` are the clients of the flags of these names; without one, tokens are not
    recognised, and nobody may do more than what is open to all.
    """

    def __init__(
        self,
        options: Options,
        *,
        authentication: ApiClient | None,
        authorization: ApiClient | None,
        checks: Checks,
        pages: Pages,
        clock: Clock,
    ) -> None:
        self._options = options
        self._authentication = authentication
        self._authorizer = Authorizer(options.authorization, authorization, clock)
        self._probes = Probes(checks, options.metrics)
        self._pages = pages
        self._clock = clock
        self._started = clock.now()
        self._routes = self._table()
        self._runner: web.ServerRunner | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._authenticator: Authenticator | None = None
        self.port = 0
        """The port that is served on."""

    async def start(self) -> None:
        """Listen. Raises ServingError."""
        serving = self._options.serving
        if not serving.port:
            return
        tls = ServerTls(serving, self._clock)
        source = TrustSource(self._options.authentication, self._authentication)
        trust = await source.first()
        if trust.pem:
            tls.accept_clients(trust.pem)
        self._authenticator = Authenticator(
            self._authentication,
            trust,
            token_seconds=self._options.authentication.token_cache_ns / SECOND_NS,
            clock=self._clock,
        )
        listener = _listen(self._options)
        self._runner = web.ServerRunner(web.Server(self._answer, access_log=None), shutdown_timeout=STOP_SECONDS)
        await self._runner.setup()
        await web.SockSite(self._runner, listener, ssl_context=tls.context, backlog=MOST_CONNECTIONS).start()
        self.port = listener.getsockname()[1]
        self._refreshing = asyncio.get_running_loop().create_task(self._refresh(tls, source, self._authenticator))
        _LOG.info("Serving securely on %s:%d", serving.bind_address, self.port)

    async def stop(self) -> None:
        """Stop listening, and let answers that are under way end."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            with suppress(asyncio.CancelledError):
                await self._refreshing
            self._refreshing = None
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _refresh(self, tls: ServerTls, source: TrustSource, authenticator: Authenticator) -> None:
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                if tls.refresh():
                    _LOG.info("The serving certificate was loaded again")
                trust = await source.current(authenticator.trust)
                if trust.pem != authenticator.trust.pem:
                    tls.accept_clients(trust.pem)
                authenticator.trust = trust
            except (ClientError, ServingError, ValueError, OSError) as error:
                _LOG.warning("What the secure port trusts could not be refreshed: %s", error)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            response = await self._guarded(request)
        except Exception:  # noqa: BLE001 - one broken page must not close the others
            _LOG.exception("Answering %s %s failed", request.method, request.path)
            response = _text(500, "This request caused an error; the log says which.\n")
        response.headers.update(_ALWAYS)
        return response

    async def _guarded(self, request: web.BaseRequest) -> web.Response:
        assert self._authenticator is not None, "requests come after the start"
        transport = request.transport
        connection = None if transport is None else transport.get_extra_info("ssl_object")
        certificate = None if connection is None else connection.getpeercert(binary_form=True)
        try:
            user = await self._authenticator.user_of(request.headers, certificate)
        except Unauthorized as error:
            _LOG.log(logging.INFO - 2, "Unauthorized %s %s: %s", request.method, request.path, error)
            return _json(401, refusal(401, "Unauthorized", "Unauthorized"))
        verb = request.method.lower()
        try:
            permission = await self._authorizer.allows(user, verb, request.path)
        except ClientError as error:
            _LOG.error("Unable to authorize %s %s: %s", request.method, request.path, error)
            return _text(
                500, f"Internal Server Error: {quote(request.path)}: the cluster does not say who may do this\n"
            )
        if not permission.allowed:
            return _forbidden(user, verb, request.path, permission.reason)
        return await self._dispatch(request)

    async def _dispatch(self, request: web.BaseRequest) -> web.Response:
        path = request.path
        if path.startswith("/debug/pprof"):
            return _text(501, "There is no Go runtime to profile here: point py-spy at the process instead.\n")
        if path == "/debug/flags/v" and self._pages.profiling:
            return await self._verbosity(request)
        handler = self._routes.get(path)
        if handler is None:
            return _text(404, "404 page not found\n")
        if request.method not in {"GET", "HEAD"}:
            return _text(405, f"{path} can only be read\n")
        return handler(request)

    def _table(self) -> Mapping[str, Handler]:
        pages = self._pages
        table: dict[str, Handler] = {
            "/metrics": lambda _: _text(200, pages.metrics(), CONTENT_TYPE),
            "/metrics/resources": lambda _: _text(200, pages.resources() or b"", CONTENT_TYPE),
            "/metrics/slis": lambda _: _text(200, self._probes.metrics(), CONTENT_TYPE),
            "/configz": lambda _: _json(200, msgspec.json.encode({"componentconfig": pages.configz()})),
            "/flagz": lambda request: _page(request, lambda as_json: flagz(self._options, as_json=as_json)),
            "/statusz": lambda request: _page(request, self._statusz),
        }
        for endpoint in _ENDPOINTS:
            table[f"/{endpoint}"] = self._health(endpoint)
            for check in self._probes.checks[endpoint]:
                table[f"/{endpoint}/{check.name}"] = self._one_check(endpoint, check.name)
        if pages.queue is not None:
            queue = pages.queue
            table["/debug/stowplan/queue"] = lambda _: _json(200, msgspec.json.encode(queue(), enc_hook=str))
        if pages.explain is not None:
            table["/debug/stowplan/explain"] = self._explain
        return table

    def _statusz(self, as_json: bool) -> bytes:
        return statusz(started=self._started, now=self._clock.now(), paths=self._routes, as_json=as_json)

    def _health(self, endpoint: str) -> Handler:
        def answer(request: web.BaseRequest) -> web.Response:
            excluded = request.query.getall("exclude", [])
            return _health(self._probes.all_of(endpoint, verbose="verbose" in request.query, excluded=excluded))

        return answer

    def _one_check(self, endpoint: str, name: str) -> Handler:
        def answer(_: web.BaseRequest) -> web.Response:
            health = self._probes.one_of(endpoint, name)
            assert health is not None, "the table holds checks that exist"
            return _health(health)

        return answer

    def _explain(self, request: web.BaseRequest) -> web.Response:
        assert self._pages.explain is not None, "the table holds pages that exist"
        key = request.query.get("pod", "")
        namespace, slash, name = key.partition("/")
        if not (namespace and slash and name) or "/" in name:
            return _text(400, "name a pod: ?pod=NAMESPACE/NAME\n")
        try:
            found = self._pages.explain(key)
        except LookupError:
            return _text(404, f"there is no pod {quote(key)} here\n")
        return _json(200, msgspec.json.encode(found, enc_hook=str))

    async def _verbosity(self, request: web.BaseRequest) -> web.Response:
        if request.method != "PUT":
            return _text(406, "unsupported http method\n", "text/plain")
        text = (await request.read()).decode("utf-8", "replace").strip()
        try:
            level = parse_level(text)
        except ValueError as error:
            return _text(400, f"{error}\n", "text/plain")
        self._pages.set_verbosity(level)
        return _text(200, f"successfully set klog.logging.verbosity to {level}\n", "text/plain")


def _page(request: web.BaseRequest, write: Callable[[bool], bytes]) -> web.Response:
    as_json = _JSON in request.headers.get("Accept", "")
    return _json(200, write(True)) if as_json else _text(200, write(False))


def _health(health: Health) -> web.Response:
    return _text(200 if health.ok else 500, health.text)


def _forbidden(user: User, verb: str, path: str, reason: str) -> web.Response:
    escaped = quote(path).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    message = f"forbidden: User {quote(user.name)} cannot {verb} path {escaped}"
    return _json(403, refusal(403, "Forbidden", f"{message}: {reason}" if reason else message, {}))


def _text(status: int, text: str | bytes, content_type: str = _TEXT) -> web.Response:
    body = text.encode() if isinstance(text, str) else text
    return web.Response(status=status, body=body, headers={"Content-Type": content_type})


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": _JSON})


def _listen(options: Options) -> socket.socket:
    serving = options.serving
    address = serving.bind_address
    try:
        if address in {"0.0.0.0", "::"} and socket.has_dualstack_ipv6():  # noqa: S104 - what the flag says
            with suppress(OSError):  # a machine may have IPv6 and have it switched off
                return _bound(serving, socket.AF_INET6, "::")
        return _bound(serving, socket.AF_INET6 if ":" in address else socket.AF_INET, address)
    except OSError as error:
        raise ServingError(f"failed to create listener: {address}:{serving.port}: {error.strerror}") from error


def _bound(serving: ServingOptions, family: socket.AddressFamily, address: str) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if address == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        # parity: Go's listeners set SO_REUSEADDR whatever the flags say
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if serving.share_port:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((address, serving.port))
    except OSError:
        listener.close()
        raise
    return listener
