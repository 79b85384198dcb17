"""What commands print with: colours and progress on a terminal, plain text when piped."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text


def output() -> Console:
    """Standard output; as wide as the text when it is no terminal, so that nothing wraps in a pipe."""
    console = Console(highlight=False, soft_wrap=True)
    return console if console.is_terminal else Console(highlight=False, soft_wrap=True, width=10_000)


def errors() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def complain(text: str) -> None:
    """One line on standard error."""
    print(text, file=sys.stderr)  # noqa: T201 - this is where commands print


def progress(what: str) -> Progress:
    """A progress display on standard error that vanishes when done and does not appear in a pipe."""
    console = errors()
    return Progress(
        SpinnerColumn(),
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def plain_table(headers: Sequence[str], rows: Iterable[Sequence[str | Text]], *, right: Sequence[str] = ()) -> Table:
    """A table as kubectl prints it: capital headers, no lines; `right` names columns of numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for header in headers:
        table.add_column(header, justify="right" if header in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table
