"""Devices behind extended resources: how many a node has, for plugins that count what nodes offer.

Upstream: calculateResourceAllocatableRequest in
pkg/scheduler/framework/plugins/noderesources/resource_allocation.go (v1.36.4).
"""

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.goarith import IntN


@final
@dataclass(frozen=True, slots=True, eq=False)
class DeviceTotals:
    """Devices by row of the node table. As long as nothing changes, the same object is given."""

    capacity_n: IntN
    allocated_n: IntN


class DeviceSource(Protocol):
    """Counts devices. The composition provides it, since plugins do not know each other."""

    def behind(self, view: View, resource: str) -> DeviceTotals | None:
        """The devices of the class that serves a resource; None when there is no such class."""


def offered_and_used(rows: Rows, resource: str, devices: DeviceTotals | None) -> tuple[IntN, IntN]:
    """What nodes offer of a resource and what is taken of it: devices count where the node itself offers none."""
    offered_n, used_n = rows.allocatable(resource), rows.requested(resource)
    if devices is None:
        return offered_n, used_n
    none_n = offered_n == 0
    return (
        np.where(none_n, devices.capacity_n[rows.index], offered_n),
        np.where(none_n, devices.allocated_n[rows.index], used_n),
    )
