"""Whole files: results in the order of the file, in one process or several, bad lines reported where they stand."""

from pathlib import Path

from stowplan.sim.replaying import CHUNK, Outcome, replay_file
from tests.sim.manifests import CONFIG_WITH_UNKNOWN_PLUGIN, node, pod, scenario, write


def shown(outcomes: list[Outcome]) -> list[str]:
    return [outcome.error if outcome.result is None else outcome.result["id"] for outcome in outcomes]


def test_bad_lines_do_not_stop_the_others(tmp_path: Path) -> None:
    name = write(
        tmp_path / "mixed.jsonl",
        scenario("one", node("a"), pending=[pod("p")]),
        "nonsense",
        "",
        scenario("bad", pending=[], config=CONFIG_WITH_UNKNOWN_PLUGIN),
        scenario("two", pending=[]),
    )

    one, nonsense, config, two = shown(list(replay_file(name)))

    assert ("one", "two") == (one, two)
    assert nonsense.startswith(f"{name}:2: not a scenario: ")
    assert config.startswith(f"{name}:4: ")
    assert 'FilterPlugin "Nope" does not exist' in config


def test_several_processes_keep_the_order(tmp_path: Path) -> None:
    lines = [
        "nonsense" if i % 7 == 3 else scenario(f"s{i}", node("a"), pending=[pod("p")]) for i in range(2 * CHUNK + 5)
    ]
    name = write(tmp_path / "many.jsonl.gz", *lines)

    one, two = list(replay_file(name, jobs=1)), list(replay_file(name, jobs=2))

    assert one == two
    assert [f"s{i}" if i % 7 != 3 else "" for i in range(len(lines))] == [
        "" if outcome.result is None else outcome.result["id"] for outcome in two
    ]


def test_a_file_that_breaks_off_ends_with_an_error(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    write(path, *(scenario(f"s{i}", node(f"a{i * 977}"), pending=[]) for i in range(40)))
    path.write_bytes(path.read_bytes()[:-40])

    for jobs in (1, 2):
        *good, last = list(replay_file(str(path), jobs=jobs))
        assert all(outcome.result is not None for outcome in good)
        assert last.error.endswith("the gzip file is cut short")


def test_a_file_that_is_not_there() -> None:
    assert ["/no/such/file: No such file or directory"] == shown(list(replay_file("/no/such/file")))
