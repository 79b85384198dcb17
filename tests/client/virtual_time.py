"""An event loop whose time jumps over waits, so that tests of back-off and leases take no time."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar, final

T = TypeVar("T")

EPOCH = 1_700_000_000.0
# Real time given to sockets before the loop believes that nobody will answer and jumps to the next timer.
GRACE = 0.004
# The least that time moves at a jump, so that rounding cannot hold it.
TICK = 1e-6


@final
class _JumpingSelector(selectors.DefaultSelector):
    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        ready = super().select(min(timeout, GRACE))
        if not ready:
            self.now += max(timeout, TICK)
        return ready


@final
class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Sleeps cost nothing, work takes no time, sockets work as usual: a busy machine changes nothing."""

    def __init__(self) -> None:
        self._jumps = _JumpingSelector()
        super().__init__(self._jumps)

    def time(self) -> float:
        """The sum of everything that was jumped over."""
        return self._jumps.now


@final
class LoopClock:
    """A clock that agrees with the running loop."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return EPOCH + asyncio.get_running_loop().time()

    def monotonic(self) -> float:
        """The loop's time."""
        return asyncio.get_running_loop().time()


def run_virtual(story: Coroutine[Any, Any, T]) -> T:
    """Run a test's coroutine under virtual time."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(story)


async def until(condition: Any, *, seconds: float = 3600.0) -> None:
    """Wait until `condition()` holds, at most that long by the loop's time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    pause = 0.005
    while not condition():
        assert loop.time() < end, "the condition was not met in time"
        await asyncio.sleep(pause)
        pause = min(pause * 1.1, 1.0)
