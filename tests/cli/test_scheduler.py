"""`stowplan scheduler`: what it prints when it does not run."""

import pytest

from tests.cli.running import run


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--foo"], "Error: unknown flag: --foo\n", id="an unknown flag"),
        pytest.param(["-q"], "Error: unknown shorthand flag: 'q' in -q\n", id="an unknown letter"),
        pytest.param(
            ["now"], 'Error: "stowplan scheduler" does not take any arguments, got ["now"]\n', id="an argument"
        ),
        pytest.param(["--feature-gates=Foo=true"], "Error: unrecognized feature gate: Foo\n", id="an unknown gate"),
    ],
)
def test_refused(arguments: list[str], want: str) -> None:
    ran = run("scheduler", *arguments)

    assert 1 == ran.status
    assert want + "See 'stowplan scheduler --help' for usage.\n" == ran.err
    assert "" == ran.out


def test_help() -> None:
    ran = run("scheduler", "--help")

    assert 0 == ran.status
    assert "Usage:\n  stowplan scheduler [flags]\n" in ran.out
    assert "Leader election flags:\n" in ran.out


@pytest.mark.parametrize(
    ("flag", "want"),
    [
        pytest.param("--version", "Kubernetes v1.36.4 (stowplan ", id="the version people grep for"),
        pytest.param("--version=raw", "stowplan=", id="all versions"),
    ],
)
def test_version(flag: str, want: str) -> None:
    ran = run("scheduler", flag)

    assert 0 == ran.status
    assert ran.out.startswith(want)


@pytest.mark.parametrize(
    ("flag", "want"),
    [
        pytest.param("--kubeconfig=/nowhere/at/all", "/nowhere/at/all", id="a kubeconfig that is not there"),
        pytest.param("--config=/nowhere/at/all", "/nowhere/at/all", id="a configuration that is not there"),
        pytest.param("--plugin=nowhere_at_all:X", "there is no module 'nowhere_at_all' to import", id="a plugin"),
    ],
)
def test_a_start_that_fails_says_why(flag: str, want: str) -> None:
    ran = run("scheduler", flag, "--secure-port=0")

    assert 1 == ran.status
    assert want in ran.err
    assert "Traceback" not in ran.err
