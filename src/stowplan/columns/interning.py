"""Distinct values become small integers once, at the door; kernels compare integers only."""

from collections.abc import Hashable
from typing import Generic, TypeVar, final

V = TypeVar("V", bound=Hashable)


@final
class Interner(Generic[V]):
    """Gives equal values equal codes, counting from 0."""

    __slots__ = ("_codes", "values")

    def __init__(self) -> None:
        self._codes: dict[V, int] = {}
        self.values: list[V] = []

    def __len__(self) -> int:
        return len(self.values)

    def code(self, value: V) -> int:
        """The value's code, a new one on first sight."""
        code = self._codes.get(value)
        if code is None:
            code = self._codes[value] = len(self.values)
            self.values.append(value)
        return code

    def find(self, value: V) -> int:
        """The value's code, -1 when it was never seen."""
        return self._codes.get(value, -1)
