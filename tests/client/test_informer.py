"""The informer lists and watches as upstream's client does."""

import asyncio
import json
import random
from typing import Any

import pytest

from stowplan.client.decoding import DictDecoder, FunctionDecoder, Identity
from stowplan.client.informer import Informer, Selection
from stowplan.client.paths import PODS
from tests.client.fake_server import FakeResource, FakeServer
from tests.client.informer_scene import PATH, Journal, scene
from tests.client.virtual_time import LoopClock, run_virtual, until


def test_lists_then_watches() -> None:
    async def story() -> None:
        async with scene("a", "b") as stage:
            await stage.informer.synced()
            assert stage.journal.lines == ["add a initial", "add b initial"]
            await stage.watching()
            stage.pods.put("c")
            stage.pods.put("a")
            stage.pods.delete("b")
            await until(lambda: len(stage.journal.lines) == 5)
            assert stage.journal.lines[2:] == ["add c", "update a", "delete b"]
            assert sorted(stage.informer.store.objects) == ["ns/a", "ns/c"]
            assert stage.informer.last_resource_version == str(stage.pods.version)

    run_virtual(story())


def test_asks_as_the_upstream_client_asks() -> None:
    async def story() -> None:
        selection = Selection(label_selector="app=web", field_selector="status.phase!=Failed")
        async with scene("a", selection=selection) as stage:
            await stage.watching()
            listed, watched = stage.server.seen
        seconds = int(watched.query.pop("timeoutSeconds"))
        chosen = {"labelSelector": "app=web", "fieldSelector": "status.phase!=Failed"}
        assert chosen | {"resourceVersion": "0", "limit": "500"} == listed.query
        assert chosen | {"resourceVersion": "101", "watch": "true", "allowWatchBookmarks": "true"} == watched.query
        assert 300 <= seconds <= 600

    run_virtual(story())


def test_long_lists_come_in_pages() -> None:
    async def story() -> None:
        async with scene(*(f"p{number}" for number in range(1203))) as stage:
            await stage.informer.synced()
            assert len(stage.informer.store) == 1203
            lists = [seen.query for seen in stage.server.seen if "watch" not in seen.query]
            assert [query.get("resourceVersion") for query in lists] == ["0", None, None]
            assert all("continue" in query for query in lists[1:])

    run_virtual(story())


def test_bookmarks_move_the_version() -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            stage.pods.bookmark(900)
            await until(lambda: stage.informer.last_resource_version == "900")
            stage.pods.end()
            await until(lambda: len(stage.server.seen) == 3)
            assert stage.server.seen[2].query["resourceVersion"] == "900"
            assert stage.informer.statistics().bookmarks == 1

    run_virtual(story())


def test_streaming_list() -> None:
    def offer(_server: FakeServer, pods: FakeResource) -> None:
        pods.offers_streaming_lists = True

    async def story() -> None:
        async with scene("a", "b", before=offer, stream_initial_list=True) as stage:
            await stage.informer.synced()
            assert stage.journal.lines == ["add a initial", "add b initial"]
            stage.pods.put("c")
            await stage.caught_up()
            assert len(stage.server.seen) == 1, "one stream does both"
            stage.pods.cut()
            stage.pods.watching.clear()
            stage.pods.delete("a")
            stage.pods.compact()
            await stage.caught_up()
            assert stage.journal.lines[2:] == ["add c", "delete a"]

    run_virtual(story())


def test_streaming_list_falls_back_where_it_is_not_offered() -> None:
    async def story() -> None:
        async with scene("a", stream_initial_list=True) as stage:
            await stage.informer.synced()
            assert [seen.query.get("watch") for seen in stage.server.seen[:2]] == ["true", None]

    run_virtual(story())


def test_a_late_handler_is_told_what_is_known() -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            stage.pods.put("b")
            await stage.caught_up()
            late = Journal()
            stage.informer.add_handler(late)
            assert late.lines == ["add a initial", "add b initial"]

    run_virtual(story())


@pytest.mark.parametrize(
    "decoder",
    [
        pytest.param(DictDecoder(), id="dictionaries"),
        pytest.param(
            FunctionDecoder(
                lambda raw: json.loads(bytes(raw)),
                lambda obj: Identity(
                    f"ns/{obj['metadata']['name']}", obj["metadata"]["uid"], obj["metadata"]["resourceVersion"]
                ),
            ),
            id="a function of the caller",
        ),
    ],
)
def test_other_decoders(decoder: Any) -> None:
    async def story() -> None:
        server = FakeServer()
        pods = FakeResource(server, PATH)
        pods.put("a", extra={"x": 1})
        async with server.listening(), server.client() as client:
            informer: Informer[dict[str, Any]] = Informer(
                client, PODS, decoder, clock=LoopClock(), rng=random.Random(7)
            )
            task = asyncio.create_task(informer.run())
            await until(lambda: pods.watching)
            pods.put("a", extra={"x": 2})
            pods.bookmark(900)
            await until(lambda: informer.last_resource_version == "900")
            assert informer.store.objects["ns/a"]["extra"] == {"x": 2}
            task.cancel()
            await asyncio.wait([task])

    run_virtual(story())
