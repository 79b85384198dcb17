"""Pods with claims on an API server: volumes found, made, waited for in vain, and devices that nobody gets twice."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

from tests.daemon.api import ApiServer
from tests.daemon.controllers import SELECTED, volume_for, volumes_bound
from tests.daemon.objects import HOSTNAME, ZONE, node, pod
from tests.daemon.replica import replica
from tests.daemon.scene import Hands, administrator, scene, scheduling, until

Json = dict[str, Any]

SHORT_WAIT = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: VolumeBinding
    args:
      bindTimeoutSeconds: 1
"""
DRIVER = "gpu.example.com"


def storage_class(name: str, provisioner: str = "csi.example.com") -> Json:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def claim(name: str, of: str, size: str = "1Gi") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of,
            "resources": {"requests": {"storage": size}},
        },
    }


def local_volume(name: str, of: str, on: str) -> Json:
    term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [on]}]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": of,
            "persistentVolumeReclaimPolicy": "Retain",
            "local": {"path": "/data"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
        },
    }


def with_volume(name: str, claim_name: str, **spec: Any) -> Json:
    return pod(name, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": claim_name}}], **spec)


def device_slice(node_name: str, devices: int) -> Json:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{node_name}"},
        "spec": {
            "driver": DRIVER,
            "nodeName": node_name,
            "pool": {"name": node_name, "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"gpu-{i}"} for i in range(devices)],
        },
    }


DEVICE_CLASS: Json = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f'device.driver == "{DRIVER}"'}}]},
}


def device_claim(name: str, of: str = "gpu") -> Json:
    request = {"name": "r", "exactly": {"deviceClassName": of, "allocationMode": "ExactCount", "count": 1}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name},
        "spec": {"devices": {"requests": [request]}},
    }


def with_device(name: str, claim_name: str) -> Json:
    return pod(name, cpu="10m", resourceClaims=[{"name": "gpu", "resourceClaimName": claim_name}])


async def placed(hands: Hands, count: int, within: float = 40.0) -> None:
    """Wait until so many pods are bound."""

    async def is_done() -> bool:
        return count == sum(bool(place) for place in (await hands.nodes_of()).values())

    await until(is_done, f"{count} pods are bound", within=within)


def test_volumes_are_made_in_the_zones_where_their_pods_run(server: ApiServer) -> None:
    async def story() -> None:
        zones = ["a", "b", "c"]
        async with scene(server) as s:
            zone_of = {f"n{i}": zones[i % 3] for i in range(6)}

            def provision(wanted: Json, selected: str) -> Json:
                name = f"made-{s.hands.namespace}-{wanted['metadata']['name']}"
                return volume_for(wanted, name, key=ZONE, values=[zone_of[selected]])

            async with volumes_bound(s.hands, provision):
                await s.hands.create(*(node(name, labels={ZONE: zone}) for name, zone in zone_of.items()))
                await s.hands.create(storage_class(s.hands.namespace))
                spread = {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "db"}},
                }
                for i in range(20):
                    await s.hands.create(claim(f"data-{i}", s.hands.namespace))
                    await s.hands.create(
                        with_volume(f"db-{i}", f"data-{i}", labels={"app": "db"}, topologySpreadConstraints=[spread])
                    )
                await placed(s.hands, 20)
                await s.agrees()

                places = await s.hands.nodes_of()
                volumes = {v["spec"]["claimRef"]["name"]: v for v in await s.hands.items("PersistentVolume")}
                for i in range(20):
                    terms = volumes[f"data-{i}"]["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
                    home = places[f"db-{i}"]
                    assert home
                    assert [zone_of[home]] == terms[0]["matchExpressions"][0]["values"]
                assert [6, 7, 7] == sorted(Counter(zone_of[home] for home in places.values() if home).values())

    asyncio.run(story())


def test_one_local_volume_goes_to_one_of_two_pods(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s, volumes_bound(s.hands):
            local = s.hands.namespace
            await s.hands.create(node("n1"), storage_class(local, "kubernetes.io/no-provisioner"))
            await s.hands.create(local_volume(f"pv-{local}", local, "n1"))

            async def is_available() -> bool:
                volumes = await s.hands.items("PersistentVolume")
                return [volume["status"].get("phase") for volume in volumes] == ["Available"]

            await until(is_available, "the volume is available")
            await s.hands.create(claim("c1", local), claim("c2", local))
            await asyncio.gather(s.hands.create(with_volume("p1", "c1")), s.hands.create(with_volume("p2", "c2")))
            await placed(s.hands, 1)
            waiting = next(name for name, place in (await s.hands.nodes_of()).items() if not place)
            text = await s.hands.unschedulable(waiting)
            assert text.startswith(
                "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind."
            )
            volume = (await s.hands.items("PersistentVolume"))[0]
            assert volume["spec"]["claimRef"]["name"] == ("c1" if waiting == "p2" else "c2")

            await s.hands.create(local_volume(f"pv2-{local}", local, "n1"))
            await s.hands.bound(waiting, to="n1")
            await s.agrees()

    asyncio.run(story())


def test_a_claim_that_is_never_provisioned_times_out_and_its_pod_is_tried_again(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, configuration=SHORT_WAIT) as s, volumes_bound(s.hands):
            await s.hands.create(node("n1"), storage_class(s.hands.namespace), claim("c", s.hands.namespace))
            await s.hands.create(with_volume("p", "c"))
            _, text = await s.hands.told("p", "FailedScheduling")
            assert text == 'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded'
            condition = await s.hands.condition("p")
            assert ("SchedulerError", text) == (condition["reason"], condition["message"])
            assert [] == await s.hands.items("PersistentVolume")

            def provision(wanted: Json, selected: str) -> Json:
                return volume_for(wanted, f"late-{s.hands.namespace}", key=HOSTNAME, values=[selected])

            async with volumes_bound(s.hands, provision):
                await s.hands.bound("p", to="n1")
            await s.agrees()
            assert 1 == len(await s.hands.items("PersistentVolume"))

    asyncio.run(story())


def test_a_pod_deleted_while_its_volume_is_made_frees_its_room(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s, volumes_bound(s.hands):
            await s.hands.create(node("n1", cpu="1"), storage_class(s.hands.namespace))
            await s.hands.create(claim("c", s.hands.namespace), with_volume("p", "c", cpu="800m"))

            async def is_selected() -> bool:
                return SELECTED in (await s.hands.get("PersistentVolumeClaim", "c"))["metadata"].get("annotations", {})

            await until(is_selected, "a node is selected for the claim")
            await s.hands.delete("Pod", "p")
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.bound("q", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_a_killed_scheduler_leaves_a_job_that_the_next_one_ends(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await hands.create(node("n1"), storage_class(hands.namespace), claim("c", hands.namespace))
            await hands.create(DEVICE_CLASS, device_slice("n1", 1), device_claim("g"))
            spec = {"resourceClaims": [{"name": "gpu", "resourceClaimName": "g"}]}

            async def is_selected() -> bool:
                return SELECTED in (await hands.get("PersistentVolumeClaim", "c"))["metadata"].get("annotations", {})

            with replica(server, server.url, tmp_path, "first", elects=False) as first:
                await hands.create(with_volume("p", "c", **spec))
                await until(is_selected, "a node is selected for the claim")
                first.kill()
                await asyncio.to_thread(first.wait, 10)
            assert await hands.node_of("p") is None

            def provision(wanted: Json, selected: str) -> Json:
                return volume_for(wanted, f"made-{hands.namespace}", key=HOSTNAME, values=[selected])

            async with volumes_bound(hands, provision), scheduling(server, hands) as s:
                await hands.bound("p", to="n1")
                await s.agrees()
            status = (await hands.get("ResourceClaim", "g"))["status"]
            assert ["p"] == [consumer["name"] for consumer in status["reservedFor"]]

    asyncio.run(story())


def test_a_hundred_pods_share_out_sixty_four_devices(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(*(node(f"n{i}") for i in range(8)), DEVICE_CLASS)
            await s.hands.create(*(device_slice(f"n{i}", 8) for i in range(8)))
            await asyncio.gather(*(s.hands.create(device_claim(f"g{i}")) for i in range(100)))
            await asyncio.gather(*(s.hands.create(with_device(f"p{i}", f"g{i}")) for i in range(100)))
            await placed(s.hands, 64)
            await s.agrees()

            places = await s.hands.nodes_of()
            taken = Counter[tuple[str, str]]()
            for held in await s.hands.items("ResourceClaim"):
                status = held.get("status", {})
                consumers = [one["name"] for one in status.get("reservedFor", [])]
                results = status.get("allocation", {}).get("devices", {}).get("results", [])
                if results:
                    taken[results[0]["pool"], results[0]["device"]] += 1
                    assert [places[name] for name in consumers] == [results[0]["pool"]]
            assert 64 == len(taken)
            assert {1} == set(taken.values())
            left = [name for name, place in places.items() if not place]
            text = await s.hands.unschedulable(left[0])
            assert text.startswith("0/8 nodes are available: 8 cannot allocate all claims.")

            # a device that becomes free goes to one of those that wait
            gone = next(name for name, place in places.items() if place)
            await s.hands.delete("Pod", gone)
            freed = {"status": {"allocation": None, "reservedFor": None}}
            await s.hands.patch("ResourceClaim", f"g{gone[1:]}", freed, "status")
            await placed(s.hands, 64)
            await s.agrees()

    asyncio.run(story())


def test_a_claim_of_a_class_that_is_missing_waits_and_harms_nobody(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("n1"), device_slice("n1", 1), device_claim("g"))
            await s.hands.create(with_device("p", "g"), with_volume("v", "nowhere"), pod("q"))
            await s.hands.bound("q")
            no_class = "0/1 nodes are available: request r: device class gpu does not exist."
            assert (await s.hands.unschedulable("p")).startswith(no_class)
            want = '0/1 nodes are available: persistentvolumeclaim "nowhere" not found.'
            assert (await s.hands.unschedulable("v")).startswith(want)
            await s.hands.create(DEVICE_CLASS)
            await s.hands.bound("p", to="n1")
            await s.agrees()

    asyncio.run(story())
