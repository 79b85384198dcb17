"""Permission and its refusal, and pods that are deleted at every moment of their cycle."""

import asyncio
from typing import Any

import pytest

from stowplan.framework.plugin import Plugin
from tests.daemon.api import ApiServer
from tests.daemon.gatekeeping import CONFIGURATION, Guard, Turnstile
from tests.daemon.objects import node, pod
from tests.daemon.scene import Scene, scene, until

GATED: dict[str, Any] = {"configuration": CONFIGURATION, "plugins": [Guard, Turnstile]}


def plugin(s: Scene, kind: type[Plugin]) -> Any:
    """The plugin of the only profile."""
    return s.setup.first.plugins[kind.name]


async def held(s: Scene, name: str) -> str:
    """Wait until the guard holds a pod; its uid."""
    guard = plugin(s, Guard)
    key = f"{s.hands.namespace}/{name}"

    async def is_held() -> bool:
        return key in guard.held and s.scheduler.permits.is_waiting(guard.held[key])

    await until(is_held, f"{name} waits for permission")
    uid: str = guard.held[key]
    return uid


async def stopped(s: Scene, name: str) -> None:
    """Wait until a pod stands before the turnstile."""

    async def is_stopped() -> bool:
        return f"{s.hands.namespace}/{name}" in plugin(s, Turnstile).arrived

    await until(is_stopped, f"{name} stands before the turnstile")


def test_a_held_pod_counts_on_its_node_and_is_bound_when_allowed(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m", labels={"permit": "wait"}))
            uid = await held(s, "p")
            assert s.scheduler.live.cluster.is_assumed(uid)
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            assert await s.hands.node_of("p") is None
            assert "n1" == await s.hands.nominated("p")

            s.scheduler.permits.allow(uid, "Guard")
            await s.hands.bound("p", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_a_refused_pod_gives_its_room_to_another(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m", labels={"permit": "wait"}))
            uid = await held(s, "p")
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            assert s.scheduler.permits.reject(uid, "Guard", "changed my mind")
            await s.hands.bound("q", to="n1")
            text = await s.hands.unschedulable("p")
            assert text.startswith("0/1 nodes are available: 1 ")
            notes = [note for reason, note in await s.hands.events("p") if reason == "FailedScheduling"]
            assert "0/1 nodes are available: 1 changed my mind." == notes[0]
            await s.agrees()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param("no", "0/1 nodes are available: 1 not on my watch.", id="a refusal is told"),
        pytest.param(
            "short",
            "0/1 nodes are available: 1 rejected due to timeout after waiting 200ms at plugin Guard.",
            id="a wait that is too long is told",
        ),
    ],
)
def test_a_pod_without_permission_is_queued_again(server: ApiServer, answer: str, want: str) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1"), pod("p", labels={"permit": answer}))
            assert want == await s.hands.unschedulable("p")
            await s.hands.patch("Pod", "p", {"metadata": {"labels": {"permit": None}}})
            await s.hands.bound("p", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_a_rejection_before_the_binding_is_told_and_tried_again(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            turnstile = plugin(s, Turnstile)
            turnstile.fails = 1
            await s.hands.create(node("n1"), pod("p", labels={"turnstile": ""}))
            await stopped(s, "p")
            turnstile.open.set()
            want = ("FailedScheduling", "the turnstile is stuck")
            assert want == await s.hands.told("p", "FailedScheduling")
            assert "Unschedulable" == (await s.hands.condition("p"))["reason"]
            await s.hands.bound("p")
            await s.agrees()

    asyncio.run(story())


def test_a_pod_deleted_before_it_is_tried_leaves_no_trace(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1"), pod("p", schedulingGates=[{"name": "example.com/hold"}]))

            async def is_gated() -> bool:
                return s.scheduler.live.queue.counts()["gated"] == 1

            await until(is_gated, "the pod is gated")
            await s.hands.delete("Pod", "p")
            await forgotten(s)

    asyncio.run(story())


def test_a_pod_deleted_while_it_waits_in_vain_leaves_no_trace(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="2"))
            await s.hands.unschedulable("p")
            await s.hands.delete("Pod", "p")
            await forgotten(s)

    asyncio.run(story())


@pytest.mark.parametrize("grace", [0, 300], ids=["at once", "with grace"])
def test_a_pod_deleted_while_it_waits_for_permission_frees_its_room(server: ApiServer, grace: int) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m", grace=grace, labels={"permit": "wait"}))
            await held(s, "p")
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            await s.hands.delete("Pod", "p", grace=None)
            await s.hands.bound("q", to="n1")
            await s.hands.gone("Pod", "p")
            await s.agrees()

    asyncio.run(story())


def test_a_pod_deleted_before_its_binding_frees_its_room(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m", labels={"turnstile": ""}))
            await stopped(s, "p")
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            await s.hands.delete("Pod", "p")
            await s.hands.bound("q", to="n1")
            plugin(s, Turnstile).open.set()
            await s.agrees()
            assert ["q"] == list(await s.hands.nodes_of())

    asyncio.run(story())


def test_a_pod_deleted_before_its_binding_and_made_anew_is_another_pod(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m", labels={"turnstile": ""}))
            await stopped(s, "p")
            await s.hands.delete("Pod", "p")
            await s.hands.gone("Pod", "p")
            await s.hands.create(pod("p", cpu="800m"))
            await s.hands.bound("p", to="n1")
            plugin(s, Turnstile).open.set()
            await s.agrees()

    asyncio.run(story())


def test_a_pod_deleted_after_its_binding_frees_its_room(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="800m"))
            await s.hands.bound("p")
            await s.hands.create(pod("q", cpu="800m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            await s.hands.delete("Pod", "p")
            await s.hands.bound("q", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_pods_deleted_at_any_moment_leave_no_trace(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server, **GATED) as s:
            await s.hands.create(node("n1", cpu="2"))

            async def come_and_go(number: int) -> None:
                await s.hands.create(pod(f"p{number}", cpu="100m"))
                await asyncio.sleep(0.002 * (number % 20))
                await s.hands.delete("Pod", f"p{number}")

            await asyncio.gather(*(come_and_go(number) for number in range(60)))
            await forgotten(s)

    asyncio.run(story())


async def forgotten(s: Scene) -> None:
    """Wait until the scheduler knows of no pod at all."""

    async def is_forgotten() -> bool:
        live = s.scheduler.live
        return (
            not sum(live.queue.counts().values())
            and not live.cluster.placed_count
            and not s.scheduler.following.pods.store
        )

    await until(is_forgotten, "no pod is left")
    await s.agrees()
