"""The journal names the rows that changed since a generation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns import journal as journals
from stowplan.columns.journal import Changed, Journal

entries = st.lists(
    st.tuples(st.integers(-1, 5), st.sampled_from([Changed.NODE, Changed.LOAD, Changed.NODE | Changed.MEMBERS])),
    max_size=30,
)


@given(entries, st.data())
def test_changes_since_a_generation_are_all_that_came_after_it(
    written: list[tuple[int, Changed]], data: st.DataObject
) -> None:
    journal = Journal()
    for row, change in written:
        journal.append(row, change)
    since = data.draw(st.integers(0, len(written)))

    want: dict[int, Changed] = {}
    for row, change in written[since:]:
        want[row] = want.get(row, Changed(0)) | change

    assert want == journal.since(since)
    assert len(written) == journal.generation


def test_who_is_too_late_starts_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "KEPT", 3)
    journal = Journal()
    for row in range(5):
        journal.append(row, Changed.LOAD)

    assert journal.since(1) is None
    assert {2: Changed.LOAD, 3: Changed.LOAD, 4: Changed.LOAD} == journal.since(2)


def test_a_generation_from_the_future_is_a_mistake() -> None:
    journal: Any = Journal()

    with pytest.raises(AssertionError, match="future"):
        journal.since(1)
