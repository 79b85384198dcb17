"""`stowplan apiserver` runs until it is told to end, and says in one line why it cannot start."""

import signal
import subprocess
import sys
from pathlib import Path

SECONDS = 20


def start(folder: Path, *arguments: str) -> "subprocess.Popen[str]":
    """The command in a process of its own."""
    code = "from stowplan.cli.apiserver import command; command()"
    return subprocess.Popen(
        [sys.executable, "-c", code, "--kubeconfig", str(folder / "config"), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_it_says_where_it_listens_and_ends_when_asked(tmp_path: Path) -> None:
    with start(tmp_path, "--port", "0") as running:
        assert running.stdout is not None
        first, second = running.stdout.readline(), running.stdout.readline()
        port = first.strip().rpartition(":")[2]
        with start(tmp_path, "--port", port) as refused:
            _, said = refused.communicate(timeout=SECONDS)
        running.send_signal(signal.SIGINT)
        assert 0 == running.wait(SECONDS)

    assert first.startswith("Kubernetes API on https://127.0.0.1:")
    assert f"  export KUBECONFIG={tmp_path / 'config'}" == second.rstrip()
    assert (1, f"Error: cannot listen on 127.0.0.1:{port}: the port is taken\n") == (refused.returncode, said)
