"""stowplan replay: results, exit statuses, bad input."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.sim.manifests import CONFIG_WITH_UNKNOWN_PLUGIN, Document, likes, node, pod, scenario, write

GOOD = scenario("good", node("a"), node("b", cpu="2"), pending=[pod("p"), pod("q", cpu="9")])


def test_attempts_as_a_table(tmp_path: Path) -> None:
    weak = pod("weak", cpu="4", nodeName="a", priority=0)
    name = write(
        tmp_path / "s.jsonl",
        GOOD,
        scenario(
            "room", node("a"), weak, pending=[pod("strong", cpu="4", priority=9), pod("x", schedulerName="other")]
        ),
    )

    ran = run("replay", name)

    assert (0, "") == (ran.status, ran.err)
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["SCENARIO", "POD", "RESULT", "SCORE", "WHY"] == rows[0]
    assert ["good", "default/p", "a"] == rows[1][:3]
    assert rows[1][3].isdigit()
    assert ["good", "default/q", "pending", "0/2", "nodes"] == rows[2][:5]
    assert ["room", "default/strong", "nominated", "a", "evicts", "default/weak"] == rows[3]
    assert ["room", "default/strong", "a", "the", "only"] == rows[4][:5]
    assert ["room", "default/x", "error", "no", "profile"] == rows[5][:5]


@pytest.mark.parametrize("packed", [False, True])
def test_results_to_a_file_and_to_a_pipe(tmp_path: Path, packed: bool) -> None:
    name = write(tmp_path / ("s.jsonl.gz" if packed else "s.jsonl"), GOOD)
    results = tmp_path / "results.jsonl"

    to_file = run("replay", name, "-o", str(results), "-j", "1")
    to_pipe = run("replay", name, "-o", "-")

    assert (0, "", "") == (to_file.status, to_file.out, to_file.err)
    assert results.read_text() == to_pipe.out
    (result,) = [json.loads(line) for line in to_pipe.out.splitlines()]
    assert ("good", "a") == (result["id"], result["attempts"][0]["node"])


@pytest.mark.parametrize("packed", [False, True])
def test_scenarios_from_a_pipe(packed: bool) -> None:
    data = json.dumps(GOOD).encode()
    command = [sys.executable, "-m", "stowplan", "replay", "-", "-o", "-"]

    done = subprocess.run(
        command, input=gzip.compress(data) if packed else data, capture_output=True, timeout=60, check=True
    )

    assert b"" == done.stderr
    assert "good" == json.loads(done.stdout)["id"]


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        pytest.param("nonsense", ":2: not a scenario: ", id="a line that is no JSON"),
        pytest.param("{}", ":2: not a scenario: Object missing required field `id`", id="a line that is no scenario"),
        pytest.param(
            scenario("x", pending=[pod("p", cpu="1x")]),
            ":2: pending[0]: Pod default/p: spec.containers[0].resources.requests[cpu]: ",
            id="a pod with a malformed quantity",
        ),
        pytest.param(
            scenario("x", pending=[likes("pod")]),
            ":2: pending[0]: Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            '[0].labelSelector.matchExpressions[0].operator: "Likes" is none of ',
            id="a selector with an unknown operator",
        ),
        pytest.param(
            scenario("x", pending=[], config=CONFIG_WITH_UNKNOWN_PLUGIN),
            ":2: configuration: initializing profiles: creating profile for scheduler name default-scheduler: "
            'FilterPlugin "Nope" does not exist',
            id="a configuration with an unknown plugin",
        ),
        pytest.param('{"id":"d","objects":[' + "[" * 99_999 + "]}", ":2: not a scenario: ", id="hostile nesting"),
    ],
)
def test_bad_input_is_one_line_and_the_others_are_played(tmp_path: Path, bad: Document | str, want: str) -> None:
    name = write(tmp_path / "s.jsonl", GOOD, bad, scenario("last", pending=[]))

    ran = run("replay", name, "-o", "-")

    (complaint,) = ran.complaints
    assert complaint.startswith(f"{name}{want}")
    assert (1, ["good", "last"]) == (ran.status, [json.loads(line)["id"] for line in ran.out.splitlines()])


def test_a_truncated_file_is_one_line_after_what_could_be_played(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    write(path, *(scenario(f"s{i}", node(f"n{i * 7919}"), pending=[]) for i in range(50)))
    path.write_bytes(path.read_bytes()[:-60])

    ran = run("replay", str(path), "-o", "-")

    assert 1 == ran.status
    played = len(ran.out.splitlines())
    assert 0 < played < 50
    assert [f"{path}: after line {played}: the gzip file is cut short"] == ran.complaints


@pytest.mark.parametrize(
    ("arguments", "status", "want"),
    [
        pytest.param(["/no/such"], 1, "/no/such: No such file or directory", id="no scenarios"),
        pytest.param(["-", "-o", "/no/such/file"], 2, "/no/such/file: No such file or directory", id="no results"),
    ],
)
def test_files_that_are_not_there(arguments: list[str], status: int, want: str) -> None:
    ran = run("replay", *arguments, stdin=b"")

    assert (status, [want]) == (ran.status, ran.complaints)


@pytest.mark.parametrize("arguments", [[], ["-", "-j", "0"], ["a", "b"]])
def test_usage_errors(arguments: list[str]) -> None:
    ran = run("replay", *arguments)

    assert 2 == ran.status
    assert "Usage: " in ran.err


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["-o", "/dev/full"], "/dev/full: No space left on device", id="the results have no room"),
        pytest.param(["-o", "-"], "standard output: No space left on device", id="what takes the results is full"),
        pytest.param([], "standard output: No space left on device", id="what takes the table is full"),
    ],
)
def test_a_full_disk_is_one_line(tmp_path: Path, arguments: list[str], want: str) -> None:
    name = write(tmp_path / "s.jsonl", GOOD)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "stowplan", "replay", name, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )

    assert (2, want + "\n") == (done.returncode, done.stderr.decode())
