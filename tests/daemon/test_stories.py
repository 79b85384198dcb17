"""What is written to the API is what kube-scheduler v1.36.4 wrote: recorded stories, object by object."""

import asyncio
import contextlib
import json
import re
from difflib import unified_diff
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.api import ApiServer
from tests.daemon.controllers import volumes_bound
from tests.daemon.scene import scene
from tests.daemon.stories import all_written, by_object, plain_pods, play, pods_at_the_end, quiet, recorded

Json = dict[str, Any]

STORIES: list[Json] = json.loads((Path(__file__).parent.parent / "parity" / "live.json").read_text())


DECIDED_BY_CHANCE = "two-equal"
"""Two equal nodes for two pods: which of them gets the first pod is left to the dice."""


def swapped(told: Any) -> Any:
    """What would have been written had the dice fallen the other way."""
    text = json.dumps(told)
    return json.loads(re.sub(r"\bn([12])\b", lambda name: f"n{3 - int(name[1])}", text))


def lines(writes: list[str]) -> list[str]:
    """Writes as lines, for a difference that one can read."""
    return "\n".join(writes).splitlines()


@pytest.mark.parametrize("story", STORIES, ids=[story["story"] for story in STORIES])
def test_a_story_is_written_as_it_was_recorded(server: ApiServer, story: Json) -> None:
    async def run() -> None:
        want = by_object(story["schedulerWrites"])
        async with scene(server) as s, volumes_bound(s.hands):
            await play(story["steps"], s)
            with contextlib.suppress(AssertionError):  # the comparison says better what is missing
                await all_written(s, want)
            await quiet(s, resting=True)

            written, pods = recorded(s), await pods_at_the_end(s.hands)
            if story["story"] == DECIDED_BY_CHANCE and pods["p1"]["nodeName"] == "n2":
                written, pods = swapped(written), swapped(pods)
            got = by_object(written)
            assert sorted(want) == sorted(got)
            for name, writes in want.items():
                difference = "\n".join(unified_diff(lines(writes), lines(got[name]), "want", "got", n=2, lineterm=""))
                assert not difference, name
            assert plain_pods(story["podsAtTheEnd"]) == pods

    asyncio.run(run())
