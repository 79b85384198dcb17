"""What happened while pods were being tried, so that nothing is missed in between.

Upstream: inFlightPods and inFlightEvents in pkg/scheduler/backend/queue/active_queue.go (v1.36.4).
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import final

from stowplan.framework.wake import ObjectEvent


@final
class InFlight:
    """Pods that were taken from the queue and are not done, and the events since the oldest of them was taken."""

    __slots__ = ("_events", "_first", "_since")

    def __init__(self) -> None:
        self._since: dict[str, int] = {}
        self._events: deque[ObjectEvent] = deque()
        self._first = 0

    def __len__(self) -> int:
        return len(self._since)

    def __contains__(self, uid: str) -> bool:
        return uid in self._since

    @property
    def events(self) -> int:
        """How many events are remembered."""
        return len(self._events)

    def take(self, uid: str) -> bool:
        """A pod leaves the queue to be tried; False when it is in flight already."""
        if uid in self._since:
            return False
        self._since[uid] = self._first + len(self._events)
        return True

    def record(self, event: ObjectEvent) -> None:
        """Remember an event, if anybody is in flight."""
        if self._since:
            self._events.append(event)

    def events_since(self, uid: str) -> Iterator[ObjectEvent]:
        """What happened since a pod was taken."""
        return islice(self._events, self._since[uid] - self._first, None)

    def done(self, uid: str) -> None:
        """A pod came back, or was bound; events that only it could have missed are forgotten."""
        if self._since.pop(uid, None) is None:
            return
        # perf: dicts keep insertion order, so the first entry is the pod that was taken first
        oldest = next(iter(self._since.values()), self._first + len(self._events))
        while self._first < oldest:
            self._events.popleft()
            self._first += 1
