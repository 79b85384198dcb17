"""Replaying whole files, in several processes, results in the order of the file."""

import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from typing import Final, final

from stowplan.sim.replay import ReplayError, Result, replay
from stowplan.sim.scenario import ScenarioError, decode_scenario
from stowplan.sim.scenario_files import FileError, Line, read_lines

CHUNK: Final = 16
"""Lines handed to a process at once."""


@final
@dataclass(frozen=True, slots=True)
class Outcome:
    """A line's result, or what was wrong with it."""

    result: Result | None
    error: str = ""


def replay_line(line: Line) -> Outcome:
    """Play one line."""
    try:
        return Outcome(replay(decode_scenario(line.data)))
    except (ScenarioError, ReplayError) as error:
        return Outcome(None, f"{line.place}: {error}")
    except Exception as error:  # noqa: BLE001 - whatever goes wrong with one scenario, the others are played
        return Outcome(None, f"{line.place}: {type(error).__name__}: {error}")


def replay_file(name: str, jobs: int | None = None) -> Iterator[Outcome]:
    """Play all lines of a file; a file that breaks off ends with an outcome that says so."""
    jobs = jobs or os.cpu_count() or 1
    lines = _lines(name)
    # a short file is played faster than processes start
    first = list(islice(lines, CHUNK))
    if jobs == 1 or len(first) < CHUNK:
        for line in [*first, *lines]:
            yield line if isinstance(line, Outcome) else replay_line(line)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        batch = first
        while batch:
            good = [line for line in batch if isinstance(line, Line)]
            played = pool.map(replay_line, good, chunksize=CHUNK)
            for line in batch:
                yield line if isinstance(line, Outcome) else next(played)
            batch = list(islice(lines, CHUNK * jobs * 8))


def _lines(name: str) -> Iterator[Line | Outcome]:
    try:
        yield from read_lines(name)
    except FileError as error:
        yield Outcome(None, str(error))
