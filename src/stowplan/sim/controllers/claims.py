"""PersistentVolumeClaims: each gets its volume, found or made.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go syncClaim (v1.36.4).
"""

from typing import Any, final

from stowplan.client.errors import AlreadyExists
from stowplan.client.paths import PERSISTENT_VOLUME_CLAIMS
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.objects import (
    annotations_of,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    spec_of,
    status_of,
    uid_of,
)
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.matching import best_volume, names_claim
from stowplan.sim.controllers.provisioning import (
    BIND_COMPLETED,
    BOUND_BY_US,
    PROVISIONER,
    claim_reference,
    made_volume,
    provisions,
    selected_node,
    waits_for_pod,
)
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]


@final
class Claims:
    """Binds claims to volumes, and makes volumes where a class says so."""

    name = "claims"
    workers = 8

    def __init__(self, inventory: Inventory, told: Told, pace: Pace, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._inventory = inventory
        self._claims = inventory.claims
        self._volumes = inventory.volumes
        self._told = told
        self._pace = pace
        self._clock = clock
        self._begun: dict[str, float] = {}  # claim uid -> since when its volume is being made
        inventory.claims.listen(self._claim_changed)
        inventory.volumes.listen(self._volume_changed)
        inventory.classes.listen(self._class_changed)

    async def reconcile(self, key: str) -> float | None:
        """Bring one claim closer to its volume."""
        claim = self._claims.get(key)
        if claim is None or is_deleting(claim):
            return None
        named = spec_of(claim).get("volumeName")
        if named:
            await self._follow_name(claim, named)
            return None
        storage_class = self._inventory.classes.get(spec_of(claim).get("storageClassName") or "")
        waits = waits_for_pod(storage_class) and not selected_node(claim)
        volume = best_volume(self._volumes, claim)
        if volume is not None and (not waits or names_claim(volume, claim)):
            await self._bind(claim, volume)
            return None
        if waits:
            self._told.normal(
                claim,
                PERSISTENT_VOLUME_CLAIMS,
                "WaitForFirstConsumer",
                "waiting for first consumer to be created before binding",
            )
            return None
        if storage_class is not None and provisions(storage_class):
            return await self._provision(claim, storage_class)
        return None

    async def _follow_name(self, claim: Json, named: str) -> None:
        volume = self._volumes.get(named)
        if volume is None:
            # Once bound, a claim whose volume is gone has lost its data; before, the volume may still come.
            if BIND_COMPLETED in annotations_of(claim) and status_of(claim).get("phase") != "Lost":
                await self._write_status(claim, {"phase": "Lost"})
            return
        if not spec_of(volume).get("claimRef") or names_claim(volume, claim):
            await self._bind(claim, volume)

    async def _bind(self, claim: Json, volume: Json) -> None:
        """Each side names the other, the volume first; what is done already is not done again."""
        reference = spec_of(volume).get("claimRef") or {}
        if reference.get("uid") != uid_of(claim):
            meta: Json = {"resourceVersion": volume["metadata"]["resourceVersion"]}
            if not reference:
                meta["annotations"] = {BOUND_BY_US: "yes"}
            change = {"metadata": meta, "spec": {"claimRef": claim_reference(claim)}}
            volume = await self._volumes.patch("", name_of(volume), change)
        if spec_of(claim).get("volumeName") != name_of(volume) or BIND_COMPLETED not in annotations_of(claim):
            annotations = {BIND_COMPLETED: "yes"}
            if not spec_of(claim).get("volumeName"):
                annotations[BOUND_BY_US] = "yes"
            change = {
                "metadata": {"resourceVersion": claim["metadata"]["resourceVersion"], "annotations": annotations},
                "spec": {"volumeName": name_of(volume)},
            }
            claim = await self._claims.patch(namespace_of(claim), name_of(claim), change)
        status = {
            "phase": "Bound",
            "accessModes": spec_of(volume).get("accessModes") or [],
            "capacity": spec_of(volume).get("capacity") or {},
        }
        if any(status_of(claim).get(name) != value for name, value in status.items()):
            await self._write_status(claim, status)

    async def _provision(self, claim: Json, storage_class: Json) -> float | None:
        provisioner = storage_class["provisioner"]
        if annotations_of(claim).get(PROVISIONER) != provisioner:
            change = {"metadata": {"uid": uid_of(claim), "annotations": {PROVISIONER: provisioner}}}
            claim = await self._claims.patch(namespace_of(claim), name_of(claim), change)
        chosen = selected_node(claim)
        node = self._inventory.nodes.get(chosen) if chosen else None
        if chosen and node is None:
            # parity: external provisioners give the claim back so that another node can be chosen
            await self._unselect(claim)
            return None
        now = self._clock.now()
        left = self._begun.setdefault(uid_of(claim), now) + self._pace.provisioning - now
        if left > 0:
            return left
        try:
            volume = await self._volumes.create("", made_volume(claim, storage_class, node))
        except AlreadyExists:
            return None  # it is on its way to us
        note = f"Successfully provisioned volume {name_of(volume)}"
        self._told.normal(claim, PERSISTENT_VOLUME_CLAIMS, "ProvisioningSucceeded", note)
        await self._bind(claim, volume)
        return None

    async def _unselect(self, claim: Json) -> None:
        change = {"metadata": {"uid": uid_of(claim), "annotations": {"volume.kubernetes.io/selected-node": None}}}
        await self._claims.patch(namespace_of(claim), name_of(claim), change)

    async def _write_status(self, claim: Json, status: Json) -> None:
        body = {**claim, "status": {**status_of(claim), **status}}
        await self._claims.update(namespace_of(claim), name_of(claim), body, subresource="status")

    def _claim_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))
        elif old is not None:
            self._begun.pop(uid_of(old), None)

    def _volume_changed(self, old: Json | None, new: Json | None) -> None:
        for volume in (old, new):
            reference = spec_of(volume).get("claimRef") if volume is not None else None
            if reference:
                self.queue.add(f"{reference.get('namespace', '')}/{reference.get('name', '')}")
        if new is not None and status_of(new).get("phase") == "Available":
            self._look_again(spec_of(new).get("storageClassName") or "")

    def _class_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self._look_again(name_of(new))

    def _look_again(self, class_name: str) -> None:
        for claim in self._claims:
            same_class = (spec_of(claim).get("storageClassName") or "") == class_name
            if same_class and status_of(claim).get("phase") != "Bound":
                self.queue.add(key_of(claim))
