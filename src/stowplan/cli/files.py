"""Files that several commands take."""

import sys
from pathlib import Path

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
