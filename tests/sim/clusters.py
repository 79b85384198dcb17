"""kubectl for tests that need it, and processes that must not be left behind."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest


def require_kubectl() -> None:
    """Skip the test without kubectl; where CI says so, fail instead."""
    if shutil.which("kubectl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("kubectl is not on PATH, and CI=true asks for it")
        pytest.skip("kubectl is not on PATH")


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(line) for line in listed.stdout.split()]
