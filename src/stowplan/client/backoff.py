"""How long to wait before trying again: exponential steps with jitter, a cap and a reset.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/wait/backoff.go (v1.36.4).
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, final

from stowplan.client.errors import ClientError
from stowplan.clock import Clock

T = TypeVar("T")


def jittered(seconds: float, factor: float, rng: random.Random) -> float:
    """Between `seconds` and `seconds * (1 + factor)`."""
    return seconds + rng.random() * factor * seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffPolicy:
    """The numbers of a back-off. `steps` bounds how often the duration grows, `reset_after` starts it over."""

    initial: float
    factor: float = 2.0
    cap: float = 0.0
    jitter: float = 0.0
    steps: int = 1_000_000
    reset_after: float = 0.0


# parity: tools/cache/reflector.go defaultBackoff*
REFLECTOR_BACKOFF = BackoffPolicy(initial=0.8, factor=2.0, cap=30.0, jitter=1.0, steps=38, reset_after=120.0)
# parity: util/retry DefaultBackoff, which the scheduler uses around status patches
STATUS_PATCH_BACKOFF = BackoffPolicy(initial=0.01, factor=5.0, jitter=0.1, steps=4)
# parity: util/retry DefaultRetry, for read-modify-write under conflicts
CONFLICT_BACKOFF = BackoffPolicy(initial=0.01, factor=1.0, jitter=0.1, steps=5)


@final
class Backoff:
    """One sequence of delays."""

    def __init__(self, policy: BackoffPolicy, *, clock: Clock, rng: random.Random) -> None:
        self._policy = policy
        self._clock = clock
        self._rng = rng
        self.reset()

    def reset(self) -> None:
        """Start over with the shortest delay."""
        self._started = self._clock.monotonic()
        self._duration = self._policy.initial
        self._steps = self._policy.steps

    def next_delay(self) -> float:
        """Seconds to wait now; the next answer is longer."""
        policy = self._policy
        # parity: counted from the last reset, not from the last call (backoffManager.Step)
        if policy.reset_after > 0 and self._clock.monotonic() - self._started > policy.reset_after:
            self.reset()
        delay = self._duration
        if self._steps > 0:
            self._steps -= 1
            self._duration *= policy.factor
            if 0 < policy.cap < self._duration:
                self._duration = policy.cap
                self._steps = 0
        return jittered(delay, policy.jitter, self._rng)


async def retry_on(
    attempt: Callable[[], Awaitable[T]],
    *,
    retriable: tuple[type[ClientError], ...],
    policy: BackoffPolicy,
    clock: Clock,
    rng: random.Random,
) -> T:
    """Run `attempt` up to `policy.steps` times; the last retriable error is raised when none succeeds."""
    backoff = Backoff(policy, clock=clock, rng=rng)
    for _ in range(policy.steps - 1):
        try:
            return await attempt()
        except retriable:
            await asyncio.sleep(backoff.next_delay())
    return await attempt()
