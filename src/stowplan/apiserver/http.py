"""The listening side: aiohttp requests in, answers out. No resource is known here.

Every request is authenticated before anything else but its health is looked at.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any, final

from aiohttp import web

from stowplan.apiserver.addresses import Address, read_address
from stowplan.apiserver.audit import AuditLog
from stowplan.apiserver.authentication import Authenticator, known
from stowplan.apiserver.authorization import Authorizer, Wish
from stowplan.apiserver.context import Api
from stowplan.apiserver.dispatch import WRITES, answer, authorize, find_resource, verb_of, wish_of
from stowplan.apiserver.documents.routes import document
from stowplan.apiserver.errors import ApiError
from stowplan.apiserver.options import User
from stowplan.apiserver.request import JSON, Call, Reply, Sink, Streamed
from stowplan.apiserver.storage.journal import NotKeptError

BODY_LIMIT = 3 * 1024 * 1024
IMPERSONATE = "Impersonate-User"
HEALTH = frozenset({"/healthz", "/livez", "/readyz"})

log = logging.getLogger(__name__)


@final
class HttpServer:
    """Answers requests with what the verbs say."""

    def __init__(self, api: Api, authenticator: Authenticator, authorizer: Authorizer, audit: AuditLog | None) -> None:
        self._api = api
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._audit = audit
        self._health: dict[str, str] = {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request; whatever happens, the client hears of it."""
        try:
            return await self._handle(request)
        except ApiError as error:
            return _refused(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return _refused(ApiError(500, "Internal error occurred: the server failed to answer this request"))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        raw = request.rel_url.raw_path
        if _is_health(raw):
            return web.Response(text="ok")
        user = self._authenticator.authenticate(request.headers.get("Authorization", ""), _certificate(request))
        if IMPERSONATE in request.headers:
            user = self._impersonated(request, user)
        query: Mapping[str, str] = dict(request.rel_url.query) if request.query_string else {}
        address = read_address(raw)
        if address is None or not address.plural:
            authorize(self._authorizer, user, Wish(verb="get", path=raw))
            return _complete(document(self._api, raw, query, request.headers.get("Accept", "")))
        return await self._resource(request, user, address, query)

    def _impersonated(self, request: web.BaseRequest, user: User) -> User:
        """The user that somebody wants to be, if they may."""
        name, groups = request.headers[IMPERSONATE], request.headers.getall("Impersonate-Group", [])
        authorize(self._authorizer, user, Wish(verb="impersonate", resource="users", name=name))
        for group in groups:
            authorize(self._authorizer, user, Wish(verb="impersonate", resource="groups", name=group))
        return known(User(name, tuple(groups)))

    async def _resource(
        self, request: web.BaseRequest, user: User, address: Address, query: Mapping[str, str]
    ) -> web.StreamResponse:
        verb = verb_of(request.method, address, query)
        authorize(self._authorizer, user, wish_of(verb, address))
        resource = find_resource(self._api, address, verb)
        call = Call(
            user=user,
            verb=verb,
            resource=resource,
            namespace=address.namespace,
            name=address.name,
            subresource=address.subresource,
            query=query,
            accept=request.headers.get("Accept", ""),
            content_type=request.headers.get("Content-Type", ""),
            body=await _body(request),
            agent=request.headers.get("User-Agent", ""),
        )
        if verb not in WRITES:
            answered = answer(self._api, call, self._authenticator, self._authorizer)
            if isinstance(answered, Streamed):
                return await _stream(request, answered)
            return _complete(answered)
        return await self._write(call)

    async def _write(self, call: Call) -> web.Response:
        try:
            answered = answer(self._api, call, self._authenticator, self._authorizer)
        except ApiError as error:
            self._note(call, "", error.code)
            raise
        except Exception:
            self._note(call, "", 500)
            raise
        assert isinstance(answered, Reply)
        code = answered.code
        try:
            await self._api.store.committed()
        except NotKeptError as error:
            code = 500
            raise ApiError(code, f"Internal error occurred: {error}") from error
        finally:
            # a client that has gone does not undo what it wrote
            self._note(call, answered.name, code)
        return _complete(answered)

    def _note(self, call: Call, name: str, status: int) -> None:
        if self._audit is not None:
            self._audit.record(call, name, status)


def _is_health(path: str) -> bool:
    return path in HEALTH or path.rpartition("/")[0] in HEALTH


def _certificate(request: web.BaseRequest) -> Mapping[str, Any] | None:
    if "Authorization" in request.headers or request.transport is None:
        return None
    found: Mapping[str, Any] | None = request.transport.get_extra_info("peercert")
    return found


async def _body(request: web.BaseRequest) -> bytes:
    if not request.body_exists:
        return b""
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge:
        raise ApiError(413, f"Request entity too large: limit is {BODY_LIMIT}") from None


def _complete(reply: Reply) -> web.Response:
    response = web.Response(body=reply.body, status=reply.code, headers={"Content-Type": reply.content_type})
    for text in reply.warnings:
        response.headers.add("Warning", f'299 - "{_quoted(text)}"')
    return response


def _quoted(text: str) -> str:
    plain = "".join(letter for letter in text if letter.isprintable())
    return plain.replace("\\", "\\\\").replace('"', '\\"')


def _refused(error: ApiError) -> web.Response:
    response = web.Response(body=error.encoded(), status=error.code, headers={"Content-Type": JSON})
    if error.retry_after:
        response.headers["Retry-After"] = str(error.retry_after)
    return response


async def _stream(request: web.BaseRequest, streamed: Streamed) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": streamed.content_type, "Cache-Control": "no-cache, private"})
    response.enable_chunked_encoding()
    await response.prepare(request)

    def abort() -> None:
        transport = request.transport
        if transport is not None:
            transport.abort()

    # a reader that goes away ends the stream; there is nobody left to tell
    with contextlib.suppress(ConnectionError):
        await streamed.run(Sink(response.write, abort))
        await response.write_eof()
    return response
