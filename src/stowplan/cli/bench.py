"""stowplan bench: measure how fast pods are placed."""

import sys

import click
import msgspec

from stowplan.api.errors import QuantityError
from stowplan.cli.terminal import complain, progress
from stowplan.clock import SystemClock
from stowplan.config.errors import ConfigError
from stowplan.framework.plugin import PluginError
from stowplan.sim.benching import measure
from stowplan.sim.scenario import ScenarioError
from stowplan.sim.scenario_files import FileError, read_lines


@click.command("bench")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--percentage",
    type=click.IntRange(0, 100),
    help="Stop at so many percent of the nodes found feasible, as upstream's percentageOfNodesToScore; 0 adapts.",
)
def command(files: tuple[str, ...], percentage: int | None) -> None:
    """Place all pending pods of each scenario in the files and print one JSON line per scenario."""
    failed = False
    with progress("placing") as bar:
        task = bar.add_task("", total=None)
        for name in files:
            try:
                for line in read_lines(name):
                    try:
                        measured = measure(line.data, SystemClock(), percentage=percentage)
                        click.echo(msgspec.json.encode(measured).decode())
                    except (ScenarioError, ConfigError, QuantityError, PluginError) as error:
                        complain(f"{line.place}: {error}")
                        failed = True
                    bar.advance(task)
            except FileError as error:
                complain(str(error))
                failed = True
    sys.exit(1 if failed else 0)
