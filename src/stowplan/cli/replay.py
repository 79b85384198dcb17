"""stowplan replay: play recorded scenarios and report every decision."""

import sys
from collections.abc import Iterator

import click
import msgspec
from rich.text import Text

from stowplan.cli.files import writing
from stowplan.cli.terminal import complain, output, plain_table, progress
from stowplan.sim.replay import Result
from stowplan.sim.replaying import replay_file


@click.command("replay")
@click.argument("scenarios")
@click.option("-o", "--output", "results", metavar="RESULTS", help="Write a JSON line per scenario here; - for stdout.")
@click.option("-j", "--jobs", type=click.IntRange(1), help="Processes to use (default: one per core).")
def command(scenarios: str, results: str | None, jobs: int | None) -> None:
    """Play the SCENARIOS in a file: JSON lines, plain or gzip; - for standard input.

    Without -o the attempts are printed as a table. A line that cannot be played is reported on standard error and the
    others go on; the exit status is then 1.
    """
    table: list[tuple[str | Text, ...]] = []
    failed = 0
    with writing(results) as file, progress("replaying") as bar:
        task = bar.add_task("", total=None)
        for outcome in replay_file(scenarios, jobs):
            bar.advance(task)
            if outcome.result is None:
                failed += 1
                bar.console.print(outcome.error) if bar.console.is_terminal else complain(outcome.error)
            elif file is not None:
                file.write(msgspec.json.encode(outcome.result) + b"\n")
            else:
                table.extend(_rows(outcome.result))
    if file is None and table:
        output().print(plain_table(("SCENARIO", "POD", "RESULT", "SCORE", "WHY"), table, right=("SCORE",)))
    sys.exit(1 if failed else 0)


def _rows(result: Result) -> Iterator[tuple[str | Text, ...]]:
    for attempt in result["attempts"]:
        score, result_text, why = "", Text("pending", "red"), attempt.get("message", "")
        if "node" in attempt:
            result_text = Text(attempt["node"], "green")
            score = str(attempt["totals"][attempt["node"]]) if "totals" in attempt else ""
            why = "" if score else "the only node that fits"
        elif "nominated" in attempt:
            result_text = Text(f"nominated {attempt['nominated']}", "yellow")
            why = f"evicts {', '.join(attempt['victims'])}"
        elif "error" in attempt:
            result_text, why = Text("error", "red"), attempt["error"]
        yield result["id"], attempt["pod"], result_text, score, why
