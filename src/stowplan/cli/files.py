"""Files that several commands take."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from stowplan.cli.terminal import complain


def read_config(filename: str | None) -> bytes | None:
    """The bytes of a configuration file, None without one; ends the command when it cannot be read."""
    if filename is None:
        return None
    try:
        return Path(filename).read_bytes()
    except OSError as error:
        complain(f"{filename}: {error.strerror}")
        sys.exit(2)


@contextmanager
def writing(filename: str | None) -> Iterator[BinaryIO | None]:
    """A file for results, None without one, `-` for standard output; ends the command when it cannot be written."""
    if filename is None:
        yield None
    elif filename == "-":
        yield sys.stdout.buffer
    else:
        try:
            with Path(filename).open("wb") as file:
                yield file
        except OSError as error:
            complain(f"{filename}: {error.strerror}")
            sys.exit(2)
