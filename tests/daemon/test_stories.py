"""What is written to the API is what kube-scheduler v1.36.4 wrote: recorded stories, object by object."""

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from tests.daemon.api import ApiServer
from tests.daemon.controllers import volumes_bound
from tests.daemon.scene import scene
from tests.daemon.stories import all_written, by_object, plain_pods, play, pods_at_the_end, quiet, recorded

Json = dict[str, Any]

STORIES: list[Json] = json.loads((Path(__file__).parent.parent / "parity" / "live.json").read_text())


@pytest.mark.parametrize("story", STORIES, ids=[story["story"] for story in STORIES])
def test_a_story_is_written_as_it_was_recorded(server: ApiServer, story: Json) -> None:
    async def run() -> None:
        want = by_object(story["schedulerWrites"])
        async with scene(server) as s, volumes_bound(s.hands):
            await play(story["steps"], s)
            with contextlib.suppress(AssertionError):  # the comparison says better what is missing
                await all_written(s, want)
            await quiet(s, resting=True)

            got = by_object(recorded(s))
            assert sorted(want) == sorted(got)
            for name, writes in want.items():
                assert "\n".join(writes) == "\n".join(got[name]), name
            assert plain_pods(story["podsAtTheEnd"]) == await pods_at_the_end(s.hands)

    asyncio.run(run())
