"""Run a command in this process and see what it printed."""

from dataclasses import dataclass
from typing import final

from click.testing import CliRunner

from stowplan.cli.main import main


@final
@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """Lines on standard error."""
        return self.err.splitlines()


def run(*arguments: str, stdin: bytes | None = None) -> Ran:
    """Run `stowplan` with these arguments; an exception that it does not handle is raised here."""
    result = CliRunner(catch_exceptions=False).invoke(main, arguments, input=stdin)
    return Ran(result.exit_code, result.stdout, result.stderr)
