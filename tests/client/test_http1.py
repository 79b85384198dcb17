"""Answers are read right however they arrive, and wrong ones are refused."""

import asyncio
from itertools import pairwise
from typing import Any, cast, final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.client.errors import BadResponse, ClientError, ConnectionLost, RequestTimedOut
from stowplan.client.http1 import Answer, Http1Connection


@final
class Wire:
    """A transport that goes nowhere."""

    def __init__(self) -> None:
        self.sent = b""
        self.closed = False

    def write(self, data: bytes) -> None:
        """Keep it."""
        self.sent += data

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closed

    def abort(self) -> None:
        """Close it."""
        self.closed = True


async def converse(pieces: list[bytes], *, end: bool = False) -> tuple[Answer, Http1Connection]:
    """Send a request and let the pieces arrive."""
    connection = Http1Connection()
    connection.connection_made(cast("Any", Wire()))
    asking = asyncio.create_task(connection.exchange(b"GET / HTTP/1.1\r\n\r\n", 5.0))
    await asyncio.sleep(0)
    for piece in pieces:
        connection.data_received(piece)
    if end:
        connection.connection_lost(None)
    return await asking, connection


def read(answer: bytes, *, end: bool = False) -> Answer:
    """An answer that arrives at once."""
    return asyncio.run(converse([answer], end=end))[0]


PLAIN = b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}'
CHUNKED = (
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nRetry-After:  5 \r\n\r\n"
    b"3\r\nabc\r\n8;ext=1\r\n\r\n234567\r\n0\r\nTrailer: x\r\n\r\n"
)


@pytest.mark.parametrize(
    ("answer", "end", "want"),
    [
        pytest.param(PLAIN, False, Answer(201, b'{"a":1}'), id="with a length"),
        pytest.param(CHUNKED, False, Answer(200, b"abc\r\n234567", "5"), id="in chunks, with a trailer"),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", False, Answer(204, b""), id="without a body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", False, Answer(200, b""), id="with an empty body"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nall of it", True, Answer(200, b"all of it"), id="up to the end"),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN, False, Answer(201, b'{"a":1}'), id="after an interim one"
        ),
    ],
)
def test_answers(answer: bytes, end: bool, want: Answer) -> None:
    assert want == read(answer, end=end)


@given(st.sampled_from([PLAIN, CHUNKED]), st.lists(st.integers(0, 160), max_size=12))
def test_it_does_not_matter_how_an_answer_is_cut_up(answer: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(min(cut, len(answer)) for cut in cuts), len(answer)]
    pieces = [answer[start:stop] for start, stop in pairwise(places) if start < stop]

    assert read(answer) == asyncio.run(converse(pieces))[0]


@given(st.binary(max_size=120), st.booleans())
def test_garbage_is_an_error_and_nothing_else(garbage: bytes, with_head: bool) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" if with_head else b""
    try:
        answer = read(head + garbage, end=True)
    except ClientError:
        return
    assert answer.status >= 200


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", "not an HTTP answer", id="another protocol"),
        pytest.param(b"x" * 70_000, "does not end", id="a head without an end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", "say its length", id="a length that is no number"
        ),
        pytest.param(PLAIN + b"more", "more after the end", id="more than the length"),
        pytest.param(CHUNKED + b"more", "more after the end", id="more than the chunks"),
        pytest.param(CHUNKED.replace(b"abc\r\n", b"abcd\r\n"), "longer than it says", id="a chunk that is longer"),
        pytest.param(CHUNKED.replace(b"8;", b"-8;"), "negative length", id="a negative chunk"),
        pytest.param(CHUNKED.replace(b"8;", b"zz;"), "its length", id="a chunk without a length"),
        pytest.param(CHUNKED[:80] + b"9" * 2000, "does not end", id="a chunk line without an end"),
    ],
)
def test_answers_that_are_refused(answer: bytes, want: str) -> None:
    with pytest.raises(BadResponse, match=want):
        read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="before the head"),
        pytest.param(PLAIN[:20], id="within the head"),
        pytest.param(PLAIN[:-1], id="within the body"),
        pytest.param(CHUNKED[:-3], id="within the chunks"),
    ],
)
def test_a_connection_that_ends_too_early_is_lost(answer: bytes) -> None:
    with pytest.raises(ConnectionLost):
        read(answer, end=True)


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param(PLAIN, True, id="a plain answer leaves it open"),
        pytest.param(
            PLAIN.replace(b"\r\n\r\n", b"\r\nConnection: Close\r\n\r\n", 1), False, id="the server says close"
        ),
        pytest.param(PLAIN.replace(b"1.1", b"1.0"), False, id="an old protocol"),
    ],
)
def test_whether_a_connection_can_be_used_again(answer: bytes, want: bool) -> None:
    assert want == asyncio.run(converse([answer]))[1].usable


def test_an_answer_that_nobody_asked_for_closes_the_connection() -> None:
    async def story() -> None:
        _, connection = await converse([PLAIN])
        connection.data_received(PLAIN)
        assert not connection.usable
        with pytest.raises(ConnectionLost):
            await connection.exchange(b"GET / HTTP/1.1\r\n\r\n", 5.0)

    asyncio.run(story())


def test_a_request_that_nobody_waits_for_closes_the_connection() -> None:
    async def story() -> None:
        connection = Http1Connection()
        connection.connection_made(cast("Any", Wire()))
        asking = asyncio.create_task(connection.exchange(b"GET / HTTP/1.1\r\n\r\n", 5.0))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert not connection.usable

    asyncio.run(story())


def test_an_answer_that_does_not_come_in_time_closes_the_connection() -> None:
    async def story() -> None:
        connection = Http1Connection()
        connection.connection_made(cast("Any", Wire()))
        with pytest.raises(RequestTimedOut, match=r"no answer within 0\.01 s"):
            await connection.exchange(b"GET / HTTP/1.1\r\n\r\n", 0.01)
        assert not connection.usable

    asyncio.run(story())
