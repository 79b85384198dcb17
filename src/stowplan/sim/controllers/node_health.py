"""Nodes whose kubelet has fallen silent: their conditions become Unknown.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go tryUpdateNodeHealth (v1.36.4).
"""

from typing import Any, final

from stowplan.api.meta import time_seconds, time_text
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.node_objects import LEASE_NAMESPACE
from stowplan.sim.cluster.objects import created_of, find_condition, is_deleting, name_of, spec_of, status_of, uid_of
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]

SHORTEST_GRACE = 40.0
STARTUP_GRACE = 60.0
WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
SILENT = "Kubelet stopped posting node status."


@final
class NodeHealth:
    """Watches that Leases are renewed."""

    name = "nodehealth"
    workers = 2

    def __init__(self, inventory: Inventory, pace: Pace, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._nodes = inventory.nodes
        self._leases = inventory.leases
        self._pace = pace
        self._clock = clock
        self._heard: dict[str, tuple[str, float]] = {}  # node uid -> what the Lease said, and when that was new
        inventory.nodes.listen(self._changed)

    async def reconcile(self, key: str) -> float | None:
        """Look whether a node was heard of in time; seconds until that has to be asked again."""
        node = self._nodes.get(key)
        if node is None or is_deleting(node):
            return None
        now = self._clock.now()
        left = self._heard_at(node, now) + self._grace(node) - now
        if left > 0:
            return left
        if not all(_is_unknown(node, type_) for type_ in WATCHED):
            at = time_text(now)
            conditions = [
                {
                    "type": type_,
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "message": SILENT,
                    "lastTransitionTime": at,
                }
                for type_ in WATCHED
                if not _is_unknown(node, type_)
            ]
            await self._nodes.patch("", key, {"status": {"conditions": conditions}}, subresource="status")
        return self._grace(node)

    def _grace(self, node: Json) -> float:
        lease = self._leases.get(f"{LEASE_NAMESPACE}/{name_of(node)}")
        if lease is None:
            return STARTUP_GRACE + self._pace.lease_interval(len(self._nodes))
        return max(SHORTEST_GRACE, float(spec_of(lease).get("leaseDurationSeconds") or 0))

    def _heard_at(self, node: Json, now: float) -> float:
        """By our own clock, as upstream does: clocks of machines differ."""
        lease = self._leases.get(f"{LEASE_NAMESPACE}/{name_of(node)}")
        said = spec_of(lease).get("renewTime") or "" if lease is not None else ""
        known = self._heard.get(uid_of(node))
        if known is None or known[0] != said:
            moment = now if said or not created_of(node) else max(time_seconds(created_of(node)), now - STARTUP_GRACE)
            known = self._heard[uid_of(node)] = (said, moment)
        return known[1]

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None:
            self._heard.pop(uid_of(old), None)
        elif old is None and new is not None:
            self.queue.add(name_of(new))


def _is_unknown(node: Json, type_: str) -> bool:
    condition = find_condition(status_of(node).get("conditions"), type_)
    return condition is not None and condition.get("status") == "Unknown"
