"""Counters that partitions of devices share: what is left of them, and what the search has taken so far.

Upstream: checkAvailableCounters in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

from collections.abc import Iterator, Sequence

from stowplan.api.quantity import nano_value
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.pools import Candidate, Pool, PoolId

CounterName = tuple[str, str]
"""Counter set, counter."""


def taken_by(candidate: Candidate) -> Iterator[tuple[CounterName, int]]:
    """Yield what a device takes of each counter."""
    for taken in candidate.device.consumes_counters:
        for name, counter in taken.counters.items():
            yield (taken.counter_set, name), nano_value(counter.value)


def left_in(pool: Pool, state: AllocatedState) -> dict[CounterName, int]:
    """Return what allocated devices have left of a pool's counters; it may be less than nothing."""
    left = {(group, name): amount for group, held in pool.counters.items() for name, amount in held.items()}
    for candidate in (*pool.candidates, *pool.elsewhere):
        if candidate.device.consumes_counters and state.touched(candidate.id):
            for counter, amount in taken_by(candidate):
                left[counter] -= amount
    return left


class CounterBooks:
    """The counters of the pools of one node during one search."""

    def __init__(self, pools: Sequence[Pool], state: AllocatedState) -> None:
        self._pools = {pool.id: pool for pool in pools}
        self._state = state
        self._left: dict[PoolId, dict[CounterName, int]] = {}

    def reserve(self, candidate: Candidate) -> bool:
        """Take what the device needs, unless some counter of its pool would be overdrawn."""
        left = self._of(candidate.pool_id)
        for counter, amount in taken_by(candidate):
            left[counter] -= amount
        # parity: one counter that is overdrawn, by whom ever, bars all devices of the pool that take counters
        if all(amount >= 0 for amount in left.values()):
            return True
        self.release(candidate)
        return False

    def release(self, candidate: Candidate) -> None:
        """Give back what the device took."""
        left = self._of(candidate.pool_id)
        for counter, amount in taken_by(candidate):
            left[counter] += amount

    def _of(self, pool_id: PoolId) -> dict[CounterName, int]:
        if pool_id not in self._left:
            self._left[pool_id] = left_in(self._pools[pool_id], self._state)
        return self._left[pool_id]
