"""PersistentVolumes: available, bound, released, and deleted when their class wants that.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go syncVolume (v1.36.4).
"""

from typing import Any, final

from stowplan.client.paths import PERSISTENT_VOLUMES
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.objects import annotations_of, is_deleting, name_of, spec_of, status_of, uid_of
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.provisioning import PROVISIONED_BY
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]


@final
class Volumes:
    """Keeps the phase of every volume."""

    name = "volumes"
    workers = 4

    def __init__(self, inventory: Inventory, told: Told) -> None:
        self.queue = WorkQueue()
        self._claims = inventory.claims
        self._volumes = inventory.volumes
        self._told = told
        inventory.volumes.listen(self._volume_changed)
        inventory.claims.listen(self._claim_changed)

    async def reconcile(self, key: str) -> float | None:
        """Say what has become of one volume; delete it when nobody wants it any more."""
        volume = self._volumes.get(key)
        if volume is None or is_deleting(volume):
            return None
        phase = self._phase(volume)
        if status_of(volume).get("phase") != phase:
            body = {**volume, "status": {**status_of(volume), "phase": phase}}
            volume = await self._volumes.update("", key, body, subresource="status")
        if phase == "Released" and spec_of(volume).get("persistentVolumeReclaimPolicy") == "Delete":
            if PROVISIONED_BY in annotations_of(volume):
                await self._volumes.delete(volume)
            else:
                # parity: there is no plugin that could delete what somebody made by hand
                await self._fail(volume)
        return None

    def _phase(self, volume: Json) -> str:
        reference = spec_of(volume).get("claimRef")
        if not reference or not reference.get("uid"):
            return "Available"
        claim = self._claims.get(f"{reference.get('namespace', '')}/{reference['name']}")
        if claim is None or uid_of(claim) != reference["uid"]:
            return "Failed" if status_of(volume).get("phase") == "Failed" else "Released"
        return "Bound" if spec_of(claim).get("volumeName") == name_of(volume) else "Available"

    async def _fail(self, volume: Json) -> None:
        text = "no volume plugin can delete a volume that was not provisioned"
        body = {**volume, "status": {**status_of(volume), "phase": "Failed", "message": text}}
        await self._volumes.update("", name_of(volume), body, subresource="status")
        self._told.warning(volume, PERSISTENT_VOLUMES, "VolumeFailedDelete", text)

    def _volume_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(name_of(new))

    def _claim_changed(self, old: Json | None, new: Json | None) -> None:
        for claim in (old, new):
            if claim is not None and spec_of(claim).get("volumeName"):
                self.queue.add(spec_of(claim)["volumeName"])
        if new is None and old is not None:
            for volume in self._volumes:
                if (spec_of(volume).get("claimRef") or {}).get("uid") == uid_of(old):
                    self.queue.add(name_of(volume))
