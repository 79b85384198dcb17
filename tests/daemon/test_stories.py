"""What is written to the API is what kube-scheduler v1.36.4 wrote: recorded stories, object by object."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.api import ApiServer
from tests.daemon.stories import as_played, check

Json = dict[str, Any]

STORIES: list[Json] = json.loads((Path(__file__).parent.parent / "parity" / "live.json").read_text())


DECIDED_BY_CHANCE = "two-equal"
"""Two equal nodes for two pods: which of them gets the first pod is left to the dice."""


def as_the_dice_fell(written: list[Json], pods: Json) -> tuple[list[Json], Json]:
    """What would have been written had the dice fallen as in the record."""
    if pods["p1"]["nodeName"] == "n1":
        return written, pods
    text = json.dumps([written, pods])
    swapped = json.loads(re.sub(r"\bn([12])\b", lambda name: f"n{3 - int(name[1])}", text))
    return swapped[0], swapped[1]


@pytest.mark.parametrize("story", STORIES, ids=[story["story"] for story in STORIES])
def test_a_story_is_written_as_it_was_recorded(server: ApiServer, story: Json) -> None:
    asyncio.run(check(server, story, as_the_dice_fell if story["story"] == DECIDED_BY_CHANCE else as_played))
