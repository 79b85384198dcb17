"""The informer keeps its copy right whatever happens to the watch."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.pod import Pod
from stowplan.client.decoding import RecordDecoder
from stowplan.client.informer import Informer
from stowplan.client.paths import PODS
from tests.client.fake_server import Answer, FakeResource, FakeServer, refuse
from tests.client.informer_scene import PATH, Journal, Scene, scene
from tests.client.virtual_time import LoopClock, run_virtual, until


def test_an_expired_page_token_falls_back_to_the_whole_list() -> None:
    def expire(_server: FakeServer, pods: FakeResource) -> None:
        pods.expire_continue = True

    async def story() -> None:
        async with scene(*(f"p{number}" for number in range(600)), before=expire) as stage:
            await stage.informer.synced()
            assert len(stage.informer.store) == 600
            assert "limit" not in stage.server.seen[2].query
            assert stage.informer.statistics().expired == 1
            assert len(stage.journal.lines) == 600

    run_virtual(story())


@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param(FakeResource.end, id="a watch that ends properly goes on from its last version"),
        pytest.param(FakeResource.cut, id="a watch that is cut goes on from its last version"),
    ],
)
def test_watch_goes_on(interrupt: Callable[[FakeResource], None]) -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            stage.pods.put("b")
            await stage.caught_up()
            interrupt(stage.pods)
            stage.pods.put("c")
            stage.pods.delete("a")
            await stage.caught_up()
            assert stage.journal.lines == ["add a initial", "add b", "add c", "delete a"]
            assert stage.informer.statistics().lists == 1

    run_virtual(story())


@pytest.mark.parametrize(
    "in_stream",
    [
        pytest.param(True, id="the expiry comes as an event"),
        pytest.param(False, id="the expiry comes as an answer"),
    ],
)
def test_expired_watch_lists_again_and_tells_the_difference(in_stream: bool) -> None:
    async def story() -> None:
        async with scene("stays", "changes", "goes", "reborn") as stage:
            await stage.watching()
            stage.pods.cut()
            stage.pods.watching.clear()
            if not in_stream:
                stage.server.script.append(refuse(410, "Expired"))
            stage.pods.put("changes")
            stage.pods.delete("goes")
            stage.pods.delete("reborn")
            stage.pods.put("reborn", uid="another")
            stage.pods.put("new")
            stage.pods.compact()
            await stage.caught_up()
            assert stage.journal.lines[4:] == [
                "update changes",
                "delete reborn",
                "add reborn",
                "add new",
                "delete goes",
            ]
            assert stage.informer.statistics().expired == 1
            assert stage.informer.statistics().lists == 2
            # asks for data at least as fresh as what it holds
            assert stage.server.seen[3].query == {"resourceVersion": "104"}

    run_virtual(story())


def test_a_missing_server_is_waited_for() -> None:
    async def story() -> None:
        server = FakeServer()
        pods = FakeResource(server, PATH)
        pods.put("a")
        async with server.listening():
            pass
        async with server.client() as client:
            informer = Informer(client, PODS, RecordDecoder(Pod), clock=LoopClock(), rng=random.Random(7))
            task = asyncio.create_task(informer.run())
            await asyncio.sleep(200)
            failures = informer.statistics().failures
            assert 5 <= failures <= 20, "backs off to thirty seconds and more"
            async with server.listening(port=server.port):
                await asyncio.wait_for(informer.synced(), 61)
                await until(lambda: pods.watching)
                task.cancel()
                await asyncio.wait([task])
            assert list(informer.store.objects) == ["ns/a"]

    run_virtual(story())


def test_a_restarted_server_that_lost_its_past_is_believed() -> None:
    async def story() -> None:
        async with scene("a", "b") as stage:
            await stage.watching()
            stage.pods.version = 10
            stage.pods.objects.clear()
            stage.pods.history.clear()
            stage.pods.put("c")
            await stage.caught_up()
            assert stage.journal.lines[2:] == ["add c", "delete a", "delete b"]
            last = [seen for seen in stage.server.seen if "watch" not in seen.query][-1]
            assert "resourceVersion" not in last.query

    run_virtual(story())


def test_a_version_that_the_server_never_reached_is_let_go() -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            too_large = refuse(504, "Timeout", message="Too large resource version: 101, current: 11")
            stage.server.script.extend([too_large, too_large])
            stage.pods.version = 10
            stage.pods.objects.clear()
            stage.pods.history.clear()
            stage.pods.end()
            await until(lambda: not stage.server.script)
            stage.pods.put("b")
            await stage.caught_up()
            assert sorted(stage.journal.lines[1:]) == ["add b", "delete a"]

    run_virtual(story())


@pytest.mark.parametrize(
    ("answer", "lists"),
    [
        pytest.param(refuse(429, "TooManyRequests"), 1, id="too many requests: the watch is tried again"),
        pytest.param(refuse(503, "ServiceUnavailable"), 1, id="not ready: the watch is tried again"),
        pytest.param(Answer(abort=True), 1, id="cut before the answer: the watch is tried again"),
        pytest.param(refuse(500, "InternalError"), 2, id="a failure of the server: the list is tried"),
        pytest.param(refuse(403, "Forbidden"), 2, id="forbidden: the list is tried"),
        pytest.param(Answer(200, b"not json\n"), 2, id="garbage instead of events: the list is tried"),
    ],
)
def test_refused_watch(answer: Answer, lists: int) -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            stage.server.script.append(answer)
            stage.pods.end()
            await until(lambda: not stage.server.script)
            stage.pods.put("b")
            await stage.caught_up()
            await until(lambda: stage.informer.statistics().lists == lists, seconds=120)

    run_virtual(story())


def test_retry_after_is_respected_when_longer_than_the_back_off() -> None:
    async def story() -> None:
        async with scene("a") as stage:
            await stage.watching()
            stage.server.script.append(refuse(429, "TooManyRequests", retry_after=40))
            before = LoopClock().monotonic()
            stage.pods.end()
            await until(lambda: len(stage.server.seen) == 4)
            assert LoopClock().monotonic() - before >= 40

    run_virtual(story())


def test_a_malformed_object_is_counted_and_the_others_go_on() -> None:
    async def story() -> None:
        async with scene("a", "b") as stage:
            await stage.watching()
            stage.pods.put("a", spec={"nodeName": 17})
            stage.pods.put("c")
            await until(lambda: "c" in stage.journal.copy)
            assert stage.informer.statistics().malformed == 1
            assert stage.informer.last_resource_version == str(stage.pods.version)
            stage.pods.put("a", spec=3)
            stage.pods.delete("a")
            await until(lambda: "a" not in stage.journal.copy)
            assert stage.journal.lines[2:] == ["add c", "delete a"]

    run_virtual(story())


def test_a_malformed_object_in_a_list_hides_no_other() -> None:
    def spoil(_server: FakeServer, pods: FakeResource) -> None:
        pods.put("bad", spec={"nodeName": 17})

    async def story() -> None:
        async with scene("a", before=spoil) as stage:
            await stage.informer.synced()
            assert stage.journal.lines == ["add a initial"]
            assert stage.informer.statistics().malformed == 1

    run_virtual(story())


def test_a_list_that_is_no_list_is_tried_again() -> None:
    def confuse(server: FakeServer, _pods: FakeResource) -> None:
        server.script.append(Answer(200, b"<html>"))

    async def story() -> None:
        async with scene("a", before=confuse) as stage:
            await asyncio.wait_for(stage.informer.synced(), 3)
            assert stage.informer.statistics().failures == 1

    run_virtual(story())


def test_a_failing_handler_ends_the_informer() -> None:
    class Broken(Journal.__base__):  # type: ignore[name-defined,misc]  # plain object, spelled so that it stays local
        def on_add(self, obj: Pod, initial: bool) -> None:
            raise ZeroDivisionError

    async def story() -> None:
        server = FakeServer()
        FakeResource(server, PATH).put("a")
        async with server.listening(), server.client() as client:
            informer = Informer(client, PODS, RecordDecoder(Pod), clock=LoopClock(), rng=random.Random(7))
            informer.add_handler(Broken())
            with pytest.raises(ZeroDivisionError):
                await informer.run()

    run_virtual(story())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd")),
        st.tuples(st.just("delete"), st.sampled_from("abcd")),
        st.tuples(
            st.sampled_from(["cut", "end", "compact", "lose", "garbage", "error", "refuse", "abort", "pause"]),
            st.just(""),
        ),
    ),
    max_size=25,
)


async def play(stage: Scene, step: tuple[str, str]) -> None:
    """One thing that happens to a cluster or to the connection."""
    pods, (what, name) = stage.pods, step
    actions: dict[str, Callable[[], object]] = {
        "put": lambda: pods.put(name),
        "delete": lambda: pods.delete(name) if name in pods.objects else None,
        "cut": pods.cut,
        "lose": pods.lose,
        "end": pods.end,
        "compact": pods.compact,
        "garbage": lambda: pods.send(b'{"type": "ADDED", "object'),
        "error": lambda: pods.error(500, "InternalError"),
        "refuse": lambda: stage.server.script.append(refuse(503, "ServiceUnavailable")),
        "abort": lambda: stage.server.script.append(Answer(abort=True)),
        "pause": lambda: None,
    }
    actions[what]()
    pause: Awaitable[None] = asyncio.sleep(1.0 if what == "pause" else 0)
    await pause


@given(STEPS)
@settings(max_examples=40, deadline=None)
def test_whatever_happens_the_copy_ends_up_right(steps: list[tuple[str, str]]) -> None:
    async def story() -> None:
        async with scene("a", "b") as stage:
            for step in steps:
                await play(stage, step)
            await stage.caught_up()

    run_virtual(story())
