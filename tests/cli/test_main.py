"""The command line's front door."""

import subprocess
import sys

import pytest

from stowplan import __version__
from stowplan.cli.main import COMMANDS
from tests.cli.running import run


def test_help_names_every_command() -> None:
    ran = run("--help")

    assert 0 == ran.status
    for name, _, what in COMMANDS:
        assert name in ran.out
        assert what.split()[0] in ran.out


@pytest.mark.parametrize("name", ["replay", "explain", "bench"])
def test_every_command_has_help(name: str) -> None:
    ran = run(name, "-h")

    assert 0 == ran.status
    assert f"Usage: main {name}" in ran.out or f"{name} [OPTIONS]" in ran.out


def test_the_version() -> None:
    assert f"stowplan, version {__version__}\n" == run("--version").out


def test_an_unknown_command_is_a_usage_error() -> None:
    ran = run("fly")

    assert 2 == ran.status
    assert "No such command 'fly'" in ran.err


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from click.testing import CliRunner; from stowplan.cli.main import main; "
        "CliRunner().invoke(main, ['--help']); "
        "sys.exit(1 if {'numpy', 'msgspec', 'aiohttp'} & set(sys.modules) else 0)"
    )

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode
