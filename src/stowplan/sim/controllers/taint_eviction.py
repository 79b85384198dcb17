"""Pods leave nodes whose NoExecute taints they do not tolerate, or not for long.

Upstream: pkg/controller/tainteviction/taint_eviction.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

import msgspec

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.meta import time_seconds, time_text
from stowplan.api.tolerations import NO_EXECUTE, tolerates
from stowplan.client.errors import NotFound
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_NODE, Inventory
from stowplan.sim.cluster.objects import name_of, spec_of
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]


@final
class TaintEviction:
    """Deletes pods in due time."""

    name = "tainteviction"
    workers = 8

    def __init__(self, inventory: Inventory, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._pods = inventory.pods
        self._nodes = inventory.nodes
        self._clock = clock
        self._seen: dict[str, dict[tuple[str, str], float]] = {}  # pod uid -> taint -> since when
        inventory.nodes.listen(self._node_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Delete a pod whose time on its node is over."""
        pod = self._pods.get(key)
        node = self._nodes.get(pod.spec.node_name) if pod is not None and pod.spec.node_name else None
        if pod is None or node is None or pod.deleting:
            return None
        taints = no_execute(node)
        left = stays_for(taints, pod.spec.tolerations, self._seen_since(pod, taints), self._clock.now())
        if left is None or left > 0:
            return left
        now = time_text(self._clock.now())
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
            "lastTransitionTime": now,
        }
        change = {"metadata": {"uid": pod.uid}, "status": {"conditions": [condition]}}
        try:
            await self._pods.patch(pod.namespace, pod.name, change, subresource="status")
        except NotFound:
            return None
        await self._pods.delete(pod)
        return None

    def _seen_since(self, pod: SimPod, taints: Sequence[Taint]) -> list[float]:
        """Since when each taint drives this pod away: as it says itself, else since we saw it there."""
        known = self._seen.get(pod.uid, {})
        now = self._clock.now()
        seen = {(taint.key, taint.value): known.get((taint.key, taint.value), now) for taint in taints}
        if seen:
            self._seen[pod.uid] = seen
        else:
            self._seen.pop(pod.uid, None)
        return [
            time_seconds(taint.time_added) if taint.time_added else seen[taint.key, taint.value] for taint in taints
        ]

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            return
        taints = no_execute(new)
        if (taints and old is None) or (old is not None and taints != no_execute(old)):
            for pod in self._pods.indexed(BY_NODE, name_of(new)):
                self.queue.add(pod.key)

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        if new is None and old is not None:
            self._seen.pop(old.uid, None)
        if new is None or not new.spec.node_name or (old is not None and old.spec == new.spec):
            return
        node = self._nodes.get(new.spec.node_name)
        if node is not None and spec_of(node).get("taints") and no_execute(node):
            self.queue.add(new.key)


def no_execute(node: Json) -> list[Taint]:
    """The NoExecute taints of a node."""
    taints = spec_of(node).get("taints") or ()
    return [msgspec.convert(taint, Taint) for taint in taints if taint.get("effect") == NO_EXECUTE]


def stays_for(
    taints: Sequence[Taint], tolerations: Sequence[Toleration], since: Sequence[float], now: float
) -> float | None:
    """Seconds that a pod may still stay: 0 when it must go, None when it may stay for good."""
    left: list[float] = []
    for taint, begun in zip(taints, since, strict=True):
        matching = [toleration for toleration in tolerations if tolerates(toleration, taint)]
        if not matching:
            return 0.0
        limits = [toleration.toleration_seconds for toleration in matching]
        left += [max(begun + max(limit, 0) - now, 0.0) for limit in limits if limit is not None]
    return min(left) if left else None
