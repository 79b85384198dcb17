"""Distinct values become small integers once, at the door; kernels compare integers only."""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

V = TypeVar("V", bound=Hashable)
S = TypeVar("S", bound=np.generic)

MOST_QUESTIONS: Final = 256


@final
class Interner(Generic[V]):
    """Gives equal values equal codes, counting from 0."""

    __slots__ = ("_answers", "_codes", "values")

    def __init__(self) -> None:
        self._answers: dict[Hashable, NDArray[Any]] = {}
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

    def answers(
        self, question: Hashable, judge: Callable[[V], Any], dtype: type[S], *, absent: Any = False
    ) -> "NDArray[S]":
        """What `judge` says of every value, by code, and `absent` at the end, where code -1 finds it.

        Answers are kept by question, so `judge` must follow from the question alone. Do not write to the array.
        """
        known = self._answers.pop(question, None)
        size = len(self.values)
        if known is None or len(known) <= size:
            start = 0 if known is None else len(known) - 1
            grown = np.empty(size + 1, dtype)
            if known is not None:
                grown[:start] = known[:start]
            for code in range(start, size):
                grown[code] = judge(self.values[code])
            grown[size] = absent
            known = grown
        self._answers[question] = known
        if len(self._answers) > MOST_QUESTIONS:
            del self._answers[next(iter(self._answers))]
        return known
