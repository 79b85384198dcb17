"""Ephemeral volumes: a claim that lives and dies with its pod.

Upstream: pkg/controller/volume/ephemeral/controller.go (v1.36.4).
"""

from typing import Any, final

from stowplan.client.errors import AlreadyExists
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]


@final
class EphemeralVolumes:
    """Makes the claims of pods."""

    name = "ephemeralvolumes"
    workers = 4

    def __init__(self, inventory: Inventory) -> None:
        self.queue = WorkQueue()
        self._pods = inventory.pods
        self._claims = inventory.claims
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Make the claims of one pod that are missing."""
        pod = self._pods.get(key)
        if pod is None or not pod.active:
            return None
        for volume in pod.spec.volumes:
            if volume.ephemeral is None:
                continue
            name = f"{pod.name}-{volume.name}"
            if self._claims.get(f"{pod.namespace}/{name}") is not None:
                continue
            template = volume.ephemeral.get("volumeClaimTemplate") or {}
            meta = template.get("metadata") or {}
            body = {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {
                    "name": name,
                    "labels": meta.get("labels") or {},
                    "annotations": meta.get("annotations") or {},
                    "ownerReferences": [pod_reference(pod)],
                },
                "spec": template.get("spec") or {},
            }
            try:
                await self._claims.create(pod.namespace, body)
            except AlreadyExists:
                continue
        return None

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        if old is None and new is not None and any(volume.ephemeral is not None for volume in new.spec.volumes):
            self.queue.add(new.key)


def pod_reference(pod: SimPod) -> Json:
    """The reference of what lives and dies with a pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod.name,
        "uid": pod.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
