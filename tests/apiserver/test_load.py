"""Load, small enough for every run: all watchers see everything, in order, and the server stays quick.

The figures of a whole machine are measured by bench; here only what must hold anywhere is asked for.
"""

import asyncio
import time

from tests.apiserver.running import PODS, Session, Stream, pod, running

PODS_MADE = 600
WATCHERS = 5
AT_LEAST = 60
"""Creations per second with client, watchers and server on one slow, busy core."""


async def follow(stream: Stream) -> list[int]:
    """The versions that a watcher sees, until it has seen all."""
    return [int((await stream.next(60))["object"]["metadata"]["resourceVersion"]) for _ in range(PODS_MADE)]


async def make(api: Session, names: list[str]) -> None:
    """Create pods, several at a time."""
    waiting = iter(names)

    async def work() -> None:
        for name in waiting:
            assert 201 == (await api.post(PODS, pod(name))).status

    await asyncio.gather(*(work() for _ in range(8)))


def test_five_watchers_see_every_creation_in_order() -> None:
    async def story() -> None:
        async with running() as api:
            opened = [api.watch(PODS) for _ in range(WATCHERS)]
            streams = [await found.__aenter__() for found in opened]
            started = time.perf_counter()
            seen = [asyncio.create_task(follow(stream)) for stream in streams]
            await make(api, [f"p{number}" for number in range(PODS_MADE)])
            versions = await asyncio.gather(*seen)
            elapsed = time.perf_counter() - started
            for found in opened:
                await found.__aexit__(None, None, None)
            assert all(sorted(found) == found and len(set(found)) == PODS_MADE for found in versions)
            assert PODS_MADE / elapsed > AT_LEAST

    asyncio.run(story())
