"""The command line: one sub-command per file, loaded only when it is called, so that help is instant."""

import errno
import importlib
import os
import sys
from typing import Any, Final

import click

from stowplan import __version__
from stowplan.cli.terminal import complain

COMMANDS: Final[tuple[tuple[str, str, str], ...]] = (
    ("replay", "stowplan.cli.replay", "Play recorded scenarios and report every decision."),
    ("explain", "stowplan.cli.explain", "Say why a pod goes where it goes, or why it cannot."),
    ("bench", "stowplan.cli.bench", "Measure how fast pods are placed."),
    ("scheduler", "stowplan.cli.scheduler", "Schedule a real cluster: a drop-in for kube-scheduler."),
    ("up", "stowplan.cli.up", "Run a cluster on this machine, with simulated nodes."),
    ("apiserver", "stowplan.cli.apiserver", "Run the embedded API server alone."),
)
"""Name, module, what it does."""


class LazyGroup(click.Group):
    """Imports a command's module when the command is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the table."""
        return [name for name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - see above
        """The command of a name."""
        for name, module, _ in COMMANDS:
            if name == cmd_name:
                command: click.Command = importlib.import_module(module).command
                return command
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - see above
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, what) for name, _, what in COMMANDS])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what was printed must have arrived."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            complain(f"standard output: {error.strerror}")
            # what is left in the buffer has nowhere to go
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(2)
        return result


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="stowplan")
def main() -> None:
    """Stowplan: a Kubernetes scheduler that explains every decision."""
