"""Stories of volumes, claims and devices against a real API server."""

import asyncio
from typing import Any

from stowplan.client.paths import (
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    STORAGE_CLASSES,
)
from stowplan.sim.cluster.pools import Devices, Pool
from tests.sim.objects import claim, storage_class, template, volume
from tests.sim.scene import Scene, simulated

Json = dict[str, Any]

BOUND = {"phase": "Bound"}


async def volume_names(scene: Scene) -> list[str]:
    return [one["metadata"]["name"] for one in await scene.list(PERSISTENT_VOLUMES)]


def test_a_claim_takes_the_smallest_volume_that_is_large_enough() -> None:
    async def story() -> None:
        async with simulated() as scene:
            for name, size in (("small", "1Gi"), ("right", "5Gi"), ("large", "50Gi")):
                await scene.create(PERSISTENT_VOLUMES, volume(name, "manual", size))
                await scene.status(PERSISTENT_VOLUMES, name, {"phase": "Available"})
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", "manual", "3Gi"))
            found = await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", BOUND | {"capacity": {"storage": "5Gi"}})
            assert "right" == found["spec"]["volumeName"]
            await scene.status(PERSISTENT_VOLUMES, "right", BOUND)
            await scene.delete(PERSISTENT_VOLUME_CLAIMS, "data")
            await scene.status(PERSISTENT_VOLUMES, "right", {"phase": "Released"})
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("next", "manual", "5Gi"))
            found = await scene.status(PERSISTENT_VOLUME_CLAIMS, "next", BOUND)
            assert "large" == found["spec"]["volumeName"]

    asyncio.run(story())


def test_a_volume_set_aside_for_a_claim_is_kept_for_it() -> None:
    async def story() -> None:
        async with simulated() as scene:
            reserved = {"claimRef": {"namespace": "default", "name": "mine"}}
            await scene.create(PERSISTENT_VOLUMES, volume("kept", "manual", "1Gi", **reserved))
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("other", "manual"))
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("mine", "manual"))
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "mine", BOUND)
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "other", {"phase": "Pending"})

    asyncio.run(story())


def test_a_class_makes_volumes_and_deletes_them() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(STORAGE_CLASSES, storage_class("fast"))
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", "fast", "7Gi"))
            found = await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", BOUND | {"capacity": {"storage": "7Gi"}})
            made = await scene.get(PERSISTENT_VOLUMES, found["spec"]["volumeName"])
            assert ("example.com/disk", "Delete") == (
                made["spec"]["csi"]["driver"], made["spec"]["persistentVolumeReclaimPolicy"],
            )  # fmt: skip
            await scene.delete(PERSISTENT_VOLUME_CLAIMS, "data")
            await scene.gone(PERSISTENT_VOLUMES, made["metadata"]["name"])

    asyncio.run(story())


def test_a_class_that_waits_makes_the_volume_where_the_pod_goes() -> None:
    async def story() -> None:
        async with simulated(nodes=2) as scene:
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", None))  # the default class waits
            pending = await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", {"phase": "Pending"})
            assert "standard" == pending["spec"]["storageClassName"]
            await asyncio.sleep(0.3)
            assert [] == await volume_names(scene)
            chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "node-1"}}}
            await scene.patch(PERSISTENT_VOLUME_CLAIMS, "data", chosen)
            found = await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", BOUND)
            made = await scene.get(PERSISTENT_VOLUMES, found["spec"]["volumeName"])
            node = await scene.get(NODES, "node-1")
            (term,) = made["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
            zone = node["metadata"]["labels"]["topology.kubernetes.io/zone"]
            assert [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}] == (
                term["matchExpressions"]
            )

    asyncio.run(story())


def test_a_chosen_node_that_is_gone_is_given_back() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", "standard"))
            chosen = {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "nowhere"}}}
            await scene.patch(PERSISTENT_VOLUME_CLAIMS, "data", chosen)

            async def given_back() -> bool:
                found = await scene.get(PERSISTENT_VOLUME_CLAIMS, "data")
                return "volume.kubernetes.io/selected-node" not in (found["metadata"].get("annotations") or {})

            await scene.until(given_back)

    asyncio.run(story())


def test_local_volumes_are_bound_when_the_scheduler_has_chosen_one() -> None:
    async def story() -> None:
        async with simulated() as scene:
            local = storage_class("local", "WaitForFirstConsumer", "kubernetes.io/no-provisioner")
            await scene.create(STORAGE_CLASSES, local)
            term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-0"]}]}
            disk: Json = {"local": {"path": "/d"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
            body = volume("disk", "local", **disk)
            del body["spec"]["hostPath"]
            await scene.create(PERSISTENT_VOLUMES, body)
            made = await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", "local"))
            await scene.status(PERSISTENT_VOLUMES, "disk", {"phase": "Available"})
            await asyncio.sleep(0.2)
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", {"phase": "Pending"})
            reference = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": "data",
                         "uid": made["metadata"]["uid"]}  # fmt: skip
            await scene.patch(PERSISTENT_VOLUMES, "disk", {"spec": {"claimRef": reference}})
            found = await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", BOUND)
            assert "disk" == found["spec"]["volumeName"]

    asyncio.run(story())


def test_a_claim_whose_volume_is_gone_is_lost() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(PERSISTENT_VOLUMES, volume("only", "manual"))
            await scene.create(PERSISTENT_VOLUME_CLAIMS, claim("data", "manual"))
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", BOUND)
            await scene.delete(PERSISTENT_VOLUMES, "only")
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "data", {"phase": "Lost"})

    asyncio.run(story())


def test_a_pod_starts_when_its_ephemeral_volume_is_there_and_takes_it_along() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(STORAGE_CLASSES, storage_class("fast"))
            inner = claim("", "fast")["spec"]
            volumes = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": inner}}}]
            spec = template("p", volumes=volumes)["spec"]
            await scene.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
            await scene.status(PODS, "p", {"phase": "Running"})
            await scene.status(PERSISTENT_VOLUME_CLAIMS, "p-scratch", BOUND)
            await scene.delete(PODS, "p")
            await scene.gone(PERSISTENT_VOLUME_CLAIMS, "p-scratch")

    asyncio.run(story())


def test_claims_for_devices_are_made_freed_and_deleted() -> None:
    async def story() -> None:
        pool = Pool("gpu", 1, prefix="gpu-", devices=(Devices("gpu.example.com", 2),))
        async with simulated(pools=(pool,), scheduled=False) as scene:
            (slice_,) = await scene.list(RESOURCE_SLICES)
            assert ("gpu-0", 2) == (slice_["spec"]["nodeName"], len(slice_["spec"]["devices"]))
            uses = [{"name": "gpu", "resourceClaimTemplateName": "one"}]
            spec = {**template("p", resourceClaims=uses)["spec"], "restartPolicy": "Never"}
            made = await scene.create(
                PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
            )
            await scene.create(RESOURCE_CLAIM_TEMPLATES, claim_template("one"))

            async def told() -> str:
                statuses = (await scene.get(PODS, "p"))["status"].get("resourceClaimStatuses") or [{}]
                return str(statuses[0].get("resourceClaimName", ""))

            await scene.until(told)
            name = await told()
            claim_ = await scene.get(RESOURCE_CLAIMS, name)
            assert ("gpu", made["metadata"]["uid"]) == (
                claim_["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"],
                claim_["metadata"]["ownerReferences"][0]["uid"],
            )
            await scene.patch(RESOURCE_CLAIMS, name, {"metadata": {"finalizers": [PROTECTION]}})
            await scene.patch(RESOURCE_CLAIMS, name, {"status": allocation(made)}, "status")
            await scene.patch(PODS, "p", {"status": {"phase": "Succeeded"}}, "status")
            await scene.gone(RESOURCE_CLAIMS, name)

    asyncio.run(story())


def test_users_that_are_gone_are_taken_off_a_shared_claim() -> None:
    async def story() -> None:
        async with simulated(scheduled=False) as scene:
            await scene.create(RESOURCE_CLAIMS, {**claim_template("shared"), "kind": "ResourceClaim", "spec": {}})
            ghost = {"metadata": {"name": "ghost", "uid": "no-such-pod"}}
            await scene.patch(RESOURCE_CLAIMS, "shared", {"metadata": {"finalizers": [PROTECTION]}})
            await scene.patch(RESOURCE_CLAIMS, "shared", {"status": allocation(ghost)}, "status")

            async def freed() -> bool:
                found = await scene.get(RESOURCE_CLAIMS, "shared")
                return not found.get("status") and not found["metadata"].get("finalizers")

            await scene.until(freed)

    asyncio.run(story())


PROTECTION = "resource.kubernetes.io/delete-protection"


def claim_template(name: str) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name},
        "spec": {"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}},
    }


def allocation(pod: Json) -> Json:
    meta = pod["metadata"]
    return {
        "allocation": {"devices": {"results": []}},
        "reservedFor": [{"resource": "pods", "name": meta["name"], "uid": meta["uid"]}],
    }
