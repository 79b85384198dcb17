"""Container images and the nodes that hold them.

Upstream: addNodeImageStates in pkg/scheduler/backend/cache/cache.go (v1.36.4).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final


@dataclass(slots=True)
class ImageState:
    """An image's size, as the first node to report it said, and the rows that have it."""

    size: int
    rows: set[int] = field(default_factory=set)


@final
class Images:
    """Image name to its state, while at least one node has it."""

    __slots__ = ("_names_on", "_states")

    def __init__(self) -> None:
        self._states: dict[str, ImageState] = {}
        self._names_on: dict[int, tuple[str, ...]] = {}

    def get(self, name: str) -> ImageState | None:
        """The state of an image that some node has."""
        return self._states.get(name)

    def set(self, row: int, images: Iterable[tuple[str, int]]) -> None:
        """Replace what a node reports: (name, size) pairs."""
        for name in self._names_on.pop(row, ()):
            # a node may list one name twice, so the state may be gone already
            state = self._states.get(name)
            if state is not None:
                state.rows.discard(row)
                if not state.rows:
                    del self._states[name]
        names = []
        for name, size in images:
            self._states.setdefault(name, ImageState(size)).rows.add(row)
            names.append(name)
        if names:
            self._names_on[row] = tuple(names)
