"""Container images and the nodes that hold them.

Upstream: addNodeImageStates in pkg/scheduler/backend/cache/cache.go (v1.36.4).
"""

from collections.abc import Iterable
from typing import final

import numpy as np

from stowplan.goarith import IntN


@final
class ImageState:
    """An image's size, as the first node to report it said, and the rows that have it."""

    __slots__ = ("_index", "rows", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: set[int] = set()
        self._index: IntN | None = None

    def put(self, row: int) -> None:
        """A node has the image."""
        self.rows.add(row)
        self._index = None

    def drop(self, row: int) -> None:
        """A node has it no more."""
        self.rows.discard(row)
        self._index = None

    @property
    def index(self) -> IntN:
        """The rows as an array, in no particular order."""
        if self._index is None:
            self._index = np.fromiter(self.rows, np.int64, len(self.rows))
        return self._index


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
                state.drop(row)
                if not state.rows:
                    del self._states[name]
        names = []
        for name, size in images:
            state = self._states.get(name)
            if state is None:
                state = self._states[name] = ImageState(size)
            state.put(row)
            names.append(name)
        if names:
            self._names_on[row] = tuple(names)
