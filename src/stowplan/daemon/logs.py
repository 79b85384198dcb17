"""The log of the process: one line per record on standard error, as text in klog's layout or as JSON.

Upstream: staging/src/k8s.io/component-base/logs, vendor/k8s.io/klog/v2 (v1.36.4).
"""

import fnmatch
import io
import logging
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any, Final, TextIO, final

import msgspec

from stowplan.api.gotext import quote
from stowplan.daemon.options import LoggingOptions

ROOM: Final = "stowplan"
DEBUG_VERBOSITY: Final = 4
"""From this -v on debugging records are shown."""
_SEVERITIES: Final = ((logging.CRITICAL, "F"), (logging.ERROR, "E"), (logging.WARNING, "W"))


def verbosity_needed(level: int) -> int:
    """The -v from which records of a level are shown: INFO always, INFO - n from n on, DEBUG from 4."""
    if level >= logging.INFO:
        return 0
    return DEBUG_VERBOSITY if level == logging.DEBUG else logging.INFO - level


@final
class Logs:
    """The one handler of the process; closing it gives the log back as it was."""

    def __init__(self, options: LoggingOptions, stream: TextIO) -> None:
        self._vmodule = options.vmodule
        self._verbosity = options.verbosity
        self._handler = logging.StreamHandler(stream)
        self._handler.setFormatter(_JsonFormatter() if options.format == "json" else _TextFormatter())
        self._handler.addFilter(self._shows)
        root = logging.getLogger()
        self._before = (root.level, logging.getLogger(ROOM).level)
        root.addHandler(self._handler)
        root.setLevel(logging.WARNING)
        self.set_verbosity(options.verbosity)

    @property
    def verbosity(self) -> int:
        """The -v in force."""
        return self._verbosity

    def set_verbosity(self, verbosity: int) -> None:
        """Show more, or less, from now on."""
        self._verbosity = verbosity
        most = max([verbosity, *(level for _, level in self._vmodule)])
        lowest = logging.DEBUG if most >= DEBUG_VERBOSITY else logging.INFO - most
        logging.getLogger(ROOM).setLevel(min(lowest, logging.INFO - min(most, logging.INFO - 1)))

    def close(self) -> None:
        """Take the handler out again."""
        root = logging.getLogger()
        root.removeHandler(self._handler)
        root.setLevel(self._before[0])
        logging.getLogger(ROOM).setLevel(self._before[1])

    def _shows(self, record: logging.LogRecord) -> bool:
        needed = verbosity_needed(record.levelno)
        if needed <= self._verbosity:
            return True
        name = PurePath(record.filename).stem
        return any(needed <= level and fnmatch.fnmatchcase(name, pattern) for pattern, level in self._vmodule)


class _TextFormatter(logging.Formatter):
    """Lmmdd hh:mm:ss.uuuuuu pid file:line] message key="value"."""

    def format(self, record: logging.LogRecord) -> str:
        severity = next((letter for level, letter in _SEVERITIES if record.levelno >= level), "I")
        when = datetime.fromtimestamp(record.created, UTC)
        line = io.StringIO()
        line.write(f"{severity}{when:%m%d %H:%M:%S.%f} {os.getpid():>7} {record.filename}:{record.lineno}] ")
        line.write(record.getMessage().rstrip("\n"))
        for key, value in _fields(record).items():
            line.write(f" {key}={quote(value) if isinstance(value, str) else value}")
        if record.exc_info and record.exc_info[0] is not None:
            line.write("\n" + self.formatException(record.exc_info))
        return line.getvalue()


class _JsonFormatter(logging.Formatter):
    """Time in milliseconds, caller, message, verbosity or error, and what else is known."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "ts": round(record.created * 1000, 4),
            "caller": f"{record.module}/{record.filename}:{record.lineno}",
            "msg": record.getMessage(),
        }
        # parity: what is an error has no verbosity
        if record.levelno < logging.ERROR:
            entry["v"] = verbosity_needed(record.levelno)
        if record.levelno >= logging.WARNING:
            entry["level"] = record.levelname.lower()
        entry.update(_fields(record))
        if record.exc_info and record.exc_info[1] is not None:
            entry["err"] = str(record.exc_info[1]) or type(record.exc_info[1]).__name__
            entry["stacktrace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry, enc_hook=str).decode()


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    """What was logged as extra={"fields": {...}}."""
    fields = getattr(record, "fields", None)
    return fields if isinstance(fields, Mapping) else {}
