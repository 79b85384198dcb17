"""The change journal: which rows changed since a generation, so that caches catch up row by row."""

from collections import deque
from enum import Flag, auto
from typing import Final, final

KEPT: Final = 65_536


class Changed(Flag):
    """What about a row changed."""

    NODE = auto()
    """The node itself: labels, taints, allocatable, images."""
    LOAD = auto()
    """What is placed on it."""
    STATE = auto()
    """A placed pod reported something new that no column shows, such as its status."""
    MEMBERS = auto()
    """The node came, went or moved in the node order."""
    OBJECTS = auto()
    """Something that is no node and no placed pod (volumes, claims, namespaces, services); the row is -1."""


@final
class Journal:
    """Entries (row, change) under a growing generation. The oldest are dropped; who is later than that starts over."""

    __slots__ = ("_entries", "generation")

    def __init__(self) -> None:
        self.generation = 0
        self._entries: deque[tuple[int, Changed]] = deque(maxlen=KEPT)

    def append(self, row: int, change: Changed) -> None:
        """Record a change."""
        self.generation += 1
        self._entries.append((row, change))

    def since(self, generation: int) -> dict[int, Changed] | None:
        """The rows changed after a generation, each with all its changes; None when that is no longer known."""
        missing = self.generation - generation
        assert missing >= 0, "a generation from the future"
        if missing > len(self._entries):
            return None
        rows: dict[int, Changed] = {}
        for i in range(len(self._entries) - missing, len(self._entries)):
            row, change = self._entries[i]
            rows[row] = rows.get(row, change) | change
        return rows
