"""The store: reads are plain calls, writes are plain calls whose result may be answered once `committed` returns.

Writes of one turn of the event loop are kept in one transaction, then told to the watchers. A batch that cannot be
kept is taken back as a whole, and nobody is told: what is read is what was acknowledged, and the server goes on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, final

from stowplan.apiserver.storage.entry import NO_LABELS, Change, Entry, Event, encode_json
from stowplan.apiserver.storage.journal import Journal, NotKeptError, Write
from stowplan.apiserver.storage.table import Table

Listener = Callable[[str, Sequence[Event]], None]
FieldReader = Callable[[str, dict[str, Any]], tuple[str, ...]]


@final
class Store:
    """All objects of all kinds under one growing version."""

    def __init__(
        self, journal: Journal, *, window: int, fields: FieldReader, taken_back: Callable[[NotKeptError], None]
    ) -> None:
        self._journal = journal
        self._window = window
        self._fields = fields
        self._taken_back = taken_back
        self._tables: dict[str, Table] = {}
        self._pending: list[tuple[str, Event]] = []
        self._flushed: asyncio.Future[None] | None = None
        self._listener: Listener | None = None
        self.version = 0

    def load(self) -> None:
        """Read what the journal kept."""
        version, writes = self._journal.load()
        self.version = max(version, 1)
        for write in writes:
            assert write.body is not None
            self.table(write.storage).place(self._entry_of(write))

    def _entry_of(self, write: Write) -> Entry:
        assert write.body is not None
        bare = Entry(write.namespace, write.name, "", write.version, write.body, NO_LABELS)
        value = bare.decoded()
        meta = value.get("metadata") or {}
        bare.uid = meta.get("uid", "")
        bare.labels = meta.get("labels") or NO_LABELS
        bare.fields = self._fields(write.storage, value)
        return bare

    def listen(self, listener: Listener) -> None:
        """Tell somebody about every batch of changes after it is kept."""
        self._listener = listener

    def table(self, storage: str) -> Table:
        """The table of one kind."""
        found = self._tables.get(storage)
        if found is None:
            found = self._tables[storage] = Table(storage, self._window, self.version)
        return found

    def drop_table(self, storage: str) -> None:
        """Forget an empty table whose kind is no longer served."""
        found = self._tables.get(storage)
        if found is not None and not found.entries:
            del self._tables[storage]

    def write(self, storage: str, value: dict[str, Any], *, previous: Entry | None) -> Entry:
        """Put an object in under a new version, which is written into it."""
        self.version += 1
        meta = value["metadata"]
        meta["resourceVersion"] = str(self.version)
        entry = Entry(
            meta.get("namespace", ""),
            meta["name"],
            meta["uid"],
            self.version,
            encode_json(value),
            meta.get("labels") or NO_LABELS,
            self._fields(storage, value),
        )
        self.table(storage).place(entry)
        change = Change.ADDED if previous is None else Change.MODIFIED
        self._note(storage, Event(self.version, change, entry, previous))
        return entry

    def delete(self, storage: str, entry: Entry, value: dict[str, Any]) -> Entry:
        """Take an object out; `value` is its last state, which gets a version of its own."""
        self.version += 1
        value["metadata"]["resourceVersion"] = str(self.version)
        last = Entry(
            entry.namespace,
            entry.name,
            entry.uid,
            self.version,
            encode_json(value),
            value["metadata"].get("labels") or NO_LABELS,
            self._fields(storage, value),
        )
        self.table(storage).remove(entry.key)
        self._note(storage, Event(self.version, Change.DELETED, last, entry))
        return last

    async def committed(self) -> None:
        """Return when all that was written in this turn is kept. Raises NotKeptError when it was taken back."""
        if self._flushed is not None:
            await asyncio.shield(self._flushed)

    def flush_now(self) -> None:
        """Keep and tell what is pending, in this very turn."""
        pending, self._pending = self._pending, []
        done, self._flushed = self._flushed, None
        try:
            self._keep(pending)
        except NotKeptError as error:
            self._take_back(pending)
            if done is not None:
                done.set_exception(error)
                done.exception()  # a writer that has gone does not ask
            self._taken_back(error)
            return
        if done is not None:
            done.set_result(None)
        by_storage: dict[str, list[Event]] = {}
        for storage, event in pending:
            self.table(storage).remember(event)
            by_storage.setdefault(storage, []).append(event)
        if self._listener is not None:
            for storage, events in by_storage.items():
                self._listener(storage, events)

    def close(self) -> None:
        """Keep the rest and let go."""
        self.flush_now()
        self._journal.close()

    def _take_back(self, pending: Sequence[tuple[str, Event]]) -> None:
        for storage, event in reversed(pending):
            if event.previous is None:
                self.table(storage).remove(event.entry.key)
            else:
                self.table(storage).place(event.previous)

    def _keep(self, pending: Sequence[tuple[str, Event]]) -> None:
        if pending:
            self._journal.commit(
                self.version,
                [
                    Write(
                        storage,
                        event.entry.namespace,
                        event.entry.name,
                        event.version,
                        None if event.change is Change.DELETED else event.entry.body,
                    )
                    for storage, event in pending
                ],
            )

    def _note(self, storage: str, event: Event) -> None:
        self._pending.append((storage, event))
        if self._flushed is None:
            loop = asyncio.get_running_loop()
            self._flushed = loop.create_future()
            loop.call_soon(self.flush_now)
