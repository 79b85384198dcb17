"""The store: versions grow, batches are kept whole, a write that cannot be kept is never acknowledged."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.apiserver.storage.entry import Event
from stowplan.apiserver.storage.journal import Journal, NoJournal, NotKeptError, SqliteJournal, Write
from stowplan.apiserver.storage.store import Store


def thing(name: str, **data: str) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "data": data}


def store_on(journal: Journal, taken_back: list[NotKeptError] | None = None) -> Store:
    """A store without selectable fields."""
    made = Store(
        journal,
        window=100,
        fields=lambda _storage, _value: (),
        taken_back=(taken_back if taken_back is not None else []).append,
    )
    made.load()
    return made


@final
class Moody:
    """A journal on a disk that is full at times."""

    def __init__(self) -> None:
        self.full = False

    def load(self) -> tuple[int, Iterator[Write]]:
        """Nothing."""
        return 0, iter(())

    def commit(self, version: int, writes: Sequence[Write]) -> None:
        """Fail when the disk is full."""
        if self.full:
            raise NotKeptError("database or disk is full")

    def close(self) -> None:
        """Nothing to let go."""


def test_watchers_hear_of_a_batch_after_it_is_kept() -> None:
    async def story() -> None:
        store, told = store_on(NoJournal()), list[int]()

        def hear(_storage: str, events: Sequence[Event]) -> None:
            told.extend(event.version for event in events)

        store.listen(hear)
        first = store.write("things", thing("a"), previous=None)
        store.write("things", thing("b"), previous=None)
        assert [] == told
        await store.committed()
        assert [first.version, first.version + 1] == told

    asyncio.run(story())


def test_a_write_that_cannot_be_kept_is_not_acknowledged() -> None:
    async def story() -> None:
        taken_back: list[NotKeptError] = []
        journal = Moody()
        store = store_on(journal, taken_back)
        journal.full = True
        store.write("things", thing("a"), previous=None)
        with pytest.raises(NotKeptError):
            await store.committed()
        assert ["database or disk is full"] == [str(failure) for failure in taken_back]

    asyncio.run(story())


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete", "flush"])), max_size=30)


Steps = list[tuple[str, str]]
Contents = dict[tuple[str, str], tuple[int, bytes, str]]


def take(store: Store, steps: Steps) -> None:
    """Write, delete and flush as told."""
    for number, (name, step) in enumerate(steps):
        entry = store.table("things").get("", name)
        if step == "write":
            store.write("things", thing(name, number=str(number)), previous=entry)
        elif step == "delete" and entry is not None:
            store.delete("things", entry, entry.decoded())
        elif step == "flush":
            store.flush_now()


def contents(store: Store) -> Contents:
    """What the store holds, in the order in which it lists."""
    return {found.key: (found.version, found.body, found.uid) for found in store.table("things").slice("")}


@settings(max_examples=50, deadline=None)
@given(before=STEPS, refused=STEPS, after=STEPS)
def test_batches_that_cannot_be_kept_leave_no_trace(before: Steps, refused: Steps, after: Steps) -> None:
    async def story() -> None:
        journal = Moody()
        store, heard = store_on(journal), list[int]()
        store.listen(lambda _storage, events: heard.extend(event.version for event in events))
        take(store, [*before, ("", "flush")])
        want, told = contents(store), list(heard)

        journal.full = True
        take(store, [*refused, ("", "flush")])
        assert (want, told) == (contents(store), heard)

        journal.full = False
        take(store, [*after, ("", "flush")])
        assert sorted(set(heard)) == heard
        assert len(heard) - len(told) == sum(step == "write" for _, step in after) + deletions(want, after)

    asyncio.run(story())


def deletions(held: Contents, steps: Steps) -> int:
    """How many of the steps take something away."""
    names, count = {name for _, name in held}, 0
    for name, step in steps:
        if step == "write":
            names.add(name)
        elif step == "delete" and name in names:
            names.remove(name)
            count += 1
    return count


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_what_is_read_back_is_what_was_written(tmp_path_factory: pytest.TempPathFactory, steps: Steps) -> None:
    folder = tmp_path_factory.mktemp("store")

    async def story() -> None:
        store = store_on(SqliteJournal(folder))
        take(store, steps)
        store.close()
        again = store_on(SqliteJournal(folder))
        assert (contents(store), store.version) == (contents(again), again.version)
        again.close()

    asyncio.run(story())


def test_another_format_is_refused(tmp_path: Path) -> None:
    SqliteJournal(tmp_path).close()
    with sqlite3.connect(tmp_path / "state.db") as database:
        database.execute("UPDATE meta SET value=99 WHERE key='format'")
    database.close()

    with pytest.raises(Exception, match=r"state\.db has format 99, this program reads 1"):
        SqliteJournal(tmp_path)
