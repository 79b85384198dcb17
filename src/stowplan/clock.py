"""The only caller of time, and a fake one for tests and simulation."""

import time
from typing import Protocol, final


class Clock(Protocol):
    """Wall time in seconds since the epoch, and a monotonic reading for durations."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""


@final
class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.perf_counter()


@final
class FakeClock:
    """A clock that moves only when told to."""

    def __init__(self, start: float = 1_700_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move forward."""
        assert seconds >= 0, "time does not go back"
        self._now += seconds
