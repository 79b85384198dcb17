"""Events are forgotten after their time.

Upstream: cmd/kube-apiserver/app/options, --event-ttl (v1.36.4).
"""

from collections import deque
from typing import final

from stowplan.apiserver.context import EVENTS, Api


@final
class EventExpiry:
    """Remembers which version was current when, and forgets the events that are older than their time."""

    def __init__(self, api: Api, seconds: float) -> None:
        self._api = api
        self._seconds = seconds
        self._marks: deque[tuple[float, int]] = deque()

    def tick(self) -> None:
        """Forget what is due."""
        now, store = self._api.clock.monotonic(), self._api.store
        self._marks.append((now, store.version))
        due = 0
        while self._marks and self._marks[0][0] <= now - self._seconds:
            due = self._marks.popleft()[1]
        if not due:
            return
        for entry in [found for found in store.table(EVENTS).entries.values() if found.version <= due]:
            store.delete(EVENTS, entry, entry.decoded())
