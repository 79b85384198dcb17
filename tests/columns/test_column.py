"""Columns grow together, and rows are given out once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns.column import FIRST_CAPACITY, Table


def test_a_freed_row_holds_the_fill_value_again() -> None:
    table = Table()
    plain, filled = table.column(np.int64), table.column(np.int32, -1)
    row = table.take_row()
    plain.data[row], filled.data[row] = 7, 7

    table.free_row(row)

    assert (0, -1) == (plain.data[row], filled.data[row])
    assert table.has_holes
    assert row == table.take_row()
    assert not table.has_holes


def test_growth_keeps_values_and_fills_new_rows() -> None:
    table = Table()
    column = table.column(np.int32, -1)
    for number in range(FIRST_CAPACITY):
        column.data[table.take_row()] = number

    table.take_row()

    assert 2 * FIRST_CAPACITY == len(column.data) == table.capacity
    assert [*range(FIRST_CAPACITY), -1] == column.data[: FIRST_CAPACITY + 1].tolist()
    assert 2 * FIRST_CAPACITY == len(table.column(np.bool_, False).data)


def test_a_dropped_column_does_not_grow() -> None:
    table = Table()
    kept, dropped = table.column(np.int64), table.column(np.int64)
    table.drop(dropped)

    for _ in range(FIRST_CAPACITY + 1):
        table.take_row()

    assert (2 * FIRST_CAPACITY, FIRST_CAPACITY) == (len(kept.data), len(dropped.data))


@given(st.lists(st.booleans(), max_size=200))
def test_no_row_is_given_out_twice(steps: list[bool]) -> None:
    table = Table()
    used: list[int] = []
    for take in steps:
        if take or not used:
            row = table.take_row()
            assert row not in used
            used.append(row)
        else:
            table.free_row(used.pop(0))
    assert table.size - len(used) == 0 or table.has_holes
    assert table.size <= table.capacity
