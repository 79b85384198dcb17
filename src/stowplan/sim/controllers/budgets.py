"""PodDisruptionBudgets: how many pods are healthy, and how many may be disturbed.

Upstream: pkg/controller/disruption/disruption.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

from stowplan.api.meta import time_seconds, time_text
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_NAMESPACE, Inventory
from stowplan.sim.cluster.objects import (
    controller_of,
    find_condition,
    generation_of,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
    uid_of,
)
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.numbers import scaled

Json = dict[str, Any]

DISTURBED_FOR = 120.0
"""Seconds that a pod counts as disturbed although it was not deleted."""
GATHER = 0.05


@final
class Budgets:
    """Keeps the status of every budget."""

    name = "disruption"
    workers = 4

    def __init__(self, inventory: Inventory, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._inventory = inventory
        self._budgets = inventory.budgets
        self._clock = clock
        inventory.budgets.listen(self._budget_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Count the pods of one budget."""
        budget = self._budgets.get(key)
        if budget is None or is_deleting(budget):
            return None
        selector = selector_of(spec_of(budget).get("selector"))
        pods = [
            pod
            for pod in self._inventory.pods.indexed(BY_NAMESPACE, namespace_of(budget))
            if not pod.finished and selector.matches(pod.metadata.labels)
        ]
        now = self._clock.now()
        disturbed = still_disturbed(budget, pods, now)
        expected, desired = self._expected(budget, pods)
        healthy = sum(pod.ready and not pod.deleting and pod.name not in disturbed for pod in pods)
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        status: Json = {
            "observedGeneration": generation_of(budget),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "conditions": _conditions(budget, now, allowed=allowed),
        }
        if disturbed:
            status["disruptedPods"] = disturbed
        if status != status_of(budget):
            await self._budgets.update(
                namespace_of(budget), name_of(budget), {**budget, "status": status}, subresource="status"
            )
        ages = [time_seconds(since) + DISTURBED_FOR - now for since in disturbed.values()]
        return max(min(ages), 0.1) if ages else None

    def _expected(self, budget: Json, pods: Sequence[SimPod]) -> tuple[int, int]:
        """How many pods there should be, and how many of them healthy."""
        spec = spec_of(budget)
        minimum, maximum = spec.get("minAvailable"), spec.get("maxUnavailable")
        if maximum is None and isinstance(minimum, int):
            return len(pods), minimum
        expected = self._scale_of(pods)
        if maximum is not None:
            return expected, max(expected - scaled(maximum, expected, up=True), 0)
        return expected, scaled(minimum, expected, up=True)

    def _scale_of(self, pods: Sequence[SimPod]) -> int:
        """The sizes of all controllers of these pods, together."""
        sizes: dict[str, int] = {}
        for pod in pods:
            owner = pod.controller
            if owner is None or owner.uid in sizes:
                continue
            found = self._controller(owner.kind, f"{pod.namespace}/{owner.name}")
            if found is not None:
                sizes[uid_of(found)] = spec_of(found).get("replicas", 1)
        return sum(sizes.values())

    def _controller(self, kind: str, key: str) -> Json | None:
        if kind == "ReplicaSet":
            found = self._inventory.replica_sets.get(key)
            above = controller_of(found) if found is not None else None
            if found is not None and above is not None and above["kind"] == "Deployment":
                return self._inventory.deployments.get(f"{namespace_of(found)}/{above['name']}") or found
            return found
        if kind == "StatefulSet":
            return self._inventory.stateful_sets.get(key)
        return self._inventory.replication_controllers.get(key) if kind == "ReplicationController" else None

    def _budget_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        pod = new or old
        assert pod is not None, "a change of nothing"
        for budget in self._budgets.indexed(BY_NAMESPACE, pod.namespace):
            selector = selector_of(spec_of(budget).get("selector"))
            if any(state is not None and selector.matches(state.metadata.labels) for state in (old, new)):
                self.queue.add_after(key_of(budget), GATHER)


def still_disturbed(budget: Json, pods: Sequence[SimPod], now: float) -> dict[str, str]:
    """The evicted pods that are not seen deleted yet, without those that never will be."""
    present = {pod.name for pod in pods if not pod.deleting}
    recorded = status_of(budget).get("disruptedPods") or {}
    return {
        name: since for name, since in recorded.items() if name in present and now < time_seconds(since) + DISTURBED_FOR
    }


def _conditions(budget: Json, now: float, *, allowed: int) -> list[Json]:
    known = status_of(budget).get("conditions") or []
    made = {
        "type": "DisruptionAllowed",
        "status": "True" if allowed else "False",
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
        "observedGeneration": generation_of(budget),
        "lastTransitionTime": time_text(now),
    }
    before = find_condition(known, "DisruptionAllowed")
    if before is not None and before.get("status") == made["status"]:
        made["lastTransitionTime"] = before.get("lastTransitionTime") or made["lastTransitionTime"]
    return [condition for condition in known if condition.get("type") != "DisruptionAllowed"] + [made]
