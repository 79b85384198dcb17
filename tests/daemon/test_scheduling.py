"""Pods find nodes: the scheduler on an API server."""

import asyncio

from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.scene import scene, until

TWO_PROFILES = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
- schedulerName: packer
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: MostAllocated
        resources: [{name: cpu, weight: 1}]
"""


def test_a_pod_is_bound_and_the_world_is_told(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("n1"), pod("p"))
            await s.hands.bound("p", to="n1")
            await s.agrees()

            assert "True" == (await s.hands.condition("p"))["status"]
            assert ("Scheduled", f"Successfully assigned {s.hands.namespace}/p to n1") == (
                await s.hands.told("p", "Scheduled")
            )

    asyncio.run(story())


def test_many_pods_fill_the_nodes_and_the_rest_waits(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(*(node(f"n{i}", cpu="1") for i in range(5)))
            await asyncio.gather(*(s.hands.create(pod(f"p{i}", cpu="250m")) for i in range(25)))

            async def is_full() -> bool:
                return 20 == sum(bool(on) for on in (await s.hands.nodes_of()).values())

            await until(is_full, "twenty pods are bound")
            await s.agrees()
            left = [name for name, on in (await s.hands.nodes_of()).items() if not on]
            assert 5 == len(left)
            assert await s.hands.unschedulable(left[0]) == (
                "0/5 nodes are available: 5 Insufficient cpu. no new claims to deallocate, "
                "preemption: 0/5 nodes are available: 5 No preemption victims found for incoming pod."
            )

    asyncio.run(story())


def test_a_gated_pod_waits_for_its_gate(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("n1"), pod("p", schedulingGates=[{"name": "example.com/hold"}]), pod("q"))
            await s.hands.bound("q")
            await s.settled()
            assert 1 == s.scheduler.live.queue.counts()["gated"]
            assert not [write for write in s.writes if "/pods/p" in write.path]

            await s.hands.patch("Pod", "p", {"spec": {"schedulingGates": None}})
            await s.hands.bound("p", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_a_node_that_arrives_takes_the_pods_that_wait(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("small", cpu="1"), pod("p", cpu="2"))
            await s.hands.unschedulable("p", "Insufficient cpu")
            await s.hands.create(node("big"))
            await s.hands.bound("p", to="big")
            await s.agrees()
            reasons = [reason for reason, _ in await s.hands.events("p")]
            assert "FailedScheduling" == reasons[0]

    asyncio.run(story())


def test_a_taint_and_a_cordon_that_go_let_pods_in(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
            await s.hands.create(node("tainted", taints=[taint]), node("closed", unschedulable=True), pod("p"))
            text = await s.hands.unschedulable("p")
            assert text.startswith("0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unsch")
            await s.hands.patch("Node", "closed", {"spec": {"unschedulable": None, "taints": None}})
            await s.hands.bound("p", to="closed")
            await s.hands.create(pod("q", nodeSelector={"kubernetes.io/hostname": "tainted"}))
            await s.hands.unschedulable("q")
            await s.hands.patch("Node", "tainted", {"spec": {"taints": None}})
            await s.hands.bound("q", to="tainted")
            await s.agrees()

    asyncio.run(story())


def test_a_taint_and_a_cordon_that_come_late_keep_pods_out(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("a"), node("b"), node("c", cpu="2"))
            await s.hands.create(*(pod(f"early-{i}") for i in range(4)))
            for i in range(4):
                await s.hands.bound(f"early-{i}")
            taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
            await s.hands.patch("Node", "a", {"spec": {"taints": [taint]}})
            await s.hands.patch("Node", "b", {"spec": {"unschedulable": True}})

            async def is_seen() -> bool:
                known = [s.scheduler.live.cluster.node(name) for name in ("a", "b")]
                return bool(known[0] and known[0].spec.taints and known[1] and known[1].spec.unschedulable)

            await until(is_seen, "the scheduler sees it")
            await s.hands.create(*(pod(f"late-{i}") for i in range(4)))
            for i in range(4):
                await s.hands.bound(f"late-{i}", to="c")
            await s.agrees()

    asyncio.run(story())


def test_each_profile_places_its_own_pods_and_others_are_left_alone(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, configuration=TWO_PROFILES) as s:
            await s.hands.create(node("busy"), node("idle"))
            await s.hands.create(pod("there", cpu="1", nodeName="busy"))

            async def is_seen() -> bool:
                return s.scheduler.live.cluster.placed_count == 1

            await until(is_seen, "the placed pod is known")
            await s.hands.create(pod("foreign", schedulerName="somebody-else"))
            await s.hands.create(pod("packed", schedulerName="packer"), pod("spread"))
            await s.hands.bound("packed", to="busy")
            await s.hands.bound("spread", to="idle")
            await s.agrees()

            assert await s.hands.node_of("foreign") is None
            assert {} == await s.hands.condition("foreign")
            assert [] == await s.hands.events("foreign")
            await s.hands.told("packed", "Scheduled")
            controllers = {
                event["regarding"]["name"]: event["reportingController"] for event in await s.hands.items("Event")
            }
            assert "packer" == controllers["packed"]

    asyncio.run(story())


def test_somebody_else_binds_a_pod_that_waits(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="2"))
            await s.hands.unschedulable("p")
            await s.hands.bind("p", "n1")

            async def is_placed() -> bool:
                return s.scheduler.live.cluster.placed_count == 1

            await until(is_placed, "the scheduler counts it")
            assert 0 == sum(s.scheduler.live.queue.counts().values())

    asyncio.run(story())
