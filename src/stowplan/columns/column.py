"""One growable array per fact, and the table that keeps its columns equally long."""

from typing import Any, Final, Generic, TypeVar, final

import numpy as np
from numpy.typing import NDArray

S = TypeVar("S", bound=np.generic)

FIRST_CAPACITY: Final = 64


@final
class Column(Generic[S]):
    """A fact per row. `data` is the whole capacity; rows that are not in use hold the fill value."""

    __slots__ = ("data", "fill")

    def __init__(self, dtype: type[S], fill: float, capacity: int) -> None:
        self.data: NDArray[S] = np.full(capacity, fill, dtype=dtype)
        self.fill = fill

    def grow(self, capacity: int) -> None:
        """Extend to a capacity, new rows filled."""
        data = np.full(capacity, self.fill, dtype=self.data.dtype)
        data[: len(self.data)] = self.data
        self.data = data

    def clear(self, row: int) -> None:
        """Give the row back its fill value."""
        self.data[row] = self.fill


@final
class Table:
    """Hands out rows, reuses freed ones, and grows all its columns together by doubling."""

    __slots__ = ("_columns", "_free", "capacity", "size")

    def __init__(self) -> None:
        self.capacity = FIRST_CAPACITY
        self.size = 0
        self._free: list[int] = []
        self._columns: list[Column[Any]] = []

    def column(self, dtype: type[S], fill: float = 0) -> Column[S]:
        """A new column of this table."""
        column: Column[S] = Column(dtype, fill, self.capacity)
        self._columns.append(column)
        return column

    def drop(self, column: Column[Any]) -> None:
        """Stop keeping a column."""
        self._columns = [kept for kept in self._columns if kept is not column]

    def take_row(self) -> int:
        """A row that nobody uses."""
        if self._free:
            return self._free.pop()
        if self.size == self.capacity:
            self.capacity *= 2
            for column in self._columns:
                column.grow(self.capacity)
        self.size += 1
        return self.size - 1

    def free_row(self, row: int) -> None:
        """Clear a row in every column and keep it for the next taker."""
        for column in self._columns:
            column.clear(row)
        self._free.append(row)

    @property
    def has_holes(self) -> bool:
        """Whether some row below `size` is free."""
        return bool(self._free)
