"""A token bucket: at most `qps` requests per second on average, `burst` at once.

Upstream: staging/src/k8s.io/client-go/util/flowcontrol/throttle.go (v1.36.4).
"""

import asyncio
from typing import final

from stowplan.clock import Clock


@final
class RateLimiter:
    """Hands out one token per request in the order of asking; a `qps` of zero or less means no limit."""

    def __init__(self, qps: float, burst: int, *, clock: Clock) -> None:
        assert qps <= 0 or burst >= 1, "a limited client needs a burst of at least 1"
        self.qps = qps
        self.burst = burst
        self.waited_seconds = 0.0
        self._clock = clock
        self._tokens = float(burst)
        self._last = clock.monotonic()

    @property
    def unlimited(self) -> bool:
        """Whether nobody ever waits."""
        return self.qps <= 0

    def try_acquire(self) -> bool:
        """Take a token if one is there."""
        if self.qps <= 0:
            return True
        self._refill()
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True

    async def acquire(self) -> None:
        """Take a token, waiting for it if need be. A caller that is cancelled gives its token back."""
        if self.try_acquire():
            return
        # The bucket goes negative: each waiter holds a reservation, so waiters are served in order without a queue.
        self._tokens -= 1
        delay = -self._tokens / self.qps
        self.waited_seconds += delay
        try:
            await asyncio.sleep(delay)
        except asyncio.CancelledError:
            self._tokens += 1
            raise

    def _refill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(float(self.burst), self._tokens + (now - self._last) * self.qps)
        self._last = now
