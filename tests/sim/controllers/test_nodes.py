"""Stories of nodes, namespaces, budgets and owners against a real API server."""

import asyncio
from typing import Any

import pytest

from stowplan.client.errors import TooManyRequests
from stowplan.client.paths import (
    CONFIG_MAPS,
    DEPLOYMENTS,
    LEASES,
    NAMESPACES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    Resource,
)
from tests.sim.objects import template, workload
from tests.sim.scene import Scene, simulated

Json = dict[str, Any]

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


def pod(name: str, node: str = "", **spec: Any) -> Json:
    placed = {"nodeName": node} if node else {}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {**template(name)["spec"], **placed, **spec}}  # fmt: skip


async def taints(scene: Scene, name: str) -> list[tuple[str, str]]:
    found = (await scene.get(NODES, name))["spec"].get("taints") or []
    return sorted((taint["key"].rpartition("/")[2], taint["effect"]) for taint in found)


def test_nodes_are_ready_and_renew_their_leases() -> None:
    async def story() -> None:
        async with simulated(nodes=2) as scene:
            for name in ("node-0", "node-1"):
                node = await scene.get(NODES, name)
                assert {"Ready": "True"}.items() <= {
                    one["type"]: one["status"] for one in node["status"]["conditions"]
                }.items()

            async def leased() -> bool:
                return len(await scene.list(LEASES, namespace="kube-node-lease")) == 2

            await scene.until(leased)
            (lease, _) = await scene.list(LEASES, namespace="kube-node-lease")
            assert ("node-0", 40) == (lease["spec"]["holderIdentity"], lease["spec"]["leaseDurationSeconds"])
            await scene.delete(NODES, "node-0")

            async def cleaned() -> bool:
                return len(await scene.list(LEASES, namespace="kube-node-lease")) == 1

            await scene.until(cleaned)

    asyncio.run(story())


def test_a_node_that_somebody_adds_comes_to_life_too() -> None:
    async def story() -> None:
        async with simulated(nodes=0, scheduled=False) as scene:
            await scene.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine"}})

            async def alive() -> bool:
                node = await scene.get(NODES, "mine")
                ready = [one["status"] for one in node["status"].get("conditions") or () if one["type"] == "Ready"]
                return ready == ["True"] and "cpu" in (node["status"].get("allocatable") or {})

            await scene.until(alive)
            assert "mine" == (await scene.get(NODES, "mine"))["metadata"]["labels"]["kubernetes.io/hostname"]
            await scene.create(PODS, pod("p", "mine"))
            await scene.status(PODS, "p", {"phase": "Running"})

    asyncio.run(story())


def test_a_node_of_somebody_elses_kubelet_is_left_alone() -> None:
    async def story() -> None:
        async with simulated(nodes=0, scheduled=False) as scene:
            meta = {"name": "theirs", "annotations": {"sim.stowplan.dev/kubelet": "none"}}
            await scene.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": meta})
            await scene.create(PODS, pod("p", "theirs"))
            await asyncio.sleep(0.3)
            assert "conditions" not in ((await scene.get(NODES, "theirs")).get("status") or {})
            assert "Pending" == (await scene.get(PODS, "p"))["status"]["phase"]

    asyncio.run(story())


def test_cordons_and_failures_are_taints() -> None:
    async def story() -> None:
        async with simulated(nodes=1, scheduled=False) as scene:
            mine = {"key": "mine", "effect": "NoSchedule"}
            await scene.patch(NODES, "node-0", {"spec": {"unschedulable": True, "taints": [mine]}})

            async def cordoned() -> bool:
                return await taints(scene, "node-0") == [("mine", "NoSchedule"), ("unschedulable", "NoSchedule")]

            await scene.until(cordoned)
            failing = {"metadata": {"annotations": {"sim.stowplan.dev/failure": "NotReady"}}}
            await scene.patch(NODES, "node-0", {"spec": {"unschedulable": False}, **failing})

            async def failed() -> bool:
                return await taints(scene, "node-0") == [
                    ("mine", "NoSchedule"), ("not-ready", "NoExecute"), ("not-ready", "NoSchedule"),
                ]  # fmt: skip

            await scene.until(failed)
            await scene.patch(NODES, "node-0", {"metadata": {"annotations": {"sim.stowplan.dev/failure": None}}})

            async def well() -> bool:
                return await taints(scene, "node-0") == [("mine", "NoSchedule")]

            await scene.until(well)

    asyncio.run(story())


def test_a_taint_without_toleration_drives_pods_away() -> None:
    async def story() -> None:
        async with simulated(nodes=1, scheduled=False) as scene:
            always = [{"key": "out", "operator": "Exists", "effect": "NoExecute"}]
            brief = [{**always[0], "tolerationSeconds": 1}]
            await scene.create(PODS, pod("goes", "node-0"))
            await scene.create(PODS, pod("later", "node-0", tolerations=brief))
            await scene.create(PODS, pod("stays", "node-0", tolerations=always))
            await scene.status(PODS, "stays", {"phase": "Running"})
            await scene.patch(NODES, "node-0", {"spec": {"taints": [{"key": "out", "effect": "NoExecute"}]}})
            await scene.gone(PODS, "goes")
            await scene.get(PODS, "stays")
            await scene.gone(PODS, "later")
            await scene.get(PODS, "stays")

    asyncio.run(story())


def test_pods_do_not_outlive_their_node() -> None:
    async def story() -> None:
        async with simulated(nodes=1, scheduled=False) as scene:
            await scene.create(PODS, pod("p", "node-0"))
            await scene.create(PODS, pod("lost", "never-there"))
            await scene.status(PODS, "p", {"phase": "Running"})
            await scene.delete(NODES, "node-0")
            await scene.gone(PODS, "p")
            await scene.gone(PODS, "lost")

    asyncio.run(story())


def test_a_budget_counts_and_holds() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=4))
            await scene.status(DEPLOYMENTS, "web", {"availableReplicas": 4})
            budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
                      "spec": {"maxUnavailable": "25%", "selector": {"matchLabels": {"app": "web"}}}}  # fmt: skip
            await scene.create(POD_DISRUPTION_BUDGETS, budget)
            wanted = {"expectedPods": 4, "desiredHealthy": 3, "currentHealthy": 4, "disruptionsAllowed": 1}
            await scene.status(POD_DISRUPTION_BUDGETS, "web", wanted)
            first, second, *_ = [one["metadata"]["name"] for one in await scene.list(PODS)]
            await evict(scene, first)
            with pytest.raises(TooManyRequests):
                await evict(scene, second)
            await scene.gone(PODS, first)
            await scene.status(POD_DISRUPTION_BUDGETS, "web", wanted)
            await evict(scene, second)

    asyncio.run(story())


async def evict(scene: Scene, name: str) -> None:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    await scene.client.post(PODS.item(name, "default", "eviction"), body)


def test_a_namespace_takes_everything_in_it_along() -> None:
    async def story() -> None:
        async with simulated() as scene:
            await define_widgets(scene)
            await scene.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
            await scene.create(DEPLOYMENTS, workload("Deployment", "web", replicas=2), "team")
            held = {"apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}  # fmt: skip
            await scene.create(CONFIG_MAPS, held, "team")
            await scene.create(WIDGETS, widget("w"), "team")

            async def running() -> bool:
                pods = await scene.list(PODS, namespace="team")
                return [one["status"]["phase"] for one in pods] == ["Running"] * 2

            await scene.until(running)
            await scene.delete(NAMESPACES, "team")

            async def only_held() -> bool:
                left = [await scene.list(kind, namespace="team") for kind in (PODS, DEPLOYMENTS, REPLICA_SETS, WIDGETS)]
                conditions = (await scene.get(NAMESPACES, "team"))["status"].get("conditions") or []
                return not any(left) and any("configmaps." in one["message"] for one in conditions)

            await scene.until(only_held)
            path = CONFIG_MAPS.item("held", "team")
            await scene.client.patch(path, {"metadata": {"finalizers": None}})
            await scene.gone(NAMESPACES, "team")

    asyncio.run(story())


def test_owners_of_any_kind_take_their_dependents_along() -> None:
    async def story() -> None:
        async with simulated(nodes=0, scheduled=False) as scene:
            await define_widgets(scene)
            owner = await scene.create(WIDGETS, widget("owner"))
            other = await scene.create(CONFIG_MAPS, config_map("other"))
            await scene.create(CONFIG_MAPS, config_map("only", owner))
            await scene.create(CONFIG_MAPS, config_map("shared", owner, other))
            absent = {**owner, "metadata": {"name": "absent", "uid": "was-never-there"}}
            await scene.create(CONFIG_MAPS, config_map("stray", absent))
            await scene.gone(CONFIG_MAPS, "stray")
            await scene.get(CONFIG_MAPS, "only")
            await scene.delete(WIDGETS, "owner")
            await scene.gone(CONFIG_MAPS, "only")

            async def released() -> bool:
                owners = (await scene.get(CONFIG_MAPS, "shared"))["metadata"]["ownerReferences"]
                return [one["name"] for one in owners] == ["other"]

            await scene.until(released)

    asyncio.run(story())


async def define_widgets(scene: Scene) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"}, "spec": spec}  # fmt: skip
    await scene.create(DEFINITIONS, body)
    # The collector hears of a new kind a moment later.
    await asyncio.sleep(0.8)


def widget(name: str) -> Json:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


def config_map(name: str, *owners: Json) -> Json:
    references = [
        {"apiVersion": one["apiVersion"], "kind": one["kind"], "name": one["metadata"]["name"],
         "uid": one["metadata"]["uid"]} for one in owners
    ]  # fmt: skip
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": references}}
