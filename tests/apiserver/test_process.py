"""A server in a process of its own."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from stowplan.apiserver.options import ServerOptions, StartError, User
from stowplan.apiserver.process import decode_options, encode_options, spawn
from tests.apiserver.wire import process


def test_options_survive_the_way_to_the_process(tmp_path: Path) -> None:
    options = ServerOptions(port=1, data_dir=tmp_path, users={"t": User("u", ("g",))}, bookmark_seconds=0.5)

    assert options == decode_options(encode_options(options))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_ends_when_it_is_asked(number: signal.Signals) -> None:
    with process() as (server, wire):
        assert 200 == wire.send("GET", "/version").status
        server.child.send_signal(number)
        assert 0 == server.child.wait(10)


def test_a_server_that_cannot_start_says_why() -> None:
    with process() as (server, _):
        taken = ServerOptions(port=server.ready.port)
        read, write = os.pipe()
        with pytest.raises(StartError, match="ended with status 1"):
            spawn(taken, stderr=write)
        os.close(write)
        with open(read) as said:
            assert f"stowplan apiserver: cannot listen on 127.0.0.1:{taken.port}: the port is taken\n" == said.read()


@pytest.mark.parametrize("text", ["{", '{"port": "x"}', "[]"])
def test_bad_options_are_one_clear_line(text: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "stowplan.apiserver", text], capture_output=True, text=True, timeout=20, check=False
    )

    assert (1, 1) == (ended.returncode, len(ended.stderr.splitlines()))
    assert ended.stderr.startswith("stowplan apiserver: ")
