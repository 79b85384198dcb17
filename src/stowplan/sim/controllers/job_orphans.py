"""Pods that a Job held and that nobody counts any more: their finalizer goes.

Upstream: pkg/controller/job/job_controller.go syncOrphanPod (v1.36.4).
"""

from typing import Any, final

from stowplan.client.errors import NotFound
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import BY_OWNER, Inventory
from stowplan.sim.cluster.objects import uid_of
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.job_plan import TRACKING

Json = dict[str, Any]


@final
class JobOrphans:
    """Looks at pods whose Job does not exist."""

    name = "joborphans"
    workers = 4

    def __init__(self, inventory: Inventory) -> None:
        self.queue = WorkQueue()
        self._jobs = inventory.jobs
        self._pods = inventory.pods
        inventory.pods.listen(self._pod_changed)
        inventory.jobs.listen(self._job_changed)

    async def reconcile(self, key: str) -> float | None:
        """Release one pod."""
        pod = self._pods.get(key)
        if pod is not None and TRACKING in pod.metadata.finalizers and self._is_orphan(pod):
            await release(self._pods, pod)
        return None

    def _is_orphan(self, pod: SimPod) -> bool:
        owner = pod.controller
        if owner is None or owner.kind != "Job":
            return owner is None
        job = self._jobs.get(f"{pod.namespace}/{owner.name}")
        return job is None or uid_of(job) != owner.uid

    def _pod_changed(self, _old: SimPod | None, new: SimPod | None) -> None:
        if new is not None and TRACKING in new.metadata.finalizers and self._is_orphan(new):
            self.queue.add(new.key)

    def _job_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None and old is not None:
            for pod in self._pods.indexed(BY_OWNER, uid_of(old)):
                self.queue.add(pod.key)


async def release(pods: Collection[SimPod], pod: SimPod) -> None:
    """Take the finalizer of Jobs off a pod."""
    change = {"metadata": {"uid": pod.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}}
    try:
        await pods.patch(pod.namespace, pod.name, change)
    except NotFound:
        return
