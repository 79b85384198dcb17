"""Tables: order, pages, the past."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.apiserver.storage.entry import Change, Entry, Event
from stowplan.apiserver.storage.table import HistoryGoneError, Table

KEYS = st.tuples(st.sampled_from(["a", "b"]), st.sampled_from("uvwxyz"))


def entry(key: tuple[str, str], version: int) -> Entry:
    """An object of a key."""
    return Entry(key[0], key[1], "", version, b"", {})


def play(table: Table, steps: list[tuple[str, str]]) -> list[dict[tuple[str, str], int]]:
    """Place an absent key, remove or change a present one; the versions of the keys after each step."""
    states: list[dict[tuple[str, str], int]] = [{}]
    for version, key in enumerate(steps, start=1):
        before = table.entries.get(key)
        now = entry(key, version)
        again = Change.DELETED if version % 2 else Change.MODIFIED
        change = Change.ADDED if before is None else again
        if change is Change.DELETED:
            table.remove(key)
        else:
            table.place(now)
        table.remember(Event(version, change, now, before))
        states.append({known: found.version for known, found in table.entries.items()})
    return states


@given(st.lists(KEYS, max_size=40))
def test_a_slice_is_sorted_and_whole(steps: list[tuple[str, str]]) -> None:
    table = Table("things", 1000, 0)
    for step in range(len(steps)):
        table = Table("things", 1000, 0)
        play(table, steps[: step + 1])
        table.keys()
    state = play(Table("things", 1000, 0), steps)[-1]

    assert sorted(state) == [found.key for found in table.slice("")]
    assert sorted(key for key in state if key[0] == "a") == [found.key for found in table.slice("a")]


@given(st.lists(KEYS, min_size=1, max_size=40), st.data())
def test_the_past_is_what_it_was(steps: list[tuple[str, str]], data: st.DataObject) -> None:
    table = Table("things", 1000, 0)
    states = play(table, steps)
    version = data.draw(st.integers(0, len(steps)))

    assert states[version] == {found.key: found.version for found in table.slice_at(version, "")}


@given(st.lists(KEYS, min_size=1, max_size=30), KEYS)
def test_a_page_begins_behind_its_key(steps: list[tuple[str, str]], after: tuple[str, str]) -> None:
    table = Table("things", 1000, 0)
    state = play(table, steps)[-1]

    assert sorted(key for key in state if key > after) == [found.key for found in table.slice("", after)]


def test_what_left_the_window_is_gone() -> None:
    table = Table("things", 3, 0)
    play(table, [("a", name) for name in "uvwxyz"])

    assert [4, 5, 6] == [event.version for event in table.since(3)]
    with pytest.raises(HistoryGoneError):
        table.since(2)
