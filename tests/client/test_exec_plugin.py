"""Exec plugins are asked as client-go asks them, once, and again when needed."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from stowplan.client.errors import ConfigError, CredentialError, Unauthorized
from stowplan.client.exec_plugin import ExecCredentials, ExecPlugin
from stowplan.client.tls import TlsSettings
from stowplan.clock import FakeClock, SystemClock
from tests.client.certificates import Authority, server_context
from tests.client.fake_server import FakeServer, refuse

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"

PROGRAM = """
import json, os, pathlib, sys
place = pathlib.Path(sys.argv[1])
calls = place / "calls"
number = len(calls.read_text()) if calls.exists() else 0
calls.write_text("x" * (number + 1))
(place / "asked").write_text(os.environ["KUBERNETES_EXEC_INFO"])
(place / "variable").write_text(os.environ.get("EXTRA", ""))
answers = json.loads((place / "answers").read_text())
print(answers[min(number, len(answers) - 1)])
"""


def plugin(folder: Path, *answers: Any, **changes: Any) -> ExecPlugin:
    """A plugin that gives these answers, one per call."""
    (folder / "program.py").write_text(PROGRAM)
    (folder / "answers").write_text(json.dumps([a if isinstance(a, str) else json.dumps(a) for a in answers]))
    fields: dict[str, Any] = {
        "api_version": V1,
        "command": sys.executable,
        "arguments": (str(folder / "program.py"), str(folder)),
        "interactive_mode": "Never",
    }
    return ExecPlugin(**(fields | changes))


def credential(status: dict[str, Any] | None, version: str = V1) -> dict[str, Any]:
    """What a plugin prints."""
    return {"kind": "ExecCredential", "apiVersion": version, "status": status}


def credentials(plug: ExecPlugin, clock: FakeClock | None = None) -> ExecCredentials:
    """Credentials by a plugin."""
    return ExecCredentials(plug, environment=os.environ, clock=clock or FakeClock())


def test_the_plugin_is_told_what_it_may_know(tmp_path: Path) -> None:
    plug = plugin(
        tmp_path,
        credential({"token": "t"}),
        environment={"EXTRA": "given"},
        cluster={"server": "https://api", "config": None},
    )

    assert asyncio.run(credentials(plug).authorization()) == "Bearer t"
    assert json.loads((tmp_path / "asked").read_text()) == {
        "kind": "ExecCredential",
        "apiVersion": V1,
        "spec": {"interactive": False, "cluster": {"server": "https://api", "config": None}},
    }
    assert (tmp_path / "variable").read_text() == "given"


def test_asked_once_until_it_expires(tmp_path: Path) -> None:
    async def story() -> None:
        clock = FakeClock(1_700_000_000.0)
        who = credentials(
            plugin(
                tmp_path,
                credential({"token": "a", "expirationTimestamp": "2023-11-14T22:14:20Z"}),
                credential({"token": "b"}),
            ),
            clock,
        )
        assert set(await asyncio.gather(*(who.authorization() for _ in range(10)))) == {"Bearer a"}
        assert who.calls == 1
        clock.advance(60)
        assert await who.authorization() == "Bearer a"
        clock.advance(1)
        assert await who.authorization() == "Bearer b"
        clock.advance(1e9)
        assert await who.authorization() == "Bearer b"
        assert who.calls == 2

    asyncio.run(story())


def test_asked_again_when_refused(tmp_path: Path) -> None:
    async def story() -> None:
        server = FakeServer()
        who = credentials(plugin(tmp_path, *(credential({"token": token}) for token in ("a", "b", "b"))))
        async with server.listening():
            client = server.client(connection={"credentials": who})
            async with client:
                server.script.append(refuse(401, "Unauthorized"))
                await client.get_json("/x")
                assert [seen.headers["Authorization"] for seen in server.seen] == ["Bearer a", "Bearer b"]
                server.script.append(refuse(401, "Unauthorized"))
                with pytest.raises(Unauthorized):
                    await client.get_json("/x")
                assert who.calls == 3
                assert len(server.seen) == 3

    asyncio.run(story())


def test_many_refused_at_once_ask_once(tmp_path: Path) -> None:
    async def story() -> None:
        who = credentials(plugin(tmp_path, *(credential({"token": token}) for token in "abcdef")))
        old = await who.authorization()
        assert all(await asyncio.gather(*(who.refused(old) for _ in range(8))))
        assert who.calls == 2

    asyncio.run(story())


def test_a_certificate_of_a_plugin_is_shown_and_rotates(tmp_path: Path) -> None:
    async def shown(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        subject = request.transport.get_extra_info("ssl_object").getpeercert()["subject"]
        return web.json_response({"user": subject[0][0][1]})

    async def story() -> None:
        authority = Authority()
        answers = []
        for name in ("first", "second"):
            pair = authority.issue(name)
            data = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
            answers.append(credential(data | {"expirationTimestamp": "2023-11-14T22:14:20Z"}))
        clock = FakeClock(1_700_000_000.0)
        who = credentials(plugin(tmp_path, *answers), clock)
        server = FakeServer()
        server.routes["/who"] = shown
        context = server_context(authority, authority.issue("s", "127.0.0.1"), tmp_path, ask_client=True)
        async with server.listening(tls=context):
            connection = {"credentials": who, "tls": TlsSettings(ca_data=authority.certificate)}
            async with server.client(connection=connection) as client:
                assert await client.get_json("/who") == {"user": "first"}
                assert await client.get_json("/who") == {"user": "first"}
                clock.advance(61)
                assert await client.get_json("/who") == {"user": "second"}

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param("no json s3cret", "not an ExecCredential", id="no JSON"),
        pytest.param(credential(None), "did not return a status", id="no status"),
        pytest.param(credential({}), "neither a token nor", id="an empty status"),
        pytest.param(credential({"clientKeyData": "s3cret"}), "not both", id="a key without a certificate"),
        pytest.param(credential({"token": "t"}, V1BETA1), "answered as", id="another version"),
        pytest.param(credential({"token": "s3cret\n"}), "characters", id="a token with a line end"),
    ],
)
def test_answers_that_cannot_be_used(answer: Any, want: str, tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match=want) as caught:
        asyncio.run(credentials(plugin(tmp_path, answer)).authorization())
    assert "s3cret" not in str(caught.value)
    assert sys.executable in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"arguments": ("-c", "import sys; sys.exit('no luck')")}, "status 1: no luck", id="it fails"),
        pytest.param({"command": "/nowhere/plugin", "install_hint": "get it"}, "cannot be run.*get it", id="missing"),
    ],
)
def test_programs_that_fail(changes: dict[str, Any], want: str, tmp_path: Path) -> None:
    with pytest.raises(CredentialError, match=want):
        asyncio.run(credentials(plugin(tmp_path, credential({"token": "t"}), **changes)).authorization())


def test_a_program_that_hangs_is_ended_when_nobody_waits_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        note = f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))"
        script = f"import os, time, pathlib; {note}; time.sleep(99)"
        who = ExecCredentials(
            plugin(tmp_path, "", arguments=("-c", script)), environment=os.environ, clock=SystemClock()
        )
        asking = asyncio.create_task(who.authorization())
        pid = tmp_path / "pid"
        while not (pid.exists() and pid.read_text()):
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait([asking])
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({"api_version": "client.authentication.k8s.io/v1alpha1"}, "not supported", id="an old version"),
        pytest.param({"interactive_mode": "Always"}, "needs a terminal", id="one that wants a terminal"),
        pytest.param({"interactive_mode": ""}, "is missing", id="v1 without a mode"),
        pytest.param({"interactive_mode": "Perhaps"}, "'Perhaps' should be", id="an unknown mode"),
        pytest.param({"interactive_mode": "", "api_version": V1BETA1}, None, id="v1beta1 may leave it out"),
    ],
)
def test_descriptions_are_checked(changes: dict[str, Any], want: str | None, tmp_path: Path) -> None:
    plug = plugin(tmp_path, "", **changes)
    if want is None:
        plug.check()
    else:
        with pytest.raises(ConfigError, match=want):
            plug.check()
