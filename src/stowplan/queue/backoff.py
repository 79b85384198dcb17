"""How long a pod waits after a failed attempt: doubling with each, between two bounds.

Upstream: pkg/scheduler/backend/queue/backoff_queue.go (v1.36.4).
"""

import math
from dataclasses import dataclass
from typing import Final, final

from stowplan.queue.queued_pod import QueuedPod

WINDOW_SECONDS: Final = 1.0
"""Pods whose back-off ends in the same window are ordered as the active queue orders them."""


@final
@dataclass(frozen=True, slots=True)
class Backoff:
    """The bounds, in seconds."""

    initial: float = 1.0
    most: float = 10.0

    def until(self, pod: QueuedPod) -> float:
        """When the pod's back-off ends, on a window's edge; 0 when it has none."""
        tries = pod.errors_in_a_row or pod.rejections
        if not self.most or not tries:
            return 0.0
        if pod.backoff_until is None:
            pod.backoff_until = window(pod.queued_at + self.duration(tries))
        return pod.backoff_until

    def duration(self, tries: int) -> float:
        """The wait after so many failed attempts."""
        doublings = tries - 1
        if doublings >= 64 or self.initial * 2**doublings > self.most:
            return self.most
        return self.initial * float(2**doublings)

    def waits(self, pod: QueuedPod, now: float) -> bool:
        """Whether the pod still has to wait; through the whole of the window in which its back-off ends."""
        return self.until(pod) >= window(now)


def window(moment: float) -> float:
    """The start of the window in which a moment lies."""
    return math.floor(moment / WINDOW_SECONDS) * WINDOW_SECONDS
