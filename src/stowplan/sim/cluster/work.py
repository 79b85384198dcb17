"""Keys to look at: each once however often it is named, never twice at the same time, later again after a failure.

Upstream: staging/src/k8s.io/client-go/util/workqueue (v1.36.4).
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from typing import Protocol, final

from stowplan.client.errors import AlreadyExists, ClientError, Conflict, NotFound

_LOG = logging.getLogger(__name__)

FIRST_RETRY = 0.02
LONGEST_RETRY = 30.0
# These say that what we read was old: looking again is all there is to do.
OUTDATED = (Conflict, NotFound, AlreadyExists)


@final
class WorkQueue:
    """The keys of one controller."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._dirty: set[str] = set()
        self._processing: set[str] = set()
        self._failures: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._wanted = asyncio.Event()

    def __len__(self) -> int:
        return len(self._dirty)

    def add(self, key: str) -> None:
        """Look at this key soon."""
        if key in self._dirty:
            return
        self._dirty.add(key)
        if key not in self._processing:
            self._waiting.append(key)
            self._wanted.set()

    def add_after(self, key: str, seconds: float) -> None:
        """Look at this key in a while; an earlier time that is already set stays."""
        if seconds <= 0:
            self.add(key)
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        known = self._timers.get(key)
        if known is not None:
            if known.when() <= due:
                return
            known.cancel()
        self._timers[key] = loop.call_at(due, self._ring, key)

    def retry(self, key: str) -> float:
        """Look at this key again, ever later; the seconds until then."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        delay: float = min(FIRST_RETRY * 2.0 ** min(count, 20), LONGEST_RETRY)
        self.add_after(key, delay)
        return delay

    def forget(self, key: str) -> None:
        """It went well: the next failure is the first."""
        self._failures.pop(key, None)

    async def get(self) -> str:
        """The next key; `done` must follow."""
        while not self._waiting:
            self._wanted.clear()
            await self._wanted.wait()
        key = self._waiting.popleft()
        self._dirty.discard(key)
        self._processing.add(key)
        return key

    def done(self, key: str) -> None:
        """Somebody else may have the key now."""
        self._processing.discard(key)
        if key in self._dirty:
            self._waiting.append(key)
            self._wanted.set()

    def close(self) -> None:
        """Forget all timers."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def _ring(self, key: str) -> None:
        self._timers.pop(key, None)
        self.add(key)


class Controller(Protocol):
    """Compares what is wanted with what is there, one key at a time."""

    @property
    def name(self) -> str:
        """What logs call it."""

    @property
    def workers(self) -> int:
        """How many keys it may look at at the same time."""

    @property
    def queue(self) -> WorkQueue:
        """The keys to look at."""

    async def reconcile(self, key: str) -> float | None:
        """Bring one key closer to what is wanted; seconds after which to look again, if any."""


async def run_controllers(controllers: Sequence[Controller]) -> None:
    """Work until cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            for controller in controllers:
                for _ in range(controller.workers):
                    group.create_task(_work(controller), name=controller.name)
    finally:
        for controller in controllers:
            controller.queue.close()


async def _work(controller: Controller) -> None:
    queue = controller.queue
    while True:
        key = await queue.get()
        try:
            again = await controller.reconcile(key)
        except OUTDATED as error:
            _LOG.debug("%s: %s: looking again: %s", controller.name, key, error)
            queue.retry(key)
        except ClientError as error:
            _LOG.warning("%s: %s: %s; again in %.1f s", controller.name, key, error, queue.retry(key))
        except Exception:  # noqa: BLE001 - one object that we cannot handle must not stop the others
            _LOG.exception("%s: %s failed; again in %.1f s", controller.name, key, queue.retry(key))
        else:
            queue.forget(key)
            if again is not None:
                queue.add_after(key, again)
        finally:
            queue.done(key)
