"""The log: layout, verbosity, patterns, and that it leaves no trace."""

import io
import json
import logging
import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from stowplan.daemon.logs import Logs
from stowplan.daemon.options import LoggingOptions

LOG = logging.getLogger("stowplan.somewhere")
HEAD = r"\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ test_logs\.py:\d+\] "


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    with io.StringIO() as text:
        yield text


@pytest.mark.parametrize(
    ("level", "letter"),
    [
        pytest.param(logging.INFO, "I", id="information"),
        pytest.param(logging.WARNING, "W", id="a warning"),
        pytest.param(logging.ERROR, "E", id="an error"),
        pytest.param(logging.CRITICAL, "F", id="the end"),
    ],
)
def test_text(stream: io.StringIO, level: int, letter: str) -> None:
    with closing(Logs(LoggingOptions(), stream)):
        LOG.log(level, "Bound %s", "web", extra={"fields": {"node": 'a"b', "seconds": 2}})

    assert re.fullmatch(letter + HEAD + r'Bound web node="a\\"b" seconds=2\n', stream.getvalue())


def test_json(stream: io.StringIO) -> None:
    with closing(Logs(LoggingOptions(format="json", verbosity=2), stream)):
        LOG.info("Bound %s", "web", extra={"fields": {"node": "a"}})
        LOG.log(logging.INFO - 2, "detail")
        try:
            raise ValueError("broken")
        except ValueError:
            LOG.exception("Failed")

    bound, detail, failed = map(json.loads, stream.getvalue().splitlines())
    assert ("Bound web", "a", 0) == (bound["msg"], bound["node"], bound["v"])
    assert 1e12 < bound["ts"] < 1e14
    assert 2 == detail["v"]
    assert ("Failed", "broken", None) == (failed["msg"], failed["err"], failed.get("v"))
    assert "ValueError: broken" in failed["stacktrace"]


@pytest.mark.parametrize(
    ("verbosity", "want"),
    [
        pytest.param(0, "info", id="without -v there is information"),
        pytest.param(2, "info 2", id="-v=2 adds what is of level 2"),
        pytest.param(4, "info 2 4 debug", id="-v=4 adds debugging"),
        pytest.param(5, "info 2 4 5 debug", id="-v=5 adds more"),
        pytest.param(12, "info 2 4 5 debug 12", id="a lot"),
    ],
)
def test_verbosity(stream: io.StringIO, verbosity: int, want: str) -> None:
    with closing(Logs(LoggingOptions(verbosity=verbosity), stream)):
        LOG.info("info")
        for level in (2, 4, 5):
            LOG.log(logging.INFO - level, "%d", level)
        LOG.debug("debug")
        LOG.log(logging.INFO - 12, "12")

    assert want.split() == [line.split("] ")[1] for line in stream.getvalue().splitlines()]


def test_verbosity_while_running(stream: io.StringIO) -> None:
    with closing(Logs(LoggingOptions(), stream)) as logs:
        LOG.debug("before")
        logs.set_verbosity(4)
        LOG.debug("while")
        logs.set_verbosity(0)
        LOG.debug("after")

    assert ["while"] == re.findall(r"\] (\w+)", stream.getvalue())


def test_patterns(stream: io.StringIO) -> None:
    with closing(Logs(LoggingOptions(vmodule=(("test_lo*", 4),)), stream)):
        LOG.debug("here")
    with closing(Logs(LoggingOptions(vmodule=(("other", 4),)), stream)):
        LOG.debug("there")

    assert ["here"] == re.findall(r"\] (\w+)", stream.getvalue())


def test_other_peoples_information_is_left_out(stream: io.StringIO) -> None:
    with closing(Logs(LoggingOptions(verbosity=9), stream)):
        logging.getLogger("somebody").info("chatter")
        logging.getLogger("somebody").warning("trouble")

    assert ["trouble"] == re.findall(r"\] (\w+)", stream.getvalue())


def test_it_leaves_no_trace(stream: io.StringIO) -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), logging.getLogger("stowplan").level)
    Logs(LoggingOptions(verbosity=5), stream).close()

    assert before == (root.level, list(root.handlers), logging.getLogger("stowplan").level)
