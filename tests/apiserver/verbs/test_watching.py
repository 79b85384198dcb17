"""Watches tell every change once, in order, to those whom it concerns."""

import asyncio
import json

import pytest

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import NODES, PODS, STRATEGIC, config_map, node, pod, running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def test_a_watch_without_a_version_shows_the_present_first() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            async with api.watch(PODS) as stream:
                await api.post(PODS, pod("b"))
                assert [("ADDED", "a"), ("ADDED", "b")] == await stream.names(2)

    asyncio.run(story())


def test_a_watch_from_a_version_shows_what_came_after() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            version = (await api.get(PODS)).json["metadata"]["resourceVersion"]
            await api.post(PODS, pod("b"))
            await api.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}}, STRATEGIC)
            await api.delete(f"{PODS}/b")
            async with api.watch(f"{PODS}?resourceVersion={version}") as stream:
                assert [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "b")] == await stream.names(3)

    asyncio.run(story())


def test_an_object_comes_into_a_selector_and_leaves_it() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            async with api.watch(f"{PODS}?labelSelector=tier%3Dfront") as stream:
                await api.patch(f"{PODS}/a", {"metadata": {"labels": {"tier": "front"}}})
                await api.patch(f"{PODS}/a", {"metadata": {"labels": {"x": "y"}}})
                changed = await api.patch(f"{PODS}/a", {"metadata": {"labels": {"tier": None}}})
                assert [("ADDED", "a"), ("MODIFIED", "a")] == await stream.names(2)
                left = await stream.next()
                assert "DELETED" == left["type"]
                assert changed.json["metadata"]["resourceVersion"] == left["object"]["metadata"]["resourceVersion"]
                assert "front" == left["object"]["metadata"]["labels"]["tier"]

    asyncio.run(story())


def test_a_field_selector_picks_the_pods_of_a_node() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(NODES, node("n"))
            await api.post(PODS, pod("a"))
            async with api.watch("/api/v1/pods?fieldSelector=spec.nodeName%3Dn") as stream:
                await api.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}})
                assert [("ADDED", "a")] == await stream.names(1)

    asyncio.run(story())


def test_a_watch_list_ends_its_beginning_with_a_bookmark() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            query = "sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
            async with api.watch(f"{PODS}?{query}") as stream:
                assert [("ADDED", "a")] == await stream.names(1)
                mark = await stream.next()
                assert "BOOKMARK" == mark["type"]
                assert {"k8s.io/initial-events-end": "true"} == mark["object"]["metadata"]["annotations"]
                await api.post(PODS, pod("b"))
                assert [("ADDED", "b")] == await stream.names(1)

    asyncio.run(story())


def test_bookmarks_come_by_themselves() -> None:
    async def story() -> None:
        async with (
            running(ServerOptions(bookmark_seconds=0.05)) as api,
            api.watch(f"{PODS}?allowWatchBookmarks=true") as stream,
        ):
            first = await stream.next()
            assert "BOOKMARK" == first["type"]
            await api.post(CONFIG_MAPS, config_map("other"))
            version = int((await api.get(CONFIG_MAPS)).json["metadata"]["resourceVersion"])
            while int((await stream.next())["object"]["metadata"]["resourceVersion"]) < version:
                pass

    asyncio.run(story())


def test_a_version_that_has_left_the_window_is_gone() -> None:
    async def story() -> None:
        async with running(ServerOptions(history=5)) as api:
            version = (await api.get(CONFIG_MAPS)).json["metadata"]["resourceVersion"]
            for number in range(8):
                await api.post(CONFIG_MAPS, config_map(f"c{number}"))
            got = await api.get(f"{CONFIG_MAPS}?watch=true&resourceVersion={version}")
            assert (410, "Expired") == (got.status, got.reason)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("query", "want"),
    [
        pytest.param("resourceVersion=abc", 400, id="a version that is no number"),
        pytest.param("resourceVersion=999999", 410, id="a version of another life"),
        pytest.param("sendInitialEvents=true", 422, id="initial events without a match"),
        pytest.param("resourceVersionMatch=Exact", 422, id="a match without initial events"),
        pytest.param("labelSelector=a%20in%20(", 400, id="a broken selector"),
        pytest.param("fieldSelector=spec.nope%3Da", 400, id="a field that cannot be selected by"),
    ],
)
def test_a_watch_that_cannot_be_is_refused_at_once(query: str, want: int) -> None:
    async def story() -> None:
        async with running() as api:
            assert want == (await api.get(f"{PODS}?watch=true&{query}")).status

    asyncio.run(story())


def test_a_watch_ends_when_its_time_is_over() -> None:
    async def story() -> None:
        async with running() as api:
            got = await asyncio.wait_for(api.get(f"{PODS}?watch=true&timeoutSeconds=1"), 5)
            assert (200, b"") == (got.status, got.body)
            assert 0 == api.server.api.hub.count

    asyncio.run(story())


def test_a_watcher_that_stops_reading_is_cut_off_and_nobody_else() -> None:
    async def story() -> None:
        async with (
            running(ServerOptions(watch_buffer=200_000)) as api,
            api.watch(f"{CONFIG_MAPS}?resourceVersion=0") as lazy,
            api.watch(CONFIG_MAPS) as eager,
        ):
            lazy.response.connection.transport.pause_reading()  # type: ignore[union-attr]
            await lazy.next()
            text = "x" * 100_000
            for number in range(120):
                assert 201 == (await api.post(CONFIG_MAPS, config_map(f"c{number}", text=text))).status
                event = await eager.next()
                while event["object"]["metadata"]["name"] != f"c{number}":
                    event = await eager.next()
            assert 1 == api.server.api.hub.count

    asyncio.run(story())


def test_a_watcher_that_goes_away_is_forgotten() -> None:
    async def story() -> None:
        async with running() as api:
            async with api.watch(PODS):
                assert 1 == api.server.api.hub.count
            for _ in range(200):
                if not api.server.api.hub.count:
                    return
                await asyncio.sleep(0.01)
            pytest.fail("the watch is still open")

    asyncio.run(story())


def test_a_table_is_told_row_by_row() -> None:
    async def story() -> None:
        async with running() as api:
            accept = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
            headers = {"Authorization": f"Bearer {api.token}", **accept}
            async with api.http.get(f"{api.server.url}{PODS}?watch=true", headers=headers) as response:
                await api.post(PODS, pod("a"))
                event = json.loads(await response.content.readline())
                assert "Table" == event["object"]["kind"]
                assert ["a", "0/1", "Pending"] == event["object"]["rows"][0]["cells"][:3]

    asyncio.run(story())
