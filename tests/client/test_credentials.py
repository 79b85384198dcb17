"""Tokens reach the server, rotate with their file, and stay secret."""

import asyncio
import logging
from pathlib import Path

import pytest

from stowplan.client.credentials import TOKEN_FILE_SECONDS, Anonymous, TokenFile, basic_auth, bearer_token
from stowplan.client.errors import CredentialError, Unauthorized
from stowplan.clock import FakeClock
from tests.client.fake_server import FakeServer, refuse
from tests.client.virtual_time import run_virtual


def test_fixed_headers() -> None:
    async def story() -> None:
        assert await Anonymous().authorization() is None
        assert await bearer_token("abc").authorization() == "Bearer abc"
        assert await basic_auth("me", "pässword").authorization() == "Basic bWU6cMOkc3N3b3Jk"
        assert not await bearer_token("abc").refused("Bearer abc")

    asyncio.run(story())


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("", id="nothing"),
        pytest.param("a b", id="a blank"),
        pytest.param("a\r\nX-Evil: 1", id="a line end that would start another header"),
        pytest.param("tökén", id="letters outside ASCII"),
    ],
)
def test_tokens_that_cannot_stand_in_a_header(token: str, tmp_path: Path) -> None:
    with pytest.raises(CredentialError) as caught:
        bearer_token(token)
    assert not token or token not in str(caught.value)
    file = tmp_path / "token"
    file.write_text(token)
    with pytest.raises(CredentialError, match=str(file)):
        asyncio.run(TokenFile(str(file), clock=FakeClock()).authorization())


def test_a_token_file_is_read_again_within_a_minute(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock()
        file = tmp_path / "token"
        file.write_text("one\n")
        credentials = TokenFile(str(file), clock=clock)
        assert await credentials.authorization() == "Bearer one"
        file.write_text("two\n")
        clock.advance(TOKEN_FILE_SECONDS - 1)
        assert await credentials.authorization() == "Bearer one"
        clock.advance(1)
        assert await credentials.authorization() == "Bearer two"

    asyncio.run(story())


def test_an_unreadable_file_leaves_the_old_token(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        clock = FakeClock()
        file = tmp_path / "token"
        file.write_text("s3cret")
        credentials = TokenFile(str(file), clock=clock)
        await credentials.authorization()
        file.unlink()
        clock.advance(TOKEN_FILE_SECONDS)
        assert await credentials.authorization() == "Bearer s3cret"

    with caplog.at_level(logging.DEBUG):
        asyncio.run(story())
    assert "Unable to rotate token" in caplog.text
    assert "s3cret" not in caplog.text


def test_a_file_that_was_never_there(tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match="cannot read the token file"):
        asyncio.run(TokenFile(str(tmp_path / "none"), clock=FakeClock()).authorization())


@pytest.mark.parametrize(
    ("rotated", "want_requests"),
    [
        pytest.param("two", 2, id="a new token is tried at once"),
        pytest.param("one", 1, id="the same token is not tried again"),
    ],
)
def test_401_reads_the_file_again(rotated: str, want_requests: int, tmp_path: Path) -> None:
    async def story() -> None:
        file = tmp_path / "token"
        file.write_text("one")
        server = FakeServer()
        credentials = TokenFile(str(file), clock=FakeClock())
        async with server.listening(), server.client(connection={"credentials": credentials}) as client:
            await client.get_json("/x")
            file.write_text(rotated)
            server.script.append(refuse(401, "Unauthorized"))
            if want_requests == 2:
                await client.post("/x", {})
            else:
                with pytest.raises(Unauthorized):
                    await client.post("/x", {})
            sent = [seen.headers["Authorization"] for seen in server.requests("POST")]
            assert sent == ["Bearer one", "Bearer two"][:want_requests]
            server.script.append(refuse(401, "Unauthorized"))
            file.write_text("three")
            assert [line async for line in client.stream("/s")] == [b"{}"]
            assert server.seen[-1].headers["Authorization"] == "Bearer three"

    run_virtual(story())
