"""What clusters do to a scheduler: after each fault every pod is bound once, none is forgotten, no capacity is lost."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from random import Random
from typing import final

import pytest

from stowplan.columns.pods import PodInfo
from stowplan.framework.extender import ExtenderAnswer, ExtenderError, Victims
from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.proxy import Proxy, proxied
from tests.daemon.scene import Hands, Scene, administrator, scene, scheduling, until

PATIENCE = 40.0
MINUTE = 60.0


async def all_bound(hands: Hands, count: int) -> None:
    """Wait until so many pods exist and all are bound."""

    async def is_done() -> bool:
        places = await hands.nodes_of()
        return len(places) == count and all(places.values())

    await until(is_done, f"{count} pods are bound", within=PATIENCE)


async def create_at_leisure(hands: Hands, count: int, seconds: float) -> None:
    """Create pods one after another over some time, whatever happens to the server meanwhile."""
    for number in range(count):
        await hands.create(pod(f"p{number}", cpu="100m"))
        await asyncio.sleep(seconds / count)


def once_each(proxy: Proxy, count: int) -> None:
    """Each of so many pods was bound exactly once."""
    assert count == len(proxy.bindings)
    assert {1} == set(proxy.bindings.values())


@pytest.mark.parametrize("status", [409, 429, 500])
def test_a_fifth_of_the_bindings_is_refused(server: ApiServer, status: int) -> None:
    async def story() -> None:
        dice = Random(status)

        def refuse(method: str, path: str) -> int | None:
            return status if method == "POST" and path.endswith("/binding") and dice.random() < 0.2 else None

        async with administrator(server) as hands, proxied(server) as proxy:
            proxy.refuse = refuse
            async with scheduling(server, hands, url=proxy.url) as s:
                await hands.create(*(node(f"n{i}", cpu="2") for i in range(5)))
                await asyncio.gather(*(hands.create(pod(f"p{i}", cpu="100m")) for i in range(100)))
                await all_bound(hands, 100)
                await s.agrees()
                assert proxy.refused[status] > 5
                once_each(proxy, 100)

    asyncio.run(story())


@pytest.mark.timeout(4 * MINUTE)
def test_watches_break_off_for_a_minute(server: ApiServer) -> None:
    async def story() -> None:
        dice = Random(7)
        async with (
            administrator(server) as hands,
            proxied(server) as proxy,
            scheduling(server, hands, url=proxy.url) as s,
        ):
            await hands.create(*(node(f"n{i}", cpu="8") for i in range(5)))

            async def cut() -> None:
                while True:
                    await asyncio.sleep(dice.random() * 0.4)
                    proxy.cut_watches()

            cutting = asyncio.create_task(cut())
            await create_at_leisure(hands, 300, MINUTE)
            await asyncio.gather(*(hands.delete("Pod", f"p{i}") for i in range(0, 300, 3)))
            cutting.cancel()
            await all_bound(hands, 200)
            await s.agrees()
            assert proxy.cuts > 100
            assert {1} == set(proxy.bindings.values())

    asyncio.run(story())


def test_the_server_is_killed_and_comes_back(own_server: ApiServer) -> None:
    async def story() -> None:
        async with administrator(own_server) as hands, scheduling(own_server, hands) as s:
            await hands.create(*(node(f"n{i}", cpu="2") for i in range(5)))
            await asyncio.gather(*(hands.create(pod(f"early-{i}", cpu="100m")) for i in range(30)))
            await asyncio.to_thread(own_server.kill)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(own_server.start)
            early = len(await hands.nodes_of("early"))
            await asyncio.gather(*(hands.create(pod(f"late-{i}", cpu="100m")) for i in range(30)))
            assert 30 == early
            await all_bound(hands, 60)
            await agrees_at_last(s)

    asyncio.run(story())


async def agrees_at_last(s: Scene) -> None:
    """Wait until the watches are back and the columns hold what the API holds."""

    async def is_confirmed() -> bool:
        return s.scheduler.live.cluster.placed_count == 60 and not list(s.scheduler.live.cluster.assumed())

    await until(is_confirmed, "all bindings are confirmed", within=PATIENCE)
    await s.agrees()


@final
class Oracle:
    """An extender of this process: it may hang, fail, drop nodes, prefer one, and bind."""

    name = "oracle"
    filters = True
    prioritizes = True
    preempts = False
    weight = 1

    def __init__(self, *, ignorable: bool = False, binds: bool = False) -> None:
        self.ignorable = ignorable
        self.binds = binds
        self.let_go = threading.Event()
        self.let_go.set()
        self.asked = threading.Event()
        self.failing = False
        self.dropped: dict[str, str] = {}
        self.favourite = ""
        self.bound: list[tuple[str, str]] = []
        self.hands: Hands | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def interested(self, pod: PodInfo) -> bool:
        """In all pods."""
        return True

    def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderAnswer:
        """Hang, fail or answer."""
        self.asked.set()
        assert self.let_go.wait(20)
        if self.failing:
            raise ExtenderError("the oracle is silent")
        return ExtenderAnswer([name for name in node_names if name not in self.dropped], self.dropped, {})

    def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """All for one."""
        return {name: 10 * (name == self.favourite) for name in node_names}

    def preempt(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """No objection."""
        return victims

    def bind(self, pod: PodInfo, node_name: str) -> None:
        """Bind by hand, from the thread that asks."""
        assert self.hands is not None
        assert self.loop is not None
        asyncio.run_coroutine_threadsafe(self.hands.bind(pod.pod.metadata.name, node_name), self.loop).result(10)
        self.bound.append((pod.pod.metadata.name, node_name))


def test_an_extender_judges_prefers_and_binds(server: ApiServer) -> None:
    async def story() -> None:
        oracle = Oracle(binds=True)
        oracle.dropped, oracle.favourite = {"n1": "bad omen"}, "n3"
        async with scene(server, extenders=[oracle]) as s:
            oracle.hands, oracle.loop = s.hands, asyncio.get_running_loop()
            await s.hands.create(node("n1"), node("n2"), node("n3"), pod("p"))
            await s.hands.bound("p", to="n3")
            await s.agrees()
            assert [("p", "n3")] == oracle.bound
            assert not [write for write in s.writes if write.path.endswith("/binding")]

    asyncio.run(story())


def test_what_an_extender_drops_is_told(server: ApiServer) -> None:
    async def story() -> None:
        oracle = Oracle()
        oracle.dropped = {"n1": "bad omen"}
        async with scene(server, extenders=[oracle]) as s:
            await s.hands.create(node("n1"), pod("p"))
            text = await s.hands.unschedulable("p")
            assert text.startswith("0/1 nodes are available: 1 bad omen.")
            oracle.dropped = {}
            await s.hands.create(node("n2"))
            await s.hands.bound("p")
            await s.agrees()

    asyncio.run(story())


def test_an_extender_that_fails_delays_its_pod_only_until_it_answers(server: ApiServer) -> None:
    async def story() -> None:
        oracle = Oracle()
        oracle.failing = True
        async with scene(server, extenders=[oracle]) as s:
            await s.hands.create(node("n1"), pod("p"))
            text = await s.hands.unschedulable("p")
            assert "the oracle is silent" in text
            assert "SchedulerError" == (await s.hands.condition("p"))["reason"]
            oracle.failing = False
            await s.hands.bound("p", to="n1")
            await s.agrees()

    asyncio.run(story())


def test_an_extender_that_hangs_does_not_blind_the_scheduler(server: ApiServer) -> None:
    async def story() -> None:
        oracle = Oracle()
        async with scene(server, extenders=[oracle]) as s:
            await s.hands.create(node("n1"), node("n2"))
            oracle.let_go.clear()
            await s.hands.create(pod("p"))
            await asyncio.to_thread(oracle.asked.wait, 10)

            # the world goes on: the pod that is being judged goes, others come, a node is closed
            await s.hands.delete("Pod", "p")
            await s.hands.create(*(pod(f"q{i}") for i in range(10)))
            await s.hands.patch("Node", "n1", {"spec": {"unschedulable": True}})

            async def is_known() -> bool:
                return len(s.scheduler.following.pods.store) == 10

            await until(is_known, "the watch is followed")
            oracle.let_go.set()
            for i in range(10):
                await s.hands.bound(f"q{i}", to="n2")
            await s.agrees()

    asyncio.run(story())
