"""A heap whose items can be found and taken out by their identity."""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, TypeVar, final

T = TypeVar("T")

Entry = list[Any]
"""Key, running number, uid, item; the item is None once it was taken out."""


@final
class KeyedHeap(Generic[T]):
    """Smallest key first, equal keys in order of arrival. Removal marks the entry; the mark is dropped on top."""

    __slots__ = ("_entries", "_heap", "_numbers")

    def __init__(self) -> None:
        self._heap: list[Entry] = []
        self._entries: dict[str, Entry] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def __iter__(self) -> Iterator[T]:
        return (entry[3] for entry in sorted(self._entries.values(), key=lambda entry: entry[:2]))

    def get(self, uid: str) -> T | None:
        """The item of a uid."""
        entry = self._entries.get(uid)
        return None if entry is None else entry[3]

    def push(self, uid: str, item: T, key: Any) -> None:
        """Add an item, or give it another key."""
        self.remove(uid)
        entry: Entry = [key, next(self._numbers), uid, item]
        self._entries[uid] = entry
        heappush(self._heap, entry)

    def remove(self, uid: str) -> T | None:
        """Take an item out."""
        entry = self._entries.pop(uid, None)
        if entry is None:
            return None
        item: T = entry[3]
        entry[3] = None
        if len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = list(self._entries.values())
            heapify(self._heap)
        return item

    def peek(self) -> T | None:
        """The first item."""
        while self._heap and self._heap[0][3] is None:
            heappop(self._heap)
        return self._heap[0][3] if self._heap else None

    def pop(self) -> T | None:
        """Take the first item out."""
        if self.peek() is None:
            return None
        entry = heappop(self._heap)
        del self._entries[entry[2]]
        item: T = entry[3]
        return item
