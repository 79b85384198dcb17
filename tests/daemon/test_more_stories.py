"""More stories of what kube-scheduler v1.36.4 writes, recorded in the same way: one to a line of more_stories.jsonl."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.api import ApiServer
from tests.daemon.stories import check

Json = dict[str, Any]

RECORDED = (Path(__file__).parent / "more_stories.jsonl").read_text().splitlines()
STORIES: list[Json] = [json.loads(line) for line in RECORDED]


@pytest.mark.parametrize("story", STORIES, ids=[story["story"] for story in STORIES])
def test_a_story_is_written_as_it_was_recorded(server: ApiServer, story: Json) -> None:
    asyncio.run(check(server, story))
