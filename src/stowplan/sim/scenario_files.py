"""Reading files of scenarios, plain or gzip, line by line: a bad line is reported and the others go on."""

import gzip
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from io import BufferedReader
from typing import IO, Final, cast, final

GZIP_MAGIC: Final = b"\x1f\x8b"


class FileError(Exception):
    """Raised when a file cannot be read to its end: the text names the file and the place."""


@final
@dataclass(frozen=True, slots=True)
class Line:
    """A line that is not empty, and where it stands."""

    place: str
    data: bytes


def read_lines(name: str) -> Iterator[Line]:
    """The lines of a file, `-` for standard input. Raises FileError, after the lines that could be read."""
    shown = "standard input" if name == "-" else name
    number = 0
    try:
        with ExitStack() as opened:
            for number, data in enumerate(_open(name, opened), 1):
                if data.strip():
                    yield Line(f"{shown}:{number}", data)
    except OSError as error:
        # gzip.BadGzipFile is one of these
        raise FileError(f"{_after(shown, number)}{error.strerror or error}") from error
    except EOFError as error:
        raise FileError(f"{_after(shown, number)}the gzip file is cut short") from error
    except zlib.error as error:
        raise FileError(f"{_after(shown, number)}the gzip file is damaged ({error})") from error


def _after(shown: str, number: int) -> str:
    return f"{shown}: after line {number}: " if number else f"{shown}: "


def _open(name: str, opened: ExitStack) -> IO[bytes]:
    """The file's bytes, unpacked if need be; whoever closes `opened` closes it."""
    raw: IO[bytes] = sys.stdin.buffer if name == "-" else opened.enter_context(open(name, "rb"))  # noqa: SIM115
    head = raw.peek(2) if isinstance(raw, BufferedReader) else b""
    if head[:2] != GZIP_MAGIC:
        return raw
    return cast(IO[bytes], opened.enter_context(gzip.GzipFile(fileobj=raw)))
