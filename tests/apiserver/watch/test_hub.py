"""The hub encodes once and never waits."""

import asyncio
from dataclasses import dataclass, field

from stowplan.apiserver.storage.entry import Change, Entry, Event
from stowplan.apiserver.watch.hub import Hub, Watcher


@dataclass
class Counting:
    """A form that counts."""

    key: str = "counting"
    encoded: list[str] = field(default_factory=list)

    def object(self, entry: Entry) -> bytes:
        """One object."""
        self.encoded.append(entry.name)
        return entry.body

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """A version."""
        return b"%d" % version if not initial_end else b""


def watcher(form: Counting, cuts: list[str], limit: int = 1000, *, bookmarks: bool = False) -> Watcher:
    """A watcher of everything."""
    return Watcher(
        form=form, namespace="", labels=None, fields=None, name="", since=0, bookmarks=bookmarks, limit=limit,
        cut=lambda: cuts.append("cut"),
    )  # fmt: skip


def added(version: int, body: bytes = b"{}") -> Event:
    """A new object."""
    return Event(version, Change.ADDED, Entry("", f"o{version}", "", version, body, {}), None)


def test_an_object_is_encoded_once_for_all_watchers() -> None:
    async def story() -> None:
        hub, form = Hub(), Counting()
        watchers = [watcher(form, []) for _ in range(5)]
        for found in watchers:
            hub.add("things", found)
        hub.publish("things", [added(1), added(2)])
        told = {await found.take(1) for found in watchers}
        assert {b'{"type":"ADDED","object":{}}\n' * 2} == told
        assert ["o1", "o2"] == form.encoded

    asyncio.run(story())


def test_too_much_waiting_cuts_off() -> None:
    async def story() -> None:
        hub, cuts = Hub(), list[str]()
        lazy, eager = watcher(Counting(), cuts, 100), watcher(Counting(), cuts, 1000)
        hub.add("things", lazy)
        hub.add("things", eager)
        hub.publish("things", [added(version, b"x" * 60) for version in range(1, 4)])
        assert (["cut"], b"", True) == (cuts, await lazy.take(0.01), lazy.closed)
        assert 3 == (await eager.take(1)).count(b"\n")

    asyncio.run(story())


def test_only_those_who_asked_get_bookmarks_and_nobody_after_the_end() -> None:
    async def story() -> None:
        hub, form = Hub(), Counting()
        plain, marked = watcher(form, []), watcher(form, [], bookmarks=True)
        hub.add("things", plain)
        hub.add("things", marked)
        hub.bookmark_all(7)
        assert (b"", b'{"type":"BOOKMARK","object":7}\n') == (await plain.take(0.01), await marked.take(0.01))
        hub.end_all()
        hub.publish("things", [added(8)])
        assert (b"", 2) == (await plain.take(1), hub.count)
        hub.remove("things", plain)
        hub.remove("things", plain)
        assert 1 == hub.count

    asyncio.run(story())
