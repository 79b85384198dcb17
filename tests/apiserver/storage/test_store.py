"""The store: versions grow, batches are kept whole, a write that cannot be kept is never acknowledged."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.apiserver.storage.entry import Event
from stowplan.apiserver.storage.journal import Journal, NoJournal, SqliteJournal, Write
from stowplan.apiserver.storage.store import Store


def thing(name: str, **data: str) -> dict[str, Any]:
    """An object."""
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "data": data}


def store_on(journal: Journal, failures: list[Exception] | None = None) -> Store:
    """A store without selectable fields."""
    made = Store(
        journal,
        window=100,
        fields=lambda _storage, _value: (),
        fail=(failures if failures is not None else []).append,
    )
    made.load()
    return made


class Broken:
    """A journal on a full disk."""

    def load(self) -> tuple[int, Iterator[Write]]:
        """Nothing."""
        return 0, iter(())

    def commit(self, version: int, writes: Sequence[Write]) -> None:
        """Fail."""
        raise sqlite3.OperationalError("database or disk is full")

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
        failures: list[Exception] = []
        store = store_on(Broken(), failures)
        store.write("things", thing("a"), previous=None)
        with pytest.raises(sqlite3.OperationalError):
            await store.committed()
        assert ["database or disk is full"] == [str(failure) for failure in failures]

    asyncio.run(story())


STEPS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["write", "delete", "flush"])), max_size=30)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_what_is_read_back_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("store")

    async def story() -> None:
        store = store_on(SqliteJournal(folder))
        for number, (name, step) in enumerate(steps):
            entry = store.table("things").get("", name)
            if step == "write":
                store.write("things", thing(name, number=str(number)), previous=entry)
            elif step == "delete" and entry is not None:
                store.delete("things", entry, entry.decoded())
            elif step == "flush":
                await store.committed()
        store.close()
        again = store_on(SqliteJournal(folder))
        want = {key: (found.version, found.body, found.uid) for key, found in store.table("things").entries.items()}
        got = {key: (found.version, found.body, found.uid) for key, found in again.table("things").entries.items()}
        assert (want, store.version) == (got, again.version)
        again.close()

    asyncio.run(story())


def test_another_format_is_refused(tmp_path: Path) -> None:
    SqliteJournal(tmp_path).close()
    with sqlite3.connect(tmp_path / "state.db") as database:
        database.execute("UPDATE meta SET value=99 WHERE key='format'")
    database.close()

    with pytest.raises(Exception, match=r"state\.db has format 99, this program reads 1"):
        SqliteJournal(tmp_path)
