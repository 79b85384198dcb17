"""Important pods make room: victims, budgets, nominations, on an API server."""

import asyncio
from typing import Any

import pytest

from stowplan.daemon.evicting import Evictor
from tests.daemon.api import ApiServer
from tests.daemon.gatekeeping import CONFIGURATION, Guard, Turnstile
from tests.daemon.objects import Json, node, pod
from tests.daemon.scene import Scene, scene, until


def priority_class(scene: Scene, value: int, policy: str = "PreemptLowerPriority") -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": f"{scene.hands.namespace}-{value}"},
        "value": value,
        "preemptionPolicy": policy,
    }


async def prepared(s: Scene, *values: int) -> dict[int, str]:
    """Priority classes of these values, by value."""
    await s.hands.create(*(priority_class(s, value) for value in values))
    return {value: f"{s.hands.namespace}-{value}" for value in values}


def test_a_more_important_pod_takes_the_place_of_a_lesser_one(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 100)
            await s.hands.create(node("n1", cpu="1"), pod("low", cpu="800m", priorityClassName=classes[10]))
            await s.hands.bound("low")
            high = pod("high", cpu="800m", priorityClassName=classes[100])
            await s.hands.create(high)
            await s.hands.bound("high", to="n1")
            await s.hands.gone("Pod", "low")
            await s.agrees()

            uid = (await s.hands.get("Pod", "high"))["metadata"]["uid"]
            assert ("Preempted", f"Preempted by pod {uid} on node n1") == await s.hands.told("low", "Preempted")
            assert not s.scheduler.live.queue.nominations.by_node
            evictions = [
                w for w in s.writes if w.method in {"PATCH", "DELETE"} and w.path.endswith(("/low", "low/status"))
            ]
            assert ["PATCH", "DELETE"] == [w.method for w in evictions]
            told = evictions[0].body["status"]["conditions"][0]
            assert ("DisruptionTarget", "PreemptionByScheduler") == (told["type"], told["reason"])
            assert "default-scheduler: preempting to accommodate a higher priority pod" == told["message"]

    asyncio.run(story())


def test_a_victim_that_leaves_slowly_keeps_the_nomination_waiting(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 50, 100)
            await s.hands.create(node("n1", cpu="1"))
            await s.hands.create(pod("low", cpu="800m", grace=300, priorityClassName=classes[10]))
            await s.hands.bound("low")
            await s.hands.create(pod("high", cpu="800m", priorityClassName=classes[100]))
            text = await s.hands.unschedulable("high")
            assert text == (
                "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
                "preemption: not eligible due to a terminating pod on the nominated node."
            ) or text.startswith("0/1 nodes are available: 1 Insufficient cpu.")
            assert "n1" == await s.hands.nominated("high")
            assert (await s.hands.get("Pod", "low"))["metadata"]["deletionTimestamp"]

            # a lesser pod must not slip into the room that is being made
            await s.hands.create(pod("between", cpu="800m", priorityClassName=classes[50]))
            await s.hands.unschedulable("between")
            await s.hands.delete("Pod", "low")
            await s.hands.bound("high", to="n1")
            await s.agrees()
            assert await s.hands.node_of("between") is None

    asyncio.run(story())


def test_a_budget_steers_to_the_node_where_it_is_not_violated(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 100)
            budget = {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": "keep"},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}},
                "status": {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1},
            }
            await s.hands.create(node("n1", cpu="1"), node("n2", cpu="1"), budget)
            for name, place in (("kept", "n1"), ("free", "n2")):
                here = {"kubernetes.io/hostname": place}
                await s.hands.create(
                    pod(name, cpu="800m", labels={"app": name}, nodeSelector=here, priorityClassName=classes[10])
                )
                await s.hands.bound(name, to=place)
            await s.hands.create(pod("high", cpu="800m", priorityClassName=classes[100]))
            await s.hands.bound("high", to="n2")
            await s.agrees()
            assert "n1" == await s.hands.node_of("kept")

    asyncio.run(story())


def test_a_pod_that_never_preempts_waits(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(priority_class(s, 100, "Never"))
            await s.hands.create(node("n1", cpu="1"), pod("low", cpu="800m"))
            await s.hands.bound("low")
            await s.hands.create(pod("high", cpu="800m", priorityClassName=f"{s.hands.namespace}-100"))
            text = await s.hands.unschedulable("high")
            assert "preemption: not eligible due to preemptionPolicy=Never." in text
            await s.agrees()
            assert "n1" == await s.hands.node_of("low")
            await s.hands.delete("Pod", "low")
            await s.hands.bound("high", to="n1")

    asyncio.run(story())


def test_many_preemptors_evict_no_more_than_they_need(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 100)
            await s.hands.create(*(node(f"n{i}", cpu="1") for i in range(6)))
            await s.hands.create(*(pod(f"low-{i}", cpu="800m", priorityClassName=classes[10]) for i in range(6)))
            for i in range(6):
                await s.hands.bound(f"low-{i}")
            await asyncio.gather(
                *(s.hands.create(pod(f"high-{i}", cpu="800m", priorityClassName=classes[100])) for i in range(4))
            )
            for i in range(4):
                await s.hands.bound(f"high-{i}")
            await s.agrees()
            assert 2 == len(await s.hands.nodes_of("low"))

    asyncio.run(story())


def test_a_deleted_preemptor_leaves_no_nomination(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 50, 100)
            await s.hands.create(node("n1", cpu="1"))
            await s.hands.create(pod("low", cpu="800m", grace=300, priorityClassName=classes[10]))
            await s.hands.bound("low")
            await s.hands.create(pod("high", cpu="800m", priorityClassName=classes[100]))
            await s.hands.unschedulable("high")
            await s.hands.create(pod("between", cpu="800m", priorityClassName=classes[50]))
            await s.hands.unschedulable("between")
            await s.hands.delete("Pod", "high")
            await s.hands.gone("Pod", "high")
            await s.hands.delete("Pod", "low")
            await s.hands.bound("between", to="n1")
            await s.agrees()
            assert not s.scheduler.live.queue.nominations.by_node

    asyncio.run(story())


@pytest.mark.parametrize(
    ("label", "want"),
    [
        pytest.param("permit", "waiting on permit for pod: preempted", id="waits for permission"),
        pytest.param(
            "turnstile", 'running PreBind plugin "Turnstile": preempted by DefaultPreemption', id="is about to be bound"
        ),
    ],
)
def test_a_victim_that_is_not_bound_yet_steps_back_and_is_tried_again(server: ApiServer, label: str, want: str) -> None:
    async def story() -> None:
        async with scene(server, configuration=CONFIGURATION, plugins=[Guard, Turnstile]) as s:
            classes = await prepared(s, 10, 100)
            await s.hands.create(node("n1", cpu="1"))
            await s.hands.create(pod("low", cpu="800m", labels={label: "wait"}, priorityClassName=classes[10]))

            async def is_held() -> bool:
                return any(assumed.pod.metadata.name == "low" for assumed in s.scheduler.live.cluster.assumed())

            await until(is_held, "low is on its way")
            await s.hands.create(pod("high", cpu="800m", priorityClassName=classes[100]))
            await s.hands.bound("high", to="n1")
            _, note = await s.hands.told("low", "Preempted")
            assert note.endswith("on node n1 (in kube-scheduler memory).")
            notes = [note for reason, note in await s.hands.events("low") if reason == "FailedScheduling"]
            assert want == notes[0]

            await s.hands.patch("Pod", "low", {"metadata": {"labels": {label: None}}})
            await s.hands.create(node("n2", cpu="1"))
            await s.hands.bound("low", to="n2")
            await s.agrees()

    asyncio.run(story())


def test_a_preemptor_whose_victim_leaves_by_itself_is_not_left_waiting(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        async with scene(server) as s:
            classes = await prepared(s, 10, 100)
            await s.hands.create(node("n1", cpu="1"), pod("low", cpu="800m", priorityClassName=classes[10]))
            await s.hands.bound("low")
            evict = Evictor._evict

            async def evict_late(self: Evictor, *about: Any) -> bool:
                await s.hands.delete("Pod", "low")

                async def is_known() -> bool:
                    return s.scheduler.live.queue.counts()["gated"] == 1

                await until(is_known, "its end woke the preemptor, which may not be tried yet")
                self._last_victims.clear()
                return await evict(self, *about)

            monkeypatch.setattr(Evictor, "_evict", evict_late)
            await s.hands.create(pod("high", cpu="800m", priorityClassName=classes[100]))
            await s.hands.bound("high", to="n1")
            assert [] == [reason for reason, _ in await s.hands.events("low") if reason == "Preempted"]
            await s.agrees()

    asyncio.run(story())
