"""Doing many of the same thing: few at first, twice as many after each success.

Upstream: slowStartBatch in pkg/controller/replicaset/replica_set.go (v1.36.4).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from stowplan.client.errors import ClientError

T = TypeVar("T")

AT_ONCE = 64


async def slow_start(items: Sequence[T], act: Callable[[T], Awaitable[object]]) -> ClientError | None:
    """Act on all items; after a batch with a failure the rest is left, and the first error returned."""
    done, size = 0, 1
    while done < len(items):
        outcomes = await asyncio.gather(*(act(item) for item in items[done : done + size]), return_exceptions=True)
        done += size
        size = min(size * 2, AT_ONCE)
        for outcome in outcomes:
            if isinstance(outcome, ClientError):
                return outcome
            if isinstance(outcome, BaseException):
                raise outcome
    return None


async def all_at_once(items: Sequence[T], act: Callable[[T], Awaitable[object]]) -> ClientError | None:
    """Act on all items whatever happens; the first error, if any."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(item: T) -> ClientError | None:
        async with slots:
            try:
                await act(item)
            except ClientError as error:
                return error
            return None

    errors = await asyncio.gather(*(one(item) for item in items))
    return next((error for error in errors if error is not None), None)
