"""Tells every watcher what happened, without ever waiting for one.

An object is encoded once per form; all watchers of that form are given the same bytes. A watcher for whom more bytes
wait than it may have is cut off: it resumes from its last version like after any broken connection.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, final

from stowplan.apiserver.selecting.fields import FieldSelector
from stowplan.apiserver.selecting.labels import LabelSelector
from stowplan.apiserver.storage.entry import Change, Entry, Event, encode_json


class Form(Protocol):
    """How a watcher wants to see objects."""

    @property
    def key(self) -> str:
        """Equal for forms that encode alike."""

    def object(self, entry: Entry) -> bytes:
        """One object, encoded."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """An empty object that carries a version."""


Lines = dict[tuple[str, Change, int], bytes]
"""Encoded lines of one batch, by form, change, and identity of the entry."""


@final
class Watcher:
    """One open watch."""

    def __init__(
        self,
        *,
        form: Form,
        namespace: str,
        labels: LabelSelector | None,
        fields: FieldSelector | None,
        name: str,
        since: int,
        bookmarks: bool,
        limit: int,
        cut: Callable[[], None],
    ) -> None:
        self.form = form
        self.bookmarks = bookmarks
        self.since = since
        self.closed = False
        self._namespace = namespace
        self._labels = labels
        self._fields = fields
        self._name = name
        self._limit = limit
        self._cut = cut
        self._waiting: list[bytes] = []
        self._bytes = 0
        self._wake: asyncio.Event = asyncio.Event()

    def wants(self, entry: Entry) -> bool:
        """True when the entry is among the watched ones."""
        return (
            (not self._namespace or entry.namespace == self._namespace)
            and (not self._name or entry.name == self._name)
            and (self._labels is None or self._labels.matches(entry.labels))
            and (self._fields is None or self._fields.matches(entry))
        )

    def tell(self, event: Event, lines: Lines) -> None:
        """Queue what this event means to this watcher; nothing, when it means nothing."""
        if event.version > self.since:
            data = self.meaning(event, lines)
            if data is not None:
                self.push(data)

    def meaning(self, event: Event, lines: Lines) -> bytes | None:
        """The line that this event is to this watcher: an object may come into its sight or leave it."""
        now = event.change is not Change.DELETED and self.wants(event.entry)
        before = event.previous is not None and self.wants(event.previous)
        if now:
            return line(self.form, Change.MODIFIED if before else Change.ADDED, event.entry, lines)
        if before:
            entry = event.entry if event.change is Change.DELETED else last_seen(event)
            return line(self.form, Change.DELETED, entry, lines)
        return None

    def push(self, data: bytes) -> None:
        """Queue bytes; too many waiting ones end the watch."""
        if self.closed:
            return
        self._waiting.append(data)
        self._bytes += len(data)
        if self._bytes > self._limit:
            self.closed = True
            self._waiting.clear()
            self._cut()
        self._wake.set()

    def end(self) -> None:
        """Let the watch finish when what waits is written."""
        self.closed = True
        self._wake.set()

    async def take(self, timeout: float) -> bytes:
        """What waits, at once or when something comes; nothing when the time is over or the watch is closed."""
        if not self._waiting and not self.closed:
            self._wake.clear()
            try:
                await asyncio.wait_for(self._wake.wait(), timeout)
            except TimeoutError:
                return b""
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return data


def last_seen(event: Event) -> Entry:
    """The object as the watcher knew it, under the version of the change that took it out of sight."""
    assert event.previous is not None
    value = event.previous.decoded()
    value["metadata"]["resourceVersion"] = str(event.version)
    known = event.previous
    return Entry(known.namespace, known.name, known.uid, event.version, encode_json(value), known.labels, known.fields)


def line(form: Form, change: Change, entry: Entry, lines: Lines) -> bytes:
    """One line of a watch, encoded once per batch."""
    key = (form.key, change, entry.version)
    known = lines.get(key)
    if known is None:
        known = lines[key] = b'{"type":"%b","object":%b}\n' % (change.value.encode(), form.object(entry))
    return known


@final
class Hub:
    """All open watches, by storage."""

    def __init__(self) -> None:
        self._watchers: dict[str, list[Watcher]] = {}

    def add(self, storage: str, watcher: Watcher) -> None:
        """Tell this watcher from now on."""
        self._watchers.setdefault(storage, []).append(watcher)

    def remove(self, storage: str, watcher: Watcher) -> None:
        """Tell it no longer."""
        watchers = self._watchers.get(storage, [])
        if watcher in watchers:
            watchers.remove(watcher)

    def publish(self, storage: str, events: Sequence[Event]) -> None:
        """Tell all watchers of one kind what happened."""
        watchers = self._watchers.get(storage)
        if not watchers:
            return
        lines: Lines = {}
        for event in events:
            for watcher in watchers:
                watcher.tell(event, lines)

    def bookmark_all(self, version: int) -> None:
        """Tell those who asked for it up to which version they have seen everything."""
        for watchers in self._watchers.values():
            for watcher in watchers:
                if watcher.bookmarks:
                    watcher.push(
                        b'{"type":"BOOKMARK","object":%b}\n' % watcher.form.bookmark(version, initial_end=False)
                    )

    def end_kind(self, storage: str) -> None:
        """Finish all watches of a kind that is no longer served."""
        for watcher in self._watchers.get(storage, []):
            watcher.end()

    def end_all(self) -> None:
        """Finish all watches."""
        for storage in self._watchers:
            self.end_kind(storage)

    @property
    def count(self) -> int:
        """How many watches are open."""
        return sum(len(watchers) for watchers in self._watchers.values())
