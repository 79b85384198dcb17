"""Requests arrive as meant, and every failure is a ClientError that names the server."""

import asyncio
import json
import logging
import random
from contextlib import aclosing
from typing import Any, final

import pytest
import uvloop
from aiohttp import web

from stowplan.client import errors
from stowplan.client.connection import Connection
from stowplan.client.credentials import bearer_token
from stowplan.client.rate import RateLimiter
from stowplan.client.transport import STRATEGIC_MERGE_PATCH, ApiClient
from stowplan.clock import SystemClock
from tests.client.fake_server import Answer, FakeServer, abort, refuse
from tests.client.virtual_time import LoopClock, run_virtual


@final
class Observed:
    """Writes down every attempt."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []

    def attempt_done(self, method: str, code: int, seconds: float) -> None:
        """Write it down."""
        assert seconds >= 0
        self.lines.append((method, code))


def test_what_a_request_carries() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client(connection={"credentials": bearer_token("secret")}) as client:
            await client.patch("/a%2Fb", {"x": "é"}, params={"q": "a b&c"}, content_type=STRATEGIC_MERGE_PATCH)
            await client.get_json("/c")
            patch, get = server.seen
            assert (patch.method, patch.path, patch.query) == ("PATCH", "/a/b", {"q": "a b&c"})
            assert patch.json == {"x": "é"}
            assert patch.headers["Content-Type"] == STRATEGIC_MERGE_PATCH
            assert patch.headers["Authorization"] == "Bearer secret"
            assert patch.headers["User-Agent"] == "stowplan"
            assert get.headers["Accept"] == "application/json"
            assert get.headers["Host"] == f"127.0.0.1:{server.port}"
            assert "Content-Type" not in get.headers

    run_virtual(story())


def test_verbs_return_what_the_server_made() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client() as client:
            for verb in (client.post, client.put, client.patch, client.delete):
                server.script.append(Answer(200, {"n": 1}))
                assert await verb("/x", {"a": 1}) == {"n": 1}
            await client.delete("/x")
            assert [seen.method for seen in server.seen] == ["POST", "PUT", "PATCH", "DELETE", "DELETE"]
            assert server.seen[-1].body == b""

    run_virtual(story())


def test_a_server_under_a_path() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening():
            connection = Connection(server=f"{server.url}/k8s/clusters/c-1/")
            async with ApiClient(connection, clock=LoopClock()) as client:
                await client.get_json("/api")
                assert [line async for line in client.stream("/apis")] == [b"{}"]
            assert [seen.path for seen in server.seen] == ["/k8s/clusters/c-1/api", "/k8s/clusters/c-1/apis"]

    run_virtual(story())


@pytest.mark.parametrize(
    ("answers", "want_seconds", "want_error"),
    [
        pytest.param([refuse(429, "TooManyRequests", retry_after=3)] * 2, 6, None, id="429 with a time is retried"),
        pytest.param([refuse(503, "ServiceUnavailable", retry_after=1)], 1, None, id="so is 503"),
        pytest.param([refuse(500, "InternalError", retry_after=1)], 1, None, id="and 500"),
        pytest.param([refuse(503, "ServiceUnavailable", retry_after=999)], 60, None, id="never longer than a minute"),
        pytest.param(
            [refuse(429, "TooManyRequests", retry_after=1)] * 11, 10, errors.TooManyRequests, id="ten times, no more"
        ),
        pytest.param([refuse(429, "TooManyRequests")], 0, errors.TooManyRequests, id="429 without a time is not"),
        pytest.param([refuse(409, "Conflict", retry_after=1)], 0, errors.Conflict, id="a conflict never is"),
        pytest.param([refuse(500, "InternalError")], 0, errors.InternalError, id="nor a plain failure"),
    ],
)
def test_retries_that_the_server_asks_for(
    answers: list[Answer], want_seconds: float, want_error: type[Exception] | None
) -> None:
    async def story() -> None:
        server = FakeServer()
        observed = Observed()
        async with server.listening(), server.client(observer=observed) as client:
            server.script.extend(answers)
            begun = LoopClock().monotonic()
            if want_error is None:
                await client.post("/x", {})
            else:
                with pytest.raises(want_error):
                    await client.post("/x", {})
            assert LoopClock().monotonic() - begun == pytest.approx(want_seconds, abs=0.5)
            assert len(server.seen) == len(observed.lines) == len(answers) + (want_error is None)

    run_virtual(story())


@pytest.mark.parametrize(
    ("answer", "method", "want", "want_text"),
    [
        pytest.param(Answer(abort=True), "POST", errors.ConnectionLost, "connection", id="a cut connection"),
        pytest.param(Answer(delay=100), "POST", errors.RequestTimedOut, "no answer within 60 s", id="no answer"),
        pytest.param(Answer(200, b"<html>"), "POST", errors.BadResponse, "not JSON", id="an answer that is no JSON"),
        pytest.param(Answer(302, b"", {"Location": "/y"}), "GET", errors.ApiError, "302", id="a redirection"),
    ],
)
def test_failures_name_the_server(answer: Answer, method: str, want: type[Exception], want_text: str) -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client() as client:
            server.script.append(answer)
            with pytest.raises(want, match=want_text) as caught:
                await (client.post("/x", {}) if method == "POST" else client.get_json("/x"))
            assert want is type(caught.value)
            assert f"{method} /x ({server.url})" in str(caught.value)
            assert await client.get_json("/again") == {}, "the client goes on"

    run_virtual(story())


def test_a_server_that_is_not_there() -> None:
    async def story() -> None:
        async with ApiClient(Connection(server="http://127.0.0.1:1"), clock=LoopClock()) as client:
            with pytest.raises(errors.Unreachable, match="cannot connect"):
                await client.get_json("/x")
            with pytest.raises(errors.Unreachable, match=r"GET /x \(http://127.0.0.1:1\)"):
                await anext(client.stream("/x"))

    run_virtual(story())


@pytest.mark.parametrize(
    ("method", "want_error"),
    [
        pytest.param("GET", None, id="reading is repeated"),
        pytest.param("POST", errors.ConnectionLost, id="writing is not: the server may have acted"),
    ],
)
def test_a_kept_connection_that_turns_out_to_be_closed(method: str, want_error: type[Exception] | None) -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client() as client:
            await client.get_json("/first")
            server.script.append(Answer(abort=True))
            if want_error is None:
                await client.request(method, "/x")
            else:
                with pytest.raises(want_error):
                    await client.request(method, "/x", body=b"{}")

    run_virtual(story())


def test_connections_are_kept_and_bounded() -> None:
    async def story() -> None:
        server = FakeServer()
        ports: set[int] = set()

        async def note(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            ports.add(request.transport.get_extra_info("peername")[1])
            await asyncio.sleep(0.1)
            return web.json_response({})

        server.routes["/x"] = note
        async with server.listening(), server.client(settings={"max_connections": 3}) as client:
            await asyncio.gather(*(client.get_json("/x") for _ in range(20)))
            assert len(ports) == 3
            await asyncio.sleep(40)
            await client.get_json("/x")
            assert len(ports) == 4, "one that idled too long is not trusted"

    run_virtual(story())


def test_cancelled_requests_leave_the_pool_whole() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client(settings={"max_connections": 2}) as client:
            rng = random.Random(3)
            for _ in range(30):
                server.script.extend([Answer(200, {}, delay=rng.random())] * 4)
                tasks = [asyncio.create_task(client.get_json("/x")) for _ in range(4)]
                await asyncio.sleep(rng.random())
                for task in rng.sample(tasks, 2):
                    task.cancel()
                await asyncio.wait(tasks)
                server.script.clear()
            await asyncio.wait_for(asyncio.gather(*(client.get_json("/x") for _ in range(10))), 5)

    run_virtual(story())


def test_closing_ends_what_is_under_way() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening():
            client = server.client()
            server.script.append(Answer(delay=50))
            task = asyncio.create_task(client.get_json("/x"))
            await asyncio.sleep(1)
            await client.close()
            with pytest.raises(errors.ClientError):
                await task
            with pytest.raises(errors.ClientError, match="closed"):
                await client.get_json("/x")

    run_virtual(story())


def test_every_request_counts_against_the_limit() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client(limiter=RateLimiter(2, 1, clock=LoopClock())) as client:
            begun = LoopClock().monotonic()
            await client.get_json("/x")
            await client.post("/x", {})
            assert [line async for line in client.stream("/x")] == [b"{}"]
            assert LoopClock().monotonic() - begun == pytest.approx(1.0, abs=0.2)

    run_virtual(story())


def stream_of(*pieces: bytes, end: str = "properly") -> Any:
    """A route that sends pieces one by one."""

    async def route(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for piece in pieces:
            await response.write(piece)
            await asyncio.sleep(0.01)
        if end == "cut":
            abort(request)
        if end == "hang":
            await asyncio.sleep(1000)
        return response

    return route


async def lines_of(client: ApiClient, **options: Any) -> list[bytes]:
    """All lines of a stream."""
    lines: list[bytes] = []
    async with aclosing(client.stream("/s", **options)) as stream:
        async for line in stream:
            lines.append(line)  # noqa: PERF401 - what came before a failure is looked at
    return lines


def test_lines_of_a_stream() -> None:
    async def story() -> None:
        server = FakeServer()
        server.routes["/s"] = stream_of(b"a\nb", b"b", b"b\n\n", b"\nc\nd")
        async with server.listening(), server.client() as client:
            assert await lines_of(client) == [b"a", b"bbb", b"c", b"d"]

    run_virtual(story())


@pytest.mark.parametrize(
    ("end", "want"),
    [
        pytest.param("cut", errors.ConnectionLost, id="a stream that is cut"),
        pytest.param("hang", errors.RequestTimedOut, id="a stream that falls silent"),
    ],
)
def test_streams_that_end_badly(end: str, want: type[Exception]) -> None:
    async def story() -> None:
        server = FakeServer()
        server.routes["/s"] = stream_of(b"a\n", end=end)
        async with server.listening(), server.client() as client:
            with pytest.raises(want):
                await lines_of(client, silence_timeout=20.0)

    run_virtual(story())


def test_a_refused_stream() -> None:
    async def story() -> None:
        server = FakeServer()
        async with server.listening(), server.client() as client:
            server.script.append(refuse(410, "Expired"))
            with pytest.raises(errors.WatchExpired):
                await lines_of(client)

    run_virtual(story())


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("ftp://host", id="another scheme"),
        pytest.param("https://", id="no host"),
        pytest.param("https://host:port", id="a port that is no number"),
        pytest.param("https://user:pw@host", id="a password in the address"),
    ],
)
def test_addresses_that_are_refused(server: str) -> None:
    with pytest.raises(errors.ConfigError) as caught:
        ApiClient(Connection(server=server), clock=LoopClock())
    assert "pw" not in str(caught.value)


def test_a_path_that_would_break_the_request_is_misuse() -> None:
    async def story() -> None:
        async with ApiClient(Connection(server="http://127.0.0.1:1"), clock=LoopClock()) as client:
            with pytest.raises(AssertionError):
                await client.get_json("/x HTTP/1.1\r\nX: y")

    run_virtual(story())


def test_through_a_proxy() -> None:
    async def story() -> None:
        proxy = FakeServer()
        async with proxy.listening():
            connection = Connection(server="http://api.example:8080", proxy=proxy.url)
            async with ApiClient(connection, clock=LoopClock()) as client:
                await client.post("/x", {"a": 1})
                proxy.script.append(refuse(404, "NotFound"))
                with pytest.raises(errors.NotFound):
                    await client.get_json("/y")
                assert await lines_of(client) == [b"{}"]
            assert proxy.seen[0].headers["Host"] == "api.example:8080"
            assert [seen.path for seen in proxy.seen] == ["/x", "/y", "/s"]

    run_virtual(story())


def test_a_proxy_that_is_not_there() -> None:
    async def story() -> None:
        connection = Connection(server="http://api.example", proxy="http://127.0.0.1:1")
        async with ApiClient(connection, clock=LoopClock()) as client:
            with pytest.raises(errors.Unreachable):
                await client.get_json("/x")

    run_virtual(story())


def test_secrets_are_in_no_error_and_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        server = FakeServer()
        connection = {"credentials": bearer_token("s3cret"), "proxy": None}
        async with server.listening(), server.client(connection=connection) as client:
            server.script.append(refuse(401, "Unauthorized"))
            with pytest.raises(errors.Unauthorized) as caught:
                await client.get_json("/x")
            assert "s3cret" not in repr(caught.value) + repr(client.connection)

    with caplog.at_level(logging.DEBUG):
        run_virtual(story())
    assert "s3cret" not in caplog.text


def test_under_uvloop() -> None:
    async def story() -> None:
        server = FakeServer()
        server.routes["/s"] = stream_of(b"a\nb\n")
        async with server.listening(), ApiClient(Connection(server=server.url), clock=SystemClock()) as client:
            answers = await asyncio.gather(*(client.post(f"/x{number}", {"n": number}) for number in range(200)))
            assert answers == [{}] * 200
            assert sorted(json.loads(seen.body)["n"] for seen in server.seen) == list(range(200))
            assert await lines_of(client) == [b"a", b"b"]

    uvloop.run(story())
