"""What a cluster's controllers do for claims, as much of it as a scheduler needs: volumes are bound and provisioned."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from stowplan.client.errors import Conflict, NotFound
from tests.daemon.scene import Hands

Json = dict[str, Any]

SELECTED = "volume.kubernetes.io/selected-node"
AVAILABLE: Json = {"status": {"phase": "Available"}}
BOUND = "pv.kubernetes.io/bind-completed"

Provision = Callable[[Json, str], Json | None]
"""Makes the volume of a claim for the node that was selected; None to let it wait."""


def nothing(_claim: Json, _node: str) -> Json | None:
    """For clusters without a provisioner."""
    return None


@asynccontextmanager
async def volumes_bound(hands: Hands, provision: Provision = nothing) -> AsyncIterator[None]:
    """Bind and provision volumes as long as the block."""
    task = asyncio.create_task(_work(hands, provision))
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _work(hands: Hands, provision: Provision) -> None:
    while True:
        volumes = await hands.items("PersistentVolume")
        for volume in volumes:
            if volume["status"].get("phase", "Pending") == "Pending":
                await hands.patch("PersistentVolume", volume["metadata"]["name"], AVAILABLE, "status")
        by_claim = {_claimant(volume): volume for volume in volumes if _claimant(volume)}
        for claim in await hands.items("PersistentVolumeClaim"):
            if claim["status"].get("phase") == "Bound":
                continue
            with contextlib.suppress(Conflict, NotFound):
                await _advance(hands, claim, by_claim, provision)
        await asyncio.sleep(0.03)


async def _advance(hands: Hands, claim: Json, by_claim: dict[str, Json], provision: Provision) -> None:
    meta = claim["metadata"]
    volume = by_claim.get(f"{meta['namespace']}/{meta['name']}")
    if volume is not None:
        await _bind(hands, claim, volume)
        return
    selected = meta.get("annotations", {}).get(SELECTED)
    made = provision(claim, selected) if selected else None
    if made is not None:
        await hands.create(made)


async def _bind(hands: Hands, claim: Json, volume: Json) -> None:
    name = volume["metadata"]["name"]
    if claim["spec"].get("volumeName") != name:
        change = {"metadata": {"annotations": {BOUND: "yes"}}, "spec": {"volumeName": name}}
        await hands.patch("PersistentVolumeClaim", claim["metadata"]["name"], change)
    await hands.patch("PersistentVolume", name, {"status": {"phase": "Bound"}}, "status")
    spec = volume["spec"]
    status = {"phase": "Bound", "capacity": spec["capacity"], "accessModes": spec["accessModes"]}
    await hands.patch("PersistentVolumeClaim", claim["metadata"]["name"], {"status": status}, "status")


def _claimant(volume: Json) -> str:
    ref = volume["spec"].get("claimRef")
    return f"{ref['namespace']}/{ref['name']}" if ref else ""


def volume_for(claim: Json, name: str, *, key: str, values: list[str]) -> Json:
    """A volume made for a claim, reachable from the nodes with these labels."""
    meta, spec = claim["metadata"], claim["spec"]
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "csi.example.com"}},
        "spec": {
            "capacity": spec["resources"]["requests"],
            "accessModes": spec["accessModes"],
            "storageClassName": spec["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": meta["namespace"],
                "name": meta["name"],
                "uid": meta["uid"],
            },
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }
