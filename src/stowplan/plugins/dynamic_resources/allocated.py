"""What is allocated already: whole devices, shares of devices, and how much of their capacity the shares take.

Upstream: pkg/scheduler/framework/plugins/dynamicresources/allocateddevices.go (v1.36.4).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from stowplan.api.quantity import nano_value
from stowplan.api.resource import AllocationResult, DeviceRequestAllocationResult
from stowplan.plugins.dynamic_resources.pools import DeviceId

Amounts = Mapping[str, int]
"""Amounts in billionths by name of capacity."""


def held_devices(allocation: AllocationResult) -> Iterator[tuple[DeviceId, DeviceRequestAllocationResult]]:
    """Yield the devices that an allocation keeps from others; administrators' access keeps none."""
    for result in allocation.devices.results:
        if not result.admin_access:
            yield (result.driver, result.pool, result.device), result


@dataclass(slots=True)
class AllocatedState:
    """Devices in use, counted so that allocations can come and go in any order."""

    shares_apart: bool = True
    """Whether shares are told from whole devices (consumable capacity)."""
    whole: Counter[DeviceId] = field(default_factory=Counter)
    shares: Counter[DeviceId] = field(default_factory=Counter)
    capacity: dict[DeviceId, dict[str, int]] = field(default_factory=dict)
    _changed: dict[str, set[DeviceId]] = field(default_factory=dict)

    def add(self, allocation: AllocationResult) -> None:
        """An allocation came."""
        self._count(allocation, 1)

    def remove(self, allocation: AllocationResult) -> None:
        """An allocation went."""
        self._count(allocation, -1)

    def _count(self, allocation: AllocationResult, sign: int) -> None:
        for device, result in held_devices(allocation):
            for changed in self._changed.values():
                changed.add(device)
            if result.share_id is None or not self.shares_apart:
                _bump(self.whole, device, sign)
                continue
            _bump(self.shares, device, sign)
            self._consume(device, result, sign)

    def _consume(self, device: DeviceId, result: DeviceRequestAllocationResult, sign: int) -> None:
        if not result.consumed_capacity:
            return
        taken = self.capacity.setdefault(device, {})
        for name, amount in result.consumed_capacity.items():
            taken[name] = taken.get(name, 0) + sign * nano_value(amount)
        if sign < 0 and not any(taken.values()):
            del self.capacity[device]

    def take_changes(self, reader: str) -> set[DeviceId]:
        """Return the devices that changed since the reader's last call; what was before its first it has to look up."""
        changed = self._changed.get(reader, set())
        self._changed[reader] = set()
        return changed

    def in_use(self, device: DeviceId) -> bool:
        """Whether a device is given away as a whole."""
        return device in self.whole

    def touched(self, device: DeviceId) -> bool:
        """Whether a device is given away as a whole or in part."""
        return device in self.whole or device in self.shares or device in self.capacity


def _bump(counter: Counter[DeviceId], device: DeviceId, sign: int) -> None:
    counter[device] += sign
    if counter[device] <= 0:
        del counter[device]
