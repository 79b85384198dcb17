"""Pods of nodes that do not exist are deleted without waiting for a kubelet that will never answer.

Upstream: pkg/controller/podgc/gc_controller.go (v1.36.4).
"""

from typing import Any, final

from stowplan.api.meta import time_text
from stowplan.client.errors import NotFound
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_NODE, Inventory
from stowplan.sim.cluster.objects import name_of
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]


@final
class PodCollector:
    """Looks at every pod whose node is missing, after a time in which the node may appear."""

    name = "podgc"
    workers = 8

    def __init__(self, inventory: Inventory, pace: Pace, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._pods = inventory.pods
        self._nodes = inventory.nodes
        self._pace = pace
        self._clock = clock
        self._missed: dict[str, float] = {}  # pod uid -> since when its node was missing
        inventory.pods.listen(self._pod_changed)
        inventory.nodes.listen(self._node_changed)

    async def reconcile(self, key: str) -> float | None:
        """Fail and delete a pod whose node has been missing for long enough."""
        pod = self._pods.get(key)
        if pod is None or not pod.spec.node_name or self._nodes.get(pod.spec.node_name) is not None:
            if pod is not None:
                self._missed.pop(pod.uid, None)
            return None
        now = self._clock.now()
        left = self._missed.setdefault(pod.uid, now) + self._pace.quarantine - now
        if left > 0:
            return left
        if not pod.finished:
            condition = {
                "type": "DisruptionTarget",
                "status": "True",
                "reason": "DeletionByPodGC",
                "message": "PodGC: node no longer exists",
                "lastTransitionTime": time_text(now),
            }
            change = {"metadata": {"uid": pod.uid}, "status": {"phase": "Failed", "conditions": [condition]}}
            try:
                await self._pods.patch(pod.namespace, pod.name, change, subresource="status")
            except NotFound:
                return None
        await self._pods.delete(pod, grace=0)
        return None

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        if new is None:
            if old is not None:
                self._missed.pop(old.uid, None)
        elif new.spec.node_name and self._nodes.get(new.spec.node_name) is None:
            self.queue.add(new.key)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None:
            for pod in self._pods.indexed(BY_NODE, name_of(old)):
                self.queue.add(pod.key)
