"""Servers are trusted as configured, and our certificate follows its files."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stowplan.client import errors
from stowplan.client.tls import FILE_CHECK_SECONDS, ClientCertificate, TlsContexts, TlsSettings, build_context
from stowplan.clock import FakeClock
from tests.client.certificates import Authority, server_context
from tests.client.fake_server import FakeServer
from tests.client.virtual_time import LoopClock


async def who(request: web.Request) -> web.StreamResponse:
    """Says whose certificate was shown."""
    assert request.transport is not None
    shown = request.transport.get_extra_info("ssl_object").getpeercert() or {}
    names = dict(part[0] for part in shown.get("subject", ()))
    return web.json_response({"user": names.get("commonName")})


async def ask(folder: Path, authority: Authority, **tls: Any) -> object:
    """Ask a TLS server for `127.0.0.1` and `api.internal` who we are, by request and by stream."""
    server = FakeServer()
    server.routes["/who"] = who
    context = server_context(authority, authority.issue("server", "127.0.0.1", "api.internal"), folder, ask_client=True)
    async with server.listening(tls=context), server.client(connection={"tls": TlsSettings(**tls)}) as client:
        answer = await client.get_json("/who")
        streamed = [line async for line in client.stream("/who")]
        assert len(streamed) == 1
        return answer


def test_trusts_the_authority_it_is_given(tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "ca.crt").write_bytes(authority.certificate)

    assert asyncio.run(ask(tmp_path, authority, ca_data=authority.certificate)) == {"user": None}
    assert asyncio.run(ask(tmp_path, authority, ca_file=str(tmp_path / "ca.crt"))) == {"user": None}


def test_shows_its_certificate(tmp_path: Path) -> None:
    authority = Authority()
    user = authority.issue("system:kube-scheduler")
    (tmp_path / "user.crt").write_bytes(user.certificate)
    (tmp_path / "user.key").write_bytes(user.key)
    inline: dict[str, Any] = {"certificate_data": user.certificate, "key_data": user.key}
    files: dict[str, Any] = {"certificate_file": str(tmp_path / "user.crt"), "key_file": str(tmp_path / "user.key")}

    for shown in (inline, files):
        answer = asyncio.run(ask(tmp_path, authority, ca_data=authority.certificate, **shown))
        assert answer == {"user": "system:kube-scheduler"}
    assert user.key.decode() not in repr(TlsSettings(**inline))


@pytest.mark.parametrize(
    ("trust", "want"),
    [
        pytest.param({}, errors.Unreachable, id="an authority that nobody knows"),
        pytest.param({"ca_data": Authority("other").certificate}, errors.Unreachable, id="the wrong authority"),
        pytest.param({"server_name": "other.internal"}, errors.Unreachable, id="the wrong name"),
        pytest.param({"server_name": "api.internal"}, None, id="another of its names"),
        pytest.param({"insecure": True}, None, id="no check when told so"),
    ],
)
def test_what_is_not_trusted(trust: dict[str, Any], want: type[Exception] | None, tmp_path: Path) -> None:
    authority = Authority()
    if "server_name" in trust:
        trust = trust | {"ca_data": authority.certificate}
    if want is None:
        assert asyncio.run(ask(tmp_path, authority, **trust)) == {"user": None}
    else:
        with pytest.raises(want, match="certificate is not trusted"):
            asyncio.run(ask(tmp_path, authority, **trust))


@pytest.mark.parametrize(
    ("settings", "want", "want_text"),
    [
        pytest.param({"ca_data": b"no"}, errors.ConfigError, "not PEM", id="an authority that is no PEM"),
        pytest.param({"ca_file": "/nowhere/ca"}, errors.ConfigError, "/nowhere/ca", id="a file that is not there"),
        pytest.param({"certificate_data": b"x"}, errors.ConfigError, "key is missing", id="a certificate alone"),
        pytest.param({"key_data": b"x"}, errors.ConfigError, "certificate is missing", id="a key alone"),
        pytest.param(
            {"certificate_data": b"x", "key_data": b"s3cret"}, errors.CredentialError, "not usable", id="neither is PEM"
        ),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], want: type[Exception], want_text: str) -> None:
    with pytest.raises(want, match=want_text) as caught:
        build_context(TlsSettings(**settings))
    assert "s3cret" not in str(caught.value)


def test_a_key_of_another_certificate_is_refused() -> None:
    authority = Authority()
    one, other = authority.issue("a"), authority.issue("b")

    with pytest.raises(errors.CredentialError, match="not usable together"):
        build_context(TlsSettings(certificate_data=one.certificate, key_data=other.key))


def test_the_context_changes_with_its_files_and_with_the_certificate_of_a_plugin(tmp_path: Path) -> None:
    authority = Authority()
    ca = tmp_path / "ca.crt"
    ca.write_bytes(authority.certificate)
    clock = FakeClock()
    contexts = TlsContexts(TlsSettings(ca_file=str(ca)), clock=clock)
    first = contexts.current()
    assert contexts.current() is first

    rotated = tmp_path / "new"
    rotated.write_bytes(Authority().certificate)
    os.replace(rotated, ca)
    assert contexts.current() is first, "files are looked at once a minute"
    clock.advance(FILE_CHECK_SECONDS)
    second = contexts.current()
    assert second is not first
    clock.advance(FILE_CHECK_SECONDS)
    assert contexts.current() is second

    pair = authority.issue("plugin")
    certificate = ClientCertificate(certificate=pair.certificate, key=pair.key)
    third = contexts.current(certificate)
    assert third is not second
    assert contexts.current(certificate) is third
    assert pair.key.decode() not in repr(certificate)


def test_a_rotated_authority_is_used_without_a_restart(tmp_path: Path) -> None:
    async def story() -> None:
        old, new = Authority("old"), Authority("new")
        ca = tmp_path / "ca.crt"
        ca.write_bytes(new.certificate)
        server = FakeServer()
        context = server_context(new, new.issue("server", "127.0.0.1"), tmp_path)
        async with server.listening(tls=context):
            clock = FakeClock(LoopClock().now())
            client = server.client(connection={"tls": TlsSettings(ca_file=str(ca))})
            client._clock = client._pool._clock = client._tls._clock = clock  # type: ignore[union-attr]
            async with client:
                await client.get_json("/x")
                ca.write_bytes(old.certificate)
                os.utime(ca, (1, 1))
                clock.advance(FILE_CHECK_SECONDS)
                with pytest.raises(errors.Unreachable):
                    await client.get_json("/x")
                ca.write_bytes(new.certificate)
                os.utime(ca, (2, 2))
                clock.advance(FILE_CHECK_SECONDS)
                await client.get_json("/x")

    asyncio.run(story())
