"""Events look as kube-scheduler's, repeats become series, and nobody waits for them."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.meta import ObjectReference
from stowplan.client.events import EventRecorder, cut_note
from stowplan.client.rate import RateLimiter
from tests.client.fake_server import Answer, FakeServer, refuse, status_body
from tests.client.virtual_time import LoopClock, run_virtual, until

PATH = "/apis/events.k8s.io/v1/namespaces/ns/events"
POD = ObjectReference(kind="Pod", namespace="ns", name="p", uid="u", api_version="v1", resource_version="7")


def tell(recorder: EventRecorder, regarding: ObjectReference = POD, **changes: Any) -> None:
    """An event with dull defaults."""
    fields: dict[str, Any] = {
        "controller": "default-scheduler",
        "type_": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "note": "0/1 nodes are available",
    }
    recorder.tell(regarding, **(fields | changes))


async def with_recorder(story: Callable[[FakeServer, EventRecorder], Awaitable[None]], **options: Any) -> None:
    """Run a story with a server and a running recorder."""
    server = FakeServer()
    async with server.listening():
        limiter = options.pop("limiter", None)
        async with server.client(limiter=limiter() if limiter else None) as client:
            recorder = EventRecorder(client, host="host-1", clock=LoopClock(), rng=random.Random(1), **options)
            task = asyncio.create_task(recorder.run())
            try:
                await story(server, recorder)
            finally:
                assert not task.done(), task.exception()
                task.cancel()
                await asyncio.wait([task])


def test_the_body_is_upstreams() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder, type_="Normal", reason="Scheduled", action="Binding", note="Successfully assigned ns/p to n1")
        await recorder.drained()
        (seen,) = server.seen
        body = seen.json
        stamp = body.pop("eventTime")
        name = body["metadata"].pop("name")
        assert (seen.method, seen.path) == ("POST", PATH)
        assert len(stamp) == len("2023-11-14T22:13:20.123456Z")
        assert name.startswith("p.17")
        assert 1.7e18 <= int(name.removeprefix("p."), 16) < 1.7e18 + 1e12
        assert body == {
            "kind": "Event",
            "apiVersion": "events.k8s.io/v1",
            "metadata": {"namespace": "ns"},
            "reportingController": "default-scheduler",
            "reportingInstance": "default-scheduler-host-1",
            "action": "Binding",
            "reason": "Scheduled",
            "regarding": {
                "kind": "Pod",
                "namespace": "ns",
                "name": "p",
                "uid": "u",
                "apiVersion": "v1",
                "resourceVersion": "7",
            },
            "note": "Successfully assigned ns/p to n1",
            "type": "Normal",
            "deprecatedSource": {},
            "deprecatedFirstTimestamp": None,
            "deprecatedLastTimestamp": None,
        }

    run_virtual(with_recorder(story))


def test_a_related_object_is_named() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder, related=ObjectReference(kind="Pod", namespace="ns", name="q", uid="v"))
        await recorder.drained()
        assert server.seen[0].json["related"] == {"kind": "Pod", "namespace": "ns", "name": "q", "uid": "v"}

    run_virtual(with_recorder(story))


def test_repeats_become_a_series_that_is_written_at_the_first_and_when_refreshed() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder)
        await recorder.drained()
        tell(recorder, note="another text")
        await recorder.drained()
        created, patched = server.seen
        assert (patched.method, patched.path) == ("PATCH", f"{PATH}/{created.json['metadata']['name']}")
        assert patched.headers["Content-Type"] == "application/strategic-merge-patch+json"
        assert list(patched.json) == ["series"]
        assert patched.json["series"]["count"] == 2
        for _ in range(29):
            await asyncio.sleep(60)
            tell(recorder)
        assert len(server.seen) == 2
        await asyncio.sleep(120)
        assert server.seen[2].json["series"]["count"] >= 30
        await asyncio.sleep(900)
        assert server.seen[3].json["series"]["count"] == 31, "the last count is written when the series ends"
        assert recorder.statistics().remembered == 0
        tell(recorder)
        await recorder.drained()
        assert server.seen[-1].method == "POST"

    run_virtual(with_recorder(story))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"reason": "Other"}, id="the reason"),
        pytest.param({"action": "Other"}, id="the action"),
        pytest.param({"type_": "Normal"}, id="the type"),
        pytest.param({"controller": "other"}, id="the reporter"),
        pytest.param(
            {"regarding": ObjectReference(kind="Pod", namespace="ns", name="p")}, id="the state of the object"
        ),
        pytest.param({"related": POD}, id="the related object"),
    ],
)
def test_what_makes_another_event(changes: dict[str, Any]) -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder)
        tell(recorder, **changes)
        await recorder.drained()
        first, second = server.requests("POST")
        assert len(server.seen) == 2
        assert first.json["metadata"]["name"] != second.json["metadata"]["name"]

    run_virtual(with_recorder(story))


def test_a_repeat_before_the_first_is_written_still_makes_a_creation_and_a_series() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        for _ in range(5):
            tell(recorder)
        await recorder.drained()
        assert [seen.method for seen in server.seen] == ["POST", "PATCH"]
        assert "series" not in server.seen[0].json
        assert server.seen[1].json["series"]["count"] == 5

    run_virtual(with_recorder(story))


def test_a_series_whose_event_is_gone_is_created_anew() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder)
        await recorder.drained()
        server.script.append(refuse(404, "NotFound"))
        tell(recorder)
        await recorder.drained()
        assert [seen.method for seen in server.seen] == ["POST", "PATCH", "POST"]
        assert server.seen[2].json["series"]["count"] == 2

    run_virtual(with_recorder(story))


@pytest.mark.parametrize(
    ("answers", "want_methods", "want_refused"),
    [
        pytest.param(
            [Answer(abort=True)], ["POST", "POST"], 0, id="a lost connection is tried again after ten seconds"
        ),
        pytest.param([refuse(409, "AlreadyExists")], ["POST"], 0, id="one that exists is left"),
        pytest.param([refuse(403, "Forbidden")], ["POST"], 1, id="a refusal is final"),
        pytest.param([refuse(500, "InternalError")], ["POST"], 1, id="so is a failure of the server"),
        pytest.param([refuse(429, "TooManyRequests", retry_after=2)], ["POST", "POST"], 0, id="unless it says when"),
    ],
)
def test_failures(answers: list[Answer], want_methods: list[str], want_refused: int) -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        server.script.extend(answers)
        tell(recorder)
        await recorder.drained()
        assert want_methods == [seen.method for seen in server.seen]
        assert want_refused == recorder.statistics().refused

    run_virtual(with_recorder(story))


@pytest.mark.parametrize(
    ("causes", "want"),
    [
        pytest.param((), logging.ERROR, id="is an error"),
        pytest.param(({"reason": "NamespaceTerminating"},), logging.DEBUG, id="is none where the namespace goes"),
    ],
)
def test_a_refusal(causes: tuple[Mapping[str, str], ...], want: int, caplog: pytest.LogCaptureFixture) -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        server.script.append(Answer(403, status_body(403, "Forbidden", causes=list(causes))))
        tell(recorder)
        await recorder.drained()

    with caplog.at_level(logging.DEBUG, "stowplan.client.events"):
        run_virtual(with_recorder(story))

    assert [want] == [record.levelno for record in caplog.records if "rejected" in record.message]


def test_an_event_is_given_up_after_twelve_tries() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        server.script.extend([Answer(abort=True)] * 50)
        begun = LoopClock().monotonic()
        tell(recorder)
        await recorder.drained()
        assert len(server.seen) == 12
        assert 110 <= LoopClock().monotonic() - begun <= 140
        assert recorder.statistics().dropped == 1

    run_virtual(with_recorder(story))


def test_when_too_many_wait_the_rest_is_dropped_and_counted() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        for number in range(30):
            tell(recorder, ObjectReference(kind="Pod", namespace="ns", name=f"p{number}"))
        await recorder.drained()
        statistics = recorder.statistics()
        assert (statistics.told, statistics.created, statistics.dropped) == (30, 10, 20)
        assert len(server.seen) == 10

    run_virtual(with_recorder(story, max_pending=10))


def test_telling_never_waits_for_the_rate_limit() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        for number in range(20):
            tell(recorder, ObjectReference(kind="Pod", namespace="ns", name=f"p{number}"))
        begun = LoopClock().monotonic()
        await recorder.drained()
        assert 1.4 <= LoopClock().monotonic() - begun <= 2.5
        names = {seen.json["metadata"]["name"] for seen in server.seen}
        assert len(names) == 20

    run_virtual(with_recorder(story, limiter=lambda: RateLimiter(10, 5, clock=LoopClock())))


def test_what_is_remembered_is_bounded() -> None:
    async def story(_server: FakeServer, recorder: EventRecorder) -> None:
        for number in range(20):
            tell(recorder, ObjectReference(kind="Pod", namespace="ns", name=f"p{number}"))
        await recorder.drained()
        assert recorder.statistics().remembered == 5
        await until(lambda: recorder.statistics().remembered == 0)

    run_virtual(with_recorder(story, max_remembered=5))


def test_an_object_whose_name_makes_no_event_name_gets_a_uuid() -> None:
    async def story(server: FakeServer, recorder: EventRecorder) -> None:
        tell(recorder, ObjectReference(kind="Node", name="system:odd"))
        await recorder.drained()
        assert len(server.seen[0].json["metadata"]["name"]) == 36
        assert server.seen[0].path == "/apis/events.k8s.io/v1/namespaces/default/events"

    run_virtual(with_recorder(story))


@pytest.mark.parametrize(
    ("note", "want"),
    [
        pytest.param("short", "short", id="a short note stays"),
        pytest.param("x" * 1024, "x" * 1024, id="one of just the limit stays"),
        pytest.param("x" * 1025, "x" * 1020 + " ...", id="a longer one is cut"),
        pytest.param("é" * 600, "é" * 510 + " ...", id="bytes count, and no character is cut through"),
    ],
)
def test_cut_note(note: str, want: str) -> None:
    assert want == cut_note(note)


@given(st.text(max_size=1500))
def test_a_cut_note_always_fits(note: str) -> None:
    assert len(cut_note(note).encode(errors="surrogatepass")) <= 1024
