"""Stories of Deployments, StatefulSets, DaemonSets and Jobs against a real API server."""

import asyncio
from typing import Any

from stowplan.client.paths import (
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    REPLICA_SETS,
    REPLICATION_CONTROLLERS,
    STATEFUL_SETS,
    STORAGE_CLASSES,
)
from stowplan.sim.cluster.inventory import CONTROLLER_REVISIONS
from stowplan.sim.cluster.pace import Pace
from tests.sim.objects import job, storage_class, template, workload
from tests.sim.scene import Scene, simulated

Json = dict[str, Any]

SLOW = Pace(starting=0.3, spread=0.0, stopping=0.0)


def images(pods: list[Json]) -> list[str]:
    return sorted(pod["spec"]["containers"][0]["image"] for pod in pods)


def names(items: list[Json]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


def test_a_deployment_rolls_out_rolls_back_scales_and_goes() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=4))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 4, "updatedReplicas": 4, "replicas": 4})
            await scene.patch(DEPLOYMENTS, "web", {"spec": {"template": template("web", "app:2")}})
            done = await scene.status(DEPLOYMENTS, "web", {"updatedReplicas": 4, "replicas": 4, "availableReplicas": 4})
            assert ["app:2"] * 4 == images(await scene.list(PODS))
            assert "2" == done["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
            assert "NewReplicaSetAvailable" == progress(done)

            await scene.patch(DEPLOYMENTS, "web", {"spec": {"template": template("web", "app:1")}})
            back = await scene.status(DEPLOYMENTS, "web", {"updatedReplicas": 4, "replicas": 4, "availableReplicas": 4})
            assert "3" == back["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
            sets = await scene.list(REPLICA_SETS)
            marks = [one["metadata"]["annotations"] for one in sets]
            assert [(None, "2"), ("1", "3")] == sorted(
                ((mark.get("deployment.kubernetes.io/revision-history"), mark["deployment.kubernetes.io/revision"])
                 for mark in marks), key=lambda one: one[1],
            )  # fmt: skip

            await scene.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})
            await scene.status(DEPLOYMENTS, "web", {"replicas": 1, "availableReplicas": 1})
            await scene.delete(DEPLOYMENTS, "web")
            await scene.until(lambda: empty(scene))

    asyncio.run(story())


def test_a_paused_deployment_scales_but_does_not_roll() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 2})
            await scene.patch(DEPLOYMENTS, "web", {"spec": {"paused": True, "template": template("web", "app:2")}})
            paused = await scene.status(DEPLOYMENTS, "web", {"replicas": 2})
            assert "DeploymentPaused" == progress(paused)
            await scene.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 3}})
            await scene.status(DEPLOYMENTS, "web", {"replicas": 3, "availableReplicas": 3})
            assert ["app:1"] * 3 == images(await scene.list(PODS))
            await scene.patch(DEPLOYMENTS, "web", {"spec": {"paused": None}})
            await scene.status(DEPLOYMENTS, "web", {"replicas": 3, "updatedReplicas": 3, "availableReplicas": 3})
            assert ["app:2"] * 3 == images(await scene.list(PODS))

    asyncio.run(story())


def test_recreating_never_mixes_old_and_new() -> None:
    async def story() -> None:
        async with simulated(pace=SLOW) as scene:
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2, strategy={"type": "Recreate"}))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 2})
            await scene.patch(DEPLOYMENTS, "web", {"spec": {"template": template("web", "app:2")}})
            mixed: set[tuple[str, ...]] = set()

            async def rolled() -> bool:
                pods = [pod for pod in await scene.list(PODS) if pod["status"]["phase"] == "Running"]
                mixed.add(tuple(sorted(set(images(pods)))))
                return images(pods) == ["app:2"] * 2

            await scene.until(rolled)
            assert ("app:1", "app:2") not in mixed

    asyncio.run(story())


def test_orphans_are_left_and_taken_on_again() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 2})
            before = names(await scene.list(PODS))
            await scene.delete(DEPLOYMENTS, "web", policy="Orphan")
            await scene.gone(DEPLOYMENTS, "web")
            (left,) = await scene.list(REPLICA_SETS)
            assert "ownerReferences" not in left["metadata"]
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 2})
            assert before == names(await scene.list(PODS))
            assert names([left]) == names(await scene.list(REPLICA_SETS))

    asyncio.run(story())


def test_deleting_in_the_foreground_waits_for_the_pods() -> None:
    async def story() -> None:
        async with simulated() as scene:
            held = template("web")
            held["metadata"]["finalizers"] = ["example.com/hold"]
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=1, pod=held))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 1})
            await scene.delete(DEPLOYMENTS, "web", policy="Foreground")
            (pod,) = await scene.list(PODS)

            async def deleting() -> bool:
                return "deletionTimestamp" in (await scene.get(PODS, pod["metadata"]["name"]))["metadata"]

            await scene.until(deleting)
            assert (await scene.get(DEPLOYMENTS, "web"))["metadata"]["deletionTimestamp"]
            await scene.patch(PODS, pod["metadata"]["name"], {"metadata": {"finalizers": None}})
            await scene.gone(DEPLOYMENTS, "web")
            await scene.until(lambda: empty(scene))

    asyncio.run(story())


def test_a_pod_that_no_longer_fits_is_released_and_replaced() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(REPLICA_SETS, workload("ReplicaSet", "web", replicas=2))
            await scene.status(REPLICA_SETS, "web", {"availableReplicas": 2})
            first = names(await scene.list(PODS))[0]
            await scene.patch(PODS, first, {"metadata": {"labels": {"app": "other"}}})

            async def replaced() -> bool:
                return len(await scene.list(PODS, "app=web")) == 2

            await scene.until(replaced)
            assert "ownerReferences" not in (await scene.get(PODS, first))["metadata"]

    asyncio.run(story())


def test_a_replication_controller_keeps_its_pods() -> None:
    async def story() -> None:
        async with simulated() as scene:
            body = {
                "apiVersion": "v1",
                "kind": "ReplicationController",
                "metadata": {"name": "old"},
                "spec": {"replicas": 2, "selector": {"app": "old"}, "template": template("old")},
            }
            await scene.create(REPLICATION_CONTROLLERS, body)
            await scene.status(REPLICATION_CONTROLLERS, "old", {"readyReplicas": 2, "availableReplicas": 2})

    asyncio.run(story())


def test_what_cannot_be_created_is_said() -> None:
    async def story() -> None:
        async with simulated() as scene:
            pod = template("web", priorityClassName="nobody-knows")
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=1, pod=pod))

            async def failure() -> str:
                found = await scene.get(DEPLOYMENTS, "web")
                conditions = (found.get("status") or {}).get("conditions") or []
                return next((one["message"] for one in conditions if one["type"] == "ReplicaFailure"), "")

            await scene.until(failure)
            assert "no PriorityClass with name nobody-knows was found" in await failure()

    asyncio.run(story())


def test_a_stateful_set_goes_by_numbers() -> None:
    async def story() -> None:
        async with simulated(pace=SLOW) as scene:
            data: Json = {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
            storage = {"storageClassName": "fast", **data["spec"]}
            await scene.create(STORAGE_CLASSES, storage_class("fast"))
            await scene.create(
                STATEFUL_SETS,
                workload("StatefulSet", "db", replicas=2, serviceName="db",
                         volumeClaimTemplates=[{**data, "spec": storage}]),
            )  # fmt: skip
            seen: list[list[str]] = []

            async def complete() -> bool:
                present = names(await scene.list(PODS))
                if not seen or seen[-1] != present:
                    seen.append(present)
                found = await scene.get(STATEFUL_SETS, "db")
                return bool((found.get("status") or {}).get("readyReplicas") == 2)

            await scene.until(complete)
            assert [["db-0"], ["db-0", "db-1"]] == [one for one in seen if one]
            assert ["data-db-0", "data-db-1"] == names(await scene.list(PERSISTENT_VOLUME_CLAIMS))
            pod = await scene.get(PODS, "db-1")
            assert ("db-1", "db") == (pod["spec"]["hostname"], pod["spec"]["subdomain"])
            assert "1" == pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"]

            await scene.patch(STATEFUL_SETS, "db", {"spec": {"template": template("db", "app:2")}})
            done = await scene.status(STATEFUL_SETS, "db", {"updatedReplicas": 2, "readyReplicas": 2})
            assert done["status"]["currentRevision"] == done["status"]["updateRevision"]
            assert [1, 2] == sorted(one["revision"] for one in await scene.list(CONTROLLER_REVISIONS))
            assert ["app:2", "app:2"] == images(await scene.list(PODS))

            await scene.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 0}})
            await scene.until(lambda: empty(scene))
            assert ["data-db-0", "data-db-1"] == names(await scene.list(PERSISTENT_VOLUME_CLAIMS))

    asyncio.run(story())


def test_a_partition_keeps_low_numbers_old_and_claims_may_go_with_their_pods() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(STORAGE_CLASSES, storage_class("fast"))
            spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                    "resources": {"requests": {"storage": "1Gi"}}}  # fmt: skip
            await scene.create(
                STATEFUL_SETS,
                workload("StatefulSet", "db", replicas=3, serviceName="db", podManagementPolicy="Parallel",
                         updateStrategy={"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
                         persistentVolumeClaimRetentionPolicy={"whenDeleted": "Delete", "whenScaled": "Delete"},
                         volumeClaimTemplates=[{"metadata": {"name": "data"}, "spec": spec}]),
            )  # fmt: skip
            await scene.status(STATEFUL_SETS, "db", {"readyReplicas": 3})
            await scene.patch(STATEFUL_SETS, "db", {"spec": {"template": template("db", "app:2")}})
            await scene.status(STATEFUL_SETS, "db", {"updatedReplicas": 1, "readyReplicas": 3})
            assert ["app:1", "app:1", "app:2"] == images(await scene.list(PODS))
            await scene.patch(STATEFUL_SETS, "db", {"spec": {"replicas": 1}})
            await scene.status(STATEFUL_SETS, "db", {"replicas": 1})

            async def one_claim() -> bool:
                return names(await scene.list(PERSISTENT_VOLUME_CLAIMS)) == ["data-db-0"]

            await scene.until(one_claim)
            await scene.delete(STATEFUL_SETS, "db")

            async def no_claim() -> bool:
                return not await scene.list(PERSISTENT_VOLUME_CLAIMS)

            await scene.until(no_claim)

    asyncio.run(story())


def test_a_daemon_set_is_on_every_node_that_fits() -> None:
    async def story() -> None:
        async with simulated(nodes=3) as scene:
            await scene.patch(NODES, "node-2", {"spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}})
            await scene.patch(NODES, "node-1", {"spec": {"unschedulable": True}})
            await scene.create(DAEMON_SETS, workload("DaemonSet", "agent"))
            await scene.status(DAEMON_SETS, "agent", {"desiredNumberScheduled": 2, "numberAvailable": 2})
            assert ["node-0", "node-1"] == sorted(pod["spec"]["nodeName"] for pod in await scene.list(PODS))

            await scene.patch(NODES, "node-2", {"spec": {"taints": None}})
            await scene.status(DAEMON_SETS, "agent", {"desiredNumberScheduled": 3, "numberAvailable": 3})
            await scene.patch(DAEMON_SETS, "agent", {"spec": {"template": template("agent", "app:2")}})
            await scene.status(DAEMON_SETS, "agent", {"updatedNumberScheduled": 3, "numberAvailable": 3})
            assert ["app:2"] * 3 == images(await scene.list(PODS))
            assert 2 == len(await scene.list(CONTROLLER_REVISIONS))

            await scene.delete(DAEMON_SETS, "agent")
            await scene.until(lambda: empty(scene))
            assert [] == await scene.list(CONTROLLER_REVISIONS)

    asyncio.run(story())


def test_jobs_count_their_pods() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(JOBS, job("sums", completions=5, parallelism=2))
            await scene.create(JOBS, job("table", completions=3, parallelism=3, completionMode="Indexed"))
            await scene.create(JOBS, job("fails", code=3, backoffLimit=1))
            await scene.create(JOBS, job("brief", ttlSecondsAfterFinished=0))
            sums = await scene.status(JOBS, "sums", {"succeeded": 5, "uncountedTerminatedPods": {}})
            await scene.status(JOBS, "table", {"succeeded": 3, "completedIndexes": "0-2"})
            await scene.until(lambda: ended(scene, "sums"))
            await scene.until(lambda: ended(scene, "table"))
            await scene.until(lambda: ended(scene, "fails"))
            assert sums["status"]["startTime"]
            assert 5 == len(await scene.list(PODS, "job-name=sums"))
            assert "Complete" == await ended(scene, "sums")
            fails = await scene.get(JOBS, "fails")
            assert ("Failed", 2) == (await ended(scene, "fails"), fails["status"]["failed"])
            await scene.gone(JOBS, "brief")
            for name in ("sums", "table", "fails"):
                await scene.delete(JOBS, name)
            await scene.until(lambda: empty(scene))

    asyncio.run(story())


def test_a_job_can_be_suspended_and_has_a_deadline() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(JOBS, job("long", seconds="1h", parallelism=2, completions=2, suspend=True))
            found = await scene.status(JOBS, "long", {"ready": 0})
            await scene.until(lambda: condition(scene, "long", "Suspended"))
            assert "startTime" not in found["status"]
            await scene.patch(JOBS, "long", {"spec": {"suspend": False}})
            await scene.status(JOBS, "long", {"active": 2, "ready": 2})
            await scene.patch(JOBS, "long", {"spec": {"suspend": True}})
            await scene.until(lambda: empty(scene))
            await scene.create(JOBS, job("late", seconds="1h", activeDeadlineSeconds=1))
            await scene.until(lambda: ended(scene, "late"))
            conditions = (await scene.get(JOBS, "late"))["status"]["conditions"]
            assert ["DeadlineExceeded"] * 2 == [one["reason"] for one in conditions]

    asyncio.run(story())


def test_pods_of_a_job_that_is_deleted_are_let_go() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(JOBS, job("long", seconds="1h"))
            await scene.status(JOBS, "long", {"ready": 1})
            await scene.delete(JOBS, "long")
            await scene.until(lambda: empty(scene))

    asyncio.run(story())


async def empty(scene: Scene) -> bool:
    return not await scene.list(PODS)


async def condition(scene: Scene, name: str, type_: str) -> bool:
    found = await scene.get(JOBS, name)
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(one["type"] == type_ and one["status"] == "True" for one in conditions)


async def ended(scene: Scene, name: str) -> str:
    for type_ in ("Complete", "Failed"):
        if await condition(scene, name, type_):
            return type_
    return ""


def progress(found: Json) -> str:
    reasons = [one["reason"] for one in found["status"]["conditions"] if one["type"] == "Progressing"]
    return str(reasons[0])
