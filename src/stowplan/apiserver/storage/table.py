"""All objects of one kind, in the order of their keys, and the changes that watches can resume from."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import final

from stowplan.apiserver.storage.entry import Entry, Event, Key

AFTER_ALL = "\U0010ffff"
"""Sorts after every name."""


class HistoryGoneError(Exception):
    """Raised when a version is asked for that has left the window."""


@final
class Table:
    """One kind's objects."""

    def __init__(self, storage: str, window: int, oldest: int) -> None:
        self.storage = storage
        self.entries: dict[Key, Entry] = {}
        self._history: deque[Event] = deque()
        self._window = window
        self._oldest = oldest
        self._sorted: list[Key] = []
        self._fresh: list[Key] = []
        self._holes = 0

    def get(self, namespace: str, name: str) -> Entry | None:
        """The object of this key."""
        return self.entries.get((namespace, name))

    def place(self, entry: Entry) -> None:
        """Put an object in, new or instead of an older one."""
        key = entry.key
        if key not in self.entries:
            self._fresh.append(key)
        self.entries[key] = entry

    def remove(self, key: Key) -> None:
        """Take an object out."""
        del self.entries[key]
        self._holes += 1

    def remember(self, event: Event) -> None:
        """Add a change to the window; the oldest one may fall out."""
        self._history.append(event)
        if len(self._history) > self._window:
            self._oldest = self._history.popleft().version

    def since(self, version: int) -> list[Event]:
        """All remembered changes after a version, oldest first."""
        if version < self._oldest:
            raise HistoryGoneError
        found: list[Event] = []
        for event in reversed(self._history):
            if event.version <= version:
                break
            found.append(event)
        found.reverse()
        return found

    def keys(self) -> list[Key]:
        """All keys in order; the caller must not change the list."""
        if self._fresh or self._holes:
            # perf: sorting an almost sorted list is linear
            kept = [key for key in self._sorted if key in self.entries] if self._holes else self._sorted
            merged = kept + [key for key in self._fresh if key in self.entries]
            merged.sort()
            self._sorted = [key for index, key in enumerate(merged) if not index or key != merged[index - 1]]
            self._fresh = []
            self._holes = 0
        return self._sorted

    def slice(self, namespace: str, after: Key | None = None) -> Iterator[Entry]:
        """The objects of a namespace (empty: of all) behind a key, in order."""
        keys = self.keys()
        first = bisect_left(keys, (namespace, "")) if namespace else 0
        last = bisect_left(keys, (namespace, AFTER_ALL)) if namespace else len(keys)
        if after is not None:
            first = max(first, bisect_left(keys, (after[0], after[1] + "\0")))
        for key in keys[first:last]:
            entry = self.entries.get(key)
            if entry is not None:
                yield entry

    def count_after(self, namespace: str, key: Key) -> int:
        """How many objects of a namespace (empty: of all) stand behind a key."""
        keys = self.keys()
        last = bisect_left(keys, (namespace, AFTER_ALL)) if namespace else len(keys)
        return max(0, last - bisect_left(keys, (key[0], key[1] + "\0")))

    def slice_at(self, version: int, namespace: str, after: Key | None = None) -> Iterator[Entry]:
        """As `slice`, in the state that the table had at an earlier version."""
        older: dict[Key, Entry | None] = {}
        for event in reversed(self.since(version)):
            older[event.entry.key] = event.previous
        if not older:
            yield from self.slice(namespace, after)
            return
        keys = sorted({*self.entries, *older})
        for key in keys:
            if (namespace and key[0] != namespace) or (after is not None and key <= after):
                continue
            entry = older[key] if key in older else self.entries.get(key)
            if entry is not None:
                yield entry
