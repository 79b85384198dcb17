"""stowplan bench: a line of figures per scenario."""

import json
from pathlib import Path

from tests.cli.running import run
from tests.sim.manifests import node, pod, scenario, write

FIELDS = [
    *("id", "nodes", "bound", "pods", "scheduled", "unschedulable", "load_seconds", "seconds", "pods_per_second"),
    *("p50_us", "p99_us", "max_rss_mb"),
]
GOOD = scenario("good", node("a"), pending=[pod("p"), pod("q", cpu="9")])


def test_figures_of_every_scenario_of_every_file(tmp_path: Path) -> None:
    one = write(tmp_path / "one.jsonl", GOOD)
    two = write(tmp_path / "two.jsonl.gz", GOOD, GOOD)

    ran = run("bench", one, two, "--percentage", "50")

    assert (0, "") == (ran.status, ran.err)
    figures = [json.loads(line) for line in ran.out.splitlines()]
    assert 3 == len(figures)
    for measured in figures:
        assert FIELDS == list(measured)
        assert ("good", 1, 0, 2, 1, 1) == tuple(measured[field] for field in FIELDS[:6])


def test_bad_input_is_one_line_each_and_the_others_are_measured(tmp_path: Path) -> None:
    name = write(
        tmp_path / "s.jsonl",
        "nonsense",
        scenario("x", node("a"), pending=[pod("p", schedulerName="other")]),
        GOOD,
    )

    ran = run("bench", "/no/such", name)

    assert 1 == ran.status
    assert 1 == len(ran.out.splitlines())
    missing, nonsense, other = ran.complaints
    assert "/no/such: No such file or directory" == missing
    assert nonsense.startswith(f"{name}:1: not a scenario: ")
    assert f"{name}:2: Pod default/p: no profile for scheduler name 'other'" == other


def test_usage_errors() -> None:
    assert 2 == run("bench").status
    assert 2 == run("bench", "x", "--percentage", "101").status
