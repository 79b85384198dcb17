"""Events about objects through events.k8s.io/v1: repeats become a series, an absent server never holds anybody up.

Upstream: staging/src/k8s.io/client-go/tools/events (v1.36.4).
"""

import asyncio
import logging
import random
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import msgspec

from stowplan.api.meta import ObjectReference
from stowplan.client.backoff import jittered
from stowplan.client.errors import AlreadyExists, ApiError, ClientError, NotFound
from stowplan.client.paths import EVENTS
from stowplan.client.timestamps import rfc3339_micro
from stowplan.client.transport import STRATEGIC_MERGE_PATCH, ApiClient
from stowplan.clock import Clock

_LOG = logging.getLogger(__name__)

# parity: the numbers of tools/events
MAX_TRIES = 12
RETRY_SECONDS = 10.0
FINISH_SECONDS = 360.0
REFRESH_EVERY = 5  # times FINISH_SECONDS: thirty minutes
NOTE_LIMIT = 1024  # parity: validation.NoteLengthLimit, in bytes
_CUT = " ..."
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253

EventType = Literal["Normal", "Warning"]


class _Meta(msgspec.Struct, frozen=True, gc=False):
    name: str
    namespace: str


class _Series(msgspec.Struct, frozen=True, rename="camel", gc=False):
    count: int
    last_observed_time: str


class _Event(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """The fields in the order and with the empty ones that upstream writes."""

    kind: str
    api_version: str
    metadata: _Meta
    event_time: str
    series: _Series | msgspec.UnsetType
    reporting_controller: str
    reporting_instance: str
    action: str
    reason: str
    regarding: ObjectReference
    related: ObjectReference | msgspec.UnsetType
    note: str
    type: str
    deprecated_source: Mapping[str, str]
    deprecated_first_timestamp: None = None
    deprecated_last_timestamp: None = None


class _Key(NamedTuple):
    """Events with the same key are the same event again; the note does not count."""

    controller: str
    type: str
    action: str
    reason: str
    regarding: ObjectReference
    related: ObjectReference | None


@final
class _Entry:
    """An event that was told, until it is too old to be repeated."""

    __slots__ = ("count", "created", "due", "event", "finishing", "key", "observed", "queued", "told", "tries")

    def __init__(self, key: _Key, event: _Event, told: float) -> None:
        self.key = key
        self.event = event
        self.told = told
        self.observed = told
        self.count = 1
        self.created = False
        self.due = False  # the series has to be written
        self.queued = False
        self.finishing = False
        self.tries = 0

    @property
    def in_series(self) -> bool:
        return self.count > 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EventStatistics:
    """What became of the events so far."""

    told: int
    created: int
    patched: int
    refused: int
    dropped: int
    pending: int
    remembered: int


@final
class EventRecorder:
    """Tells the cluster what happened. `tell` never waits; `run` does the writing, as a task, until cancelled."""

    def __init__(
        self,
        client: ApiClient,
        *,
        host: str,
        clock: Clock,
        rng: random.Random,
        concurrency: int = 32,
        max_pending: int = 50_000,
        max_remembered: int = 20_000,
    ) -> None:
        self._client = client
        self._host = host
        self._clock = clock
        self._rng = rng
        self._concurrency = concurrency
        self._max_pending = max_pending
        self._max_remembered = max_remembered
        self._queue: asyncio.Queue[_Entry] = asyncio.Queue()
        self._entries: dict[_Key, _Entry] = {}
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiting = 0  # for another try
        self._writing = 0
        self._last_stamp = 0
        self._told = self._created = self._patched = self._refused = self._dropped = 0

    def statistics(self) -> EventStatistics:
        """What happened so far."""
        return EventStatistics(
            told=self._told,
            created=self._created,
            patched=self._patched,
            refused=self._refused,
            dropped=self._dropped,
            pending=self._pending(),
            remembered=len(self._entries),
        )

    def tell(
        self,
        regarding: ObjectReference,
        *,
        controller: str,
        type_: EventType,
        reason: str,
        action: str,
        note: str,
        related: ObjectReference | None = None,
    ) -> None:
        """Report that something happened; `controller` is the scheduler's name."""
        self._told += 1
        now = self._clock.now()
        key = _Key(controller, type_, action, reason, regarding, related)
        entry = self._entries.get(key)
        if entry is not None:
            entry.count += 1
            entry.observed = now
            # parity: the first repeat is written, further ones when the series is refreshed or finished
            if entry.count == 2:
                entry.due = True
                self._enqueue(entry)
            return
        event = _Event(
            kind=EVENTS.kind,
            api_version=EVENTS.api_version,
            metadata=_Meta(self._name(regarding.name, now), regarding.namespace or "default"),
            event_time=rfc3339_micro(now),
            series=msgspec.UNSET,
            reporting_controller=controller,
            reporting_instance=f"{controller}-{self._host}",
            action=action,
            reason=reason,
            regarding=regarding,
            related=related if related is not None else msgspec.UNSET,
            note=cut_note(note),
            type=type_,
            deprecated_source={},
        )
        entry = _Entry(key, event, now)
        if self._enqueue(entry):
            self._remember(entry)

    async def run(self) -> None:
        """Write what is told, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._work())
            group.create_task(self._tend())

    async def drained(self) -> None:
        """Wait until everything told so far is written or given up."""
        await self._idle.wait()

    def _pending(self) -> int:
        return self._queue.qsize() + self._writing + self._waiting

    def _name(self, name: str, now: float) -> str:
        # A name has to be new even when the clock did not move.
        self._last_stamp = max(self._last_stamp + 1, int(now * 1e9))
        full = f"{name}.{self._last_stamp:x}"
        # parity: GenerateEventName takes a uuid where the object's name makes no event name
        valid = len(full) <= _LONGEST_NAME and _SUBDOMAIN.fullmatch(full)
        return full if valid else str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _enqueue(self, entry: _Entry) -> bool:
        if entry.queued:
            return True
        if self._pending() >= self._max_pending:
            self._dropped += 1
            return False
        entry.queued = True
        self._idle.clear()
        self._queue.put_nowait(entry)
        return True

    def _remember(self, entry: _Entry) -> None:
        self._entries[entry.key] = entry
        if len(self._entries) > self._max_remembered:
            # The oldest will hardly be repeated; if it is, that makes a new event instead of a series.
            del self._entries[next(iter(self._entries))]

    async def _work(self) -> None:
        while True:
            entry = await self._queue.get()
            self._writing += 1
            try:
                await self._write(entry)
            finally:
                self._writing -= 1
                if not self._pending():
                    self._idle.set()

    async def _write(self, entry: _Entry) -> None:
        """Bring the server up to date with one entry."""
        try:
            while True:
                if not entry.created:
                    await self._create(entry.event)
                    entry.created = True
                elif entry.due:
                    entry.due = False
                    await self._write_series(entry)
                else:
                    break
        except AlreadyExists as error:
            if entry.created:
                # The event was gone when we patched it and there when we created it: patch again.
                entry.due = True
                self._try_later(entry, error)
                return
            _LOG.debug("Server rejected event (will not retry!): %s", error)
            entry.created = True
        except ApiError as error:
            self._refused += 1
            entry.created = True
            level = logging.DEBUG if error.namespace_is_going else logging.ERROR
            _LOG.log(level, "Server rejected event (will not retry!): %s", error)
        except ClientError as error:
            entry.due = entry.created
            self._try_later(entry, error)
            return
        entry.queued = False
        entry.tries = 0
        if entry.finishing and self._entries.get(entry.key) is entry:
            del self._entries[entry.key]

    async def _create(self, event: _Event) -> None:
        path = EVENTS.collection(event.metadata.namespace)
        await self._client.request("POST", path, body=_ENCODER.encode(event))
        self._created += 1

    async def _write_series(self, entry: _Entry) -> None:
        series = _Series(entry.count, rfc3339_micro(entry.observed))
        meta = entry.event.metadata
        try:
            await self._client.request(
                "PATCH",
                EVENTS.item(meta.name, meta.namespace),
                body=_ENCODER.encode({"series": series}),
                content_type=STRATEGIC_MERGE_PATCH,
            )
            self._patched += 1
        except NotFound:
            # The server forgets events after an hour or so.
            await self._create(msgspec.structs.replace(entry.event, series=series))

    def _try_later(self, entry: _Entry, error: ClientError) -> None:
        entry.tries += 1
        if entry.tries >= MAX_TRIES:
            self._dropped += 1
            entry.queued = False
            entry.created = True
            _LOG.error("Unable to write event (retry limit exceeded!): %s", error)
            return
        _LOG.warning("Unable to write event (may retry after sleeping): %s", error)
        self._waiting += 1
        delay = jittered(RETRY_SECONDS, 0.25, self._rng)
        asyncio.get_running_loop().call_later(delay, self._try_again, entry)

    def _try_again(self, entry: _Entry) -> None:
        self._waiting -= 1
        self._queue.put_nowait(entry)

    async def _tend(self) -> None:
        """Forget what is too old to be repeated, and write the counts of what goes on."""
        turn = 0
        while True:
            await asyncio.sleep(FINISH_SECONDS)
            turn += 1
            horizon = self._clock.now() - FINISH_SECONDS
            for key, entry in tuple(self._entries.items()):
                if not entry.in_series:
                    if entry.told < horizon and not entry.queued:
                        del self._entries[key]
                elif entry.observed < horizon:
                    entry.finishing = entry.due = True
                    self._enqueue(entry)
                elif turn % REFRESH_EVERY == 0:
                    entry.due = True
                    self._enqueue(entry)


_ENCODER = msgspec.json.Encoder()


def cut_note(note: str) -> str:
    """The note, cut to what the API takes, as the scheduler cuts it."""
    encoded = note.encode()
    if len(encoded) <= NOTE_LIMIT:
        return note
    return encoded[: NOTE_LIMIT - len(_CUT)].decode(errors="ignore") + _CUT
