"""A local copy of one resource, kept current by list and watch through restarts, cuts and expired versions.

Upstream: staging/src/k8s.io/client-go/tools/cache/reflector.go (v1.36.4).
"""

import asyncio
import logging
import random
from contextlib import aclosing
from dataclasses import dataclass
from typing import Generic, TypeVar, final

import msgspec

from stowplan.client.backoff import REFLECTOR_BACKOFF, Backoff
from stowplan.client.decoding import INITIAL_EVENTS_END, Identity, ObjectDecoder, Page, loose_event
from stowplan.client.errors import (
    ApiError,
    BadResponse,
    ClientError,
    Gone,
    ResourceVersionTooLarge,
    ServiceUnavailable,
    TooManyRequests,
    Unreachable,
    error_of_object,
)
from stowplan.client.paths import Resource
from stowplan.client.store import Handler, Store
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock

T = TypeVar("T")

_LOG = logging.getLogger(__name__)

PAGE_LIMIT = 500
LIST_TIMEOUT = 300.0
# parity: reflector.go defaultMinWatchTimeout and its double
SHORTEST_WATCH, LONGEST_WATCH = 300, 600
# A server that is past its own time-out and still silent is not there any more.
SILENCE_MARGIN = 30.0
# parity: a watch that ends within a second without an event is taken for a failure (reflector.go VeryShortWatchError)
SHORT_LIFE = 1.0
# perf: handlers of a long list take turns with the rest of the loop
YIELD_EVERY = 500


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InformerStatistics:
    """What an informer has been through so far."""

    objects: int
    lists: int
    watches: int
    events: int
    bookmarks: int
    malformed: int
    expired: int
    disconnects: int
    failures: int


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which objects to follow: all, one namespace, those that selectors match."""

    namespace: str = ""
    label_selector: str = ""
    field_selector: str = ""

    def params(self) -> dict[str, str | int]:
        """The query parameters of the selectors."""
        chosen: dict[str, str | int] = {}
        if self.label_selector:
            chosen["labelSelector"] = self.label_selector
        if self.field_selector:
            chosen["fieldSelector"] = self.field_selector
        return chosen


class _ListAgain(Exception):  # noqa: N818 - a signal within this file, not a failure
    """Raised when the watch cannot go on from where it stands."""


@final
class Informer(Generic[T]):
    """Follows one resource; `run` it as a task, and read `store` or add handlers."""

    def __init__(
        self,
        client: ApiClient,
        resource: Resource,
        decoder: ObjectDecoder[T],
        *,
        clock: Clock,
        rng: random.Random,
        selection: Selection | None = None,
        stream_initial_list: bool = False,
    ) -> None:
        selection = selection or Selection()
        self.resource = resource
        self.store: Store[T] = Store(decoder.identify)
        self._client = client
        self._decoder = decoder
        self._clock = clock
        self._rng = rng
        self._path = resource.collection(selection.namespace)
        self._params = selection.params()
        self._stream_initial_list = stream_initial_list
        self._synced = asyncio.Event()
        self._version = ""
        self._version_unusable = False
        self._pending: set[str] | None = None  # the keys of a streaming list that is not complete
        self._lists = self._watches = self._events = self._bookmarks = 0
        self._malformed = self._expired = self._disconnects = self._failures = 0

    @property
    def last_resource_version(self) -> str:
        """The version up to which everything has been told to the handlers."""
        return self._version

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete."""
        return self._synced.is_set()

    async def synced(self) -> None:
        """Wait until the first list has been told to the handlers."""
        await self._synced.wait()

    def add_handler(self, handler: Handler[T]) -> None:
        """Tell this handler about every change, first about what is known already."""
        self.store.add_handler(handler)

    def statistics(self) -> InformerStatistics:
        """What happened so far."""
        return InformerStatistics(
            objects=len(self.store),
            lists=self._lists,
            watches=self._watches,
            events=self._events,
            bookmarks=self._bookmarks,
            malformed=self._malformed,
            expired=self._expired,
            disconnects=self._disconnects,
            failures=self._failures,
        )

    async def run(self) -> None:
        """List and watch until cancelled. A server that is away or refuses is tried again, ever more slowly."""
        backoff = Backoff(REFLECTOR_BACKOFF, clock=self._clock, rng=self._rng)
        while True:
            retry_after = 0.0
            try:
                if not (self._stream_initial_list and await self._list_by_stream()):
                    await self._list()
                await self._watch(backoff)
            except _ListAgain as signal:
                _LOG.debug("%s: listing again: %s", self._path, signal)
            except ClientError as error:
                self._failures += 1
                retry_after = (error.retry_after if isinstance(error, ApiError) else None) or 0.0
                _LOG.warning("Failed to list and watch %s: %s", self._path, error)
            await asyncio.sleep(max(backoff.next_delay(), retry_after))

    async def _list(self) -> None:
        # parity: the first list may be answered from the server's cache ("0"), later ones not older than what we know
        version = "" if self._version_unusable else self._version or "0"
        try:
            latest, seen = await self._list_pages(version)
        except (Gone, ResourceVersionTooLarge):
            self._expired += 1
            self._version_unusable = True
            latest, seen = await self._list_pages("")
        self._finish_list(latest, seen)

    def _finish_list(self, version: str, seen: set[str]) -> None:
        self.store.keep_only(seen)
        self._version = version
        self._version_unusable = False
        self._lists += 1
        self._synced.set()

    async def _list_pages(self, version: str) -> tuple[str, set[str]]:
        """Take in a complete list; its version and the keys it held."""
        seen: set[str] = set()
        params: dict[str, str | int] = dict(self._params)
        if version:
            params["resourceVersion"] = version
        # parity: a limit would send a list at a known version past the server's watch cache (reflector.go list)
        if version in {"", "0"}:
            params["limit"] = PAGE_LIMIT
        while True:
            try:
                page = await self._page(params)
            except Gone:
                if "continue" not in params:
                    raise
                # parity: as tools/pager does when told to take the whole list on expiry
                _LOG.info("%s: the list expired between two pages, taking it whole", self._path)
                self._expired += 1
                seen.clear()
                params = dict(self._params) | ({"resourceVersion": version} if version else {})
                continue
            await self._take_in(page, seen)
            if not page.continue_token:
                return page.resource_version, seen
            params.pop("resourceVersion", None)
            params["continue"] = page.continue_token

    async def _page(self, params: dict[str, str | int]) -> Page[T]:
        body = await self._client.request("GET", self._path, params=params, timeout=LIST_TIMEOUT)
        return self._decoder.page(body)

    async def _take_in(self, page: Page[T], seen: set[str]) -> None:
        initial = not self._synced.is_set()
        for complaint in page.malformed:
            self._malformed += 1
            _LOG.error("%s: the list holds an object that cannot be read: %s", self._path, complaint)
        for number, obj in enumerate(page.items, 1):
            identity = self._decoder.identify(obj)
            self.store.put(obj, identity, initial=initial)
            seen.add(identity.key)
            if number % YIELD_EVERY == 0:
                await asyncio.sleep(0)

    async def _list_by_stream(self) -> bool:
        """List and go on watching in one stream; False when the server does not offer that."""
        self._pending = set()
        try:
            await self._follow(
                {
                    "resourceVersion": "" if self._version_unusable else self._version,
                    "resourceVersionMatch": "NotOlderThan",
                    "sendInitialEvents": "true",
                }
            )
        except (Gone, ResourceVersionTooLarge) as error:
            self._note_expired(error)
            raise _ListAgain(str(error)) from error
        except Unreachable:
            if self._pending is not None:
                raise
            self._disconnects += 1
        except ApiError as error:
            if self._pending is None or error.retriable:
                raise
            _LOG.info("%s: no streaming list here, listing in pages: %s", self._path, error)
            return False
        finally:
            complete = self._pending is None
            self._pending = None
        if not complete:
            raise _ListAgain("the stream ended within the list")
        return True

    async def _watch(self, backoff: Backoff) -> None:
        """Watch and watch again from the last version, until only a list can help."""
        while True:
            version, started = self._version, self._clock.monotonic()
            retry_after = 0.0
            try:
                await self._follow({"resourceVersion": version})
            except Unreachable as error:
                self._disconnects += 1
                _LOG.info("%s: the watch was cut: %s", self._path, error)
            except (Gone, ResourceVersionTooLarge) as error:
                self._note_expired(error)
                raise _ListAgain(str(error)) from error
            except (TooManyRequests, ServiceUnavailable) as error:
                self._failures += 1
                retry_after = error.retry_after or 0.0
                _LOG.warning("%s: the watch was refused: %s", self._path, error)
            # A watch that lived goes on at once; one that did not is a server in trouble.
            if self._version != version or self._clock.monotonic() - started >= SHORT_LIFE:
                backoff.reset()
            else:
                await asyncio.sleep(max(backoff.next_delay(), retry_after))

    async def _follow(self, start: dict[str, str | int]) -> None:
        """One watch request, until the server ends it."""
        seconds = int(SHORTEST_WATCH + self._rng.random() * (LONGEST_WATCH - SHORTEST_WATCH))
        params = self._params | start | {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": seconds}
        self._watches += 1
        lines = self._client.stream(self._path, params, silence_timeout=seconds + SILENCE_MARGIN)
        async with aclosing(lines):
            async for line in lines:
                self._apply(line)

    def _apply(self, line: bytes) -> None:
        try:
            event = self._decoder.event(line)
        except msgspec.DecodeError as error:
            self._apply_loosely(line, str(error))
            return
        if event.type in {"ADDED", "MODIFIED"}:
            identity = self._decoder.identify(event.object)
            self._events += 1
            if self._pending is None:
                self._advance(identity.version)
                self.store.put(event.object, identity)
            else:
                self._pending.add(identity.key)
                self.store.put(event.object, identity, initial=not self.has_synced)
        elif event.type == "DELETED":
            identity = self._decoder.identify(event.object)
            self._forget(identity, event.object)
        else:
            self._apply_loosely(line, f"the event type {event.type!r} is not known")

    def _apply_loosely(self, line: bytes, complaint: str) -> None:
        """An event that is no object of ours: a bookmark, an error, or something that cannot be read."""
        try:
            event, meta = loose_event(line)
        except BadResponse:
            self._malformed += 1
            raise
        identity = meta.identity
        if event.type == "ERROR":
            raise error_of_object(event.object, server=self._client.server, request=f"WATCH {self._path}")
        if event.type == "BOOKMARK":
            self._bookmarks += 1
            if self._pending is None:
                self._advance(identity.version)
            elif (meta.annotations or {}).get(INITIAL_EVENTS_END) == "true":
                seen, self._pending = self._pending, None
                self._finish_list(identity.version, seen)
            return
        self._malformed += 1
        _LOG.error("%s: cannot read the %s event of %s: %s", self._path, event.type, identity.key, complaint)
        if event.type == "DELETED":
            self._forget(identity, None)
        elif self._pending is not None:
            self._pending.add(identity.key)
        else:
            self._advance(identity.version)

    def _forget(self, identity: Identity, last: T | None) -> None:
        self._events += 1
        self.store.drop(identity.key, last)
        if self._pending is not None:
            self._pending.discard(identity.key)
        elif not _older(identity.version, self._version):
            self._version = identity.version or self._version

    def _advance(self, version: str) -> None:
        if _older(version, self._version):
            # The server went back in time, as after a restore: what we hold may never have been.
            self._version_unusable = True
            raise _ListAgain(f"version {version} came after {self._version}")
        self._version = version or self._version

    def _note_expired(self, error: ClientError) -> None:
        self._expired += 1
        # parity: an expired watch lists from its last version, asking for data at least as fresh (reflector.go watch)
        self._version_unusable = isinstance(error, ResourceVersionTooLarge)


def _older(version: str, than: str) -> bool:
    """Whether one version lies before another; versions are whole numbers without leading zeros, compared as text."""
    return (len(version), version) < (len(than), than) if version and than else False
