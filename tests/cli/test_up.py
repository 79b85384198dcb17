"""`stowplan up` as a process: what it says, how it ends, and that nothing is left of it."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sim.clusters import children_of, is_alive, require_kubectl

SECONDS = 30.0


@contextmanager
def up(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A running `stowplan up`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stowplan", "up", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def welcome(process: "subprocess.Popen[str]") -> str:
    """What it prints when it is up."""
    assert process.stdout is not None
    text = ""
    deadline = time.monotonic() + SECONDS
    while not text.endswith("--watch\n\n"):
        left = deadline - time.monotonic()
        assert select.select([process.stdout], [], [], max(left, 0))[0], text
        # The text wrapper would hold back what select cannot see.
        read = os.read(process.stdout.fileno(), 4096)
        assert read, process.communicate()[1]
        text += read.decode()
    return text


def command_of(pid: int) -> bytes:
    """The command line of a process, empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def until_gone(pids: list[int]) -> None:
    """Wait for the end of processes."""
    deadline = time.monotonic() + SECONDS
    while any(is_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, f"still there: {[pid for pid in pids if is_alive(pid)]}"
        time.sleep(0.05)


def kubeconfig_of(text: str) -> Path:
    """The file that the welcome names."""
    (line,) = [line for line in text.splitlines() if "export KUBECONFIG=" in line]
    return Path(line.partition("=")[2])


def test_it_says_what_runs_and_ctrl_c_ends_all_of_it() -> None:
    require_kubectl()
    with up("--nodes", "2") as process:
        text = welcome(process)
        pids = children_of(process.pid)
        config = kubeconfig_of(text)
        assert "API server at https://127.0.0.1:" in text
        assert "2 nodes" in text
        assert 3 == len(pids)
        assert 3 == text.count("\n  kubectl ")
        assert "0o600" == oct(config.stat().st_mode & 0o777)
        # a busy machine says what runs before all of it does
        environment = {**os.environ, "KUBECONFIG": str(config)}
        waiting = ["kubectl", "wait", "--for=create", "node/node-0", "node/node-1", "--timeout=20s"]
        subprocess.run(waiting, env=environment, capture_output=True, check=True)
        listed = subprocess.run(
            ["kubectl", "get", "nodes", "-o", "name"], env=environment, capture_output=True, text=True, check=True
        )
        assert ["node/node-0", "node/node-1"] == listed.stdout.split()

        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(SECONDS)
        until_gone(pids)
        assert not config.parent.exists()
        assert "" == process.communicate()[1]


def test_nothing_outlives_a_parent_that_is_killed() -> None:
    with up("--nodes", "1", "--no-scheduler") as process:
        welcome(process)
        pids = children_of(process.pid)
        assert 2 == len(pids)
        process.kill()
        until_gone(pids)


def test_state_survives_under_a_data_folder(tmp_path: Path) -> None:
    require_kubectl()
    data = tmp_path / "data"
    arguments = ("--nodes", "1", "--no-scheduler", "--data-dir", str(data))
    for command, want in (("create", "configmap/kept created"), ("get", "configmap/kept")):
        with up(*arguments) as process:
            config = kubeconfig_of(welcome(process))
            assert data / "kubeconfig" == config
            named = ["configmap", "kept", *(["-o", "name"] if command == "get" else [])]
            done = subprocess.run(
                ["kubectl", "--kubeconfig", str(config), command, *named], capture_output=True, text=True, check=True
            )
            assert want == done.stdout.strip()
            if command == "create":
                locked = refused(*arguments)
                assert f"stowplan up: data folder {data}: locked by process " in locked
            process.send_signal(signal.SIGTERM)
            assert 0 == process.wait(SECONDS)


def refused(*arguments: str, status: int = 1) -> str:
    """The one line of a start that is refused."""
    done = subprocess.run(
        [sys.executable, "-m", "stowplan", "up", *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert status == done.returncode, done.stderr
    assert "" == done.stdout
    (line,) = done.stderr.splitlines()
    return line


def test_a_taken_port_is_one_clear_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        line = refused("--port", str(port), "--no-scheduler")

    assert f"stowplan up: cannot listen on 127.0.0.1:{port}: the port is taken" == line


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param("pools: [{name: a, count: many}]", "pools[0].count: Expected `int`, got `str`", id="a bad count"),
        pytest.param("pools: [{name: a, count: 1", "pool.yaml:1:", id="no YAML"),
    ],
)
def test_a_bad_nodes_file_is_one_clear_line(tmp_path: Path, content: str, want: str) -> None:
    file = tmp_path / "pool.yaml"
    file.write_text(content)

    line = refused("--nodes", str(file), status=2)

    assert line.startswith(f"stowplan up: {file}")
    assert want in line


def test_a_foreign_kubeconfig_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("apiVersion: v1\nclusters: [{name: production}]\n")

    line = refused("--kubeconfig", str(file), status=2)

    assert "the file is there already and is not one of stowplan's" in line
    assert "production" in file.read_text()


def test_a_missing_scheduler_configuration_is_one_clear_line(tmp_path: Path) -> None:
    assert f"stowplan up: {tmp_path}/none: no such file" == refused("--config", f"{tmp_path}/none", status=2)


def test_a_bad_scheduler_configuration_is_one_clear_line(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.yaml"
    file.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nnope: 1\n")

    line = refused("--nodes", "1", "--config", str(file), status=2)

    assert line.startswith(f"stowplan up: {file}")
    assert "nope" in line


def test_nodes_that_are_neither_a_number_nor_a_file_are_one_clear_line() -> None:
    assert "stowplan up: --nodes many: neither a number nor a file that is there" == refused(
        "--nodes", "many", status=2
    )


def test_a_process_that_is_killed_is_started_again_and_that_is_said() -> None:
    with up("--nodes", "1") as process:
        welcome(process)
        (scheduler,) = [pid for pid in children_of(process.pid) if b"scheduler" in command_of(pid)]
        os.kill(scheduler, signal.SIGKILL)

        assert process.stderr is not None
        assert select.select([process.stderr], [], [], SECONDS)[0]
        assert process.stderr.readline().startswith("the scheduler was ended by SIGKILL, starting it again")
        deadline = time.monotonic() + SECONDS
        while not any(b"scheduler" in command_of(pid) for pid in children_of(process.pid) if pid != scheduler):
            assert time.monotonic() < deadline, "no other scheduler was started"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        assert 0 == process.wait(SECONDS)
