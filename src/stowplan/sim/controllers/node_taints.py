"""Taints that say what is wrong with a node: cordoned, not ready, unreachable, under pressure.

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (v1.36.4).
"""

from typing import Any, final

from stowplan.api.meta import time_text
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.objects import is_deleting, name_of, spec_of, status_of
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]

PREFIX = "node.kubernetes.io"
UNSCHEDULABLE = f"{PREFIX}/unschedulable"
NOT_READY = f"{PREFIX}/not-ready"
UNREACHABLE = f"{PREFIX}/unreachable"

_BY_CONDITION = {
    ("Ready", "False"): ((NOT_READY, "NoSchedule"), (NOT_READY, "NoExecute")),
    ("Ready", "Unknown"): ((UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")),
    ("MemoryPressure", "True"): ((f"{PREFIX}/memory-pressure", "NoSchedule"),),
    ("DiskPressure", "True"): ((f"{PREFIX}/disk-pressure", "NoSchedule"),),
    ("PIDPressure", "True"): ((f"{PREFIX}/pid-pressure", "NoSchedule"),),
    ("NetworkUnavailable", "True"): ((f"{PREFIX}/network-unavailable", "NoSchedule"),),
}
_OURS = {taint for taints in _BY_CONDITION.values() for taint in taints} | {(UNSCHEDULABLE, "NoSchedule")}


@final
class NodeTaints:
    """Keeps the taints of every node in line with what it says of itself."""

    name = "nodetaints"
    workers = 4

    def __init__(self, inventory: Inventory, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._nodes = inventory.nodes
        self._clock = clock
        inventory.nodes.listen(self._changed)

    async def reconcile(self, key: str) -> float | None:
        """Write the taints of one node if they are not as they should be."""
        node = self._nodes.get(key)
        if node is None or is_deleting(node):
            return None
        taints = wanted_taints(node, self._clock.now())
        if taints is not None:
            # The version makes sure that nobody's taint is lost.
            meta = {"resourceVersion": node["metadata"]["resourceVersion"]}
            await self._nodes.patch("", key, {"metadata": meta, "spec": {"taints": taints}})
        return None

    def _changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None and wanted_taints(new, 0.0) is not None:
            self.queue.add(name_of(new))


def wanted_taints(node: Json, now: float) -> list[Json] | None:
    """All taints that a node should have; None when it has them."""
    present: list[Json] = spec_of(node).get("taints") or []
    known = {(taint.get("key"), taint.get("effect")) for taint in present}
    wanted: set[tuple[str, str]] = set()
    for condition in status_of(node).get("conditions") or ():
        wanted |= set(_BY_CONDITION.get((condition.get("type"), condition.get("status")), ()))
    if spec_of(node).get("unschedulable"):
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    if known & _OURS == wanted:
        return None
    kept = [taint for taint in present if (taint.get("key"), taint.get("effect")) not in _OURS - wanted]
    added = [{"key": key, "effect": effect, "timeAdded": time_text(now)} for key, effect in sorted(wanted - known)]
    return [*kept, *added]
