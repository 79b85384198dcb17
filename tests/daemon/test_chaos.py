"""Everything at once: pods and nodes come and go, plugins hold and refuse, the server refuses, watches break off."""

import asyncio
import contextlib
from collections.abc import Coroutine
from random import Random
from typing import Any, final

import pytest

from stowplan.client.errors import ClientError
from tests.daemon.api import ApiServer
from tests.daemon.gatekeeping import CONFIGURATION, Guard, Turnstile
from tests.daemon.objects import HOSTNAME, Json, node, pod
from tests.daemon.proxy import Proxy, proxied
from tests.daemon.scene import Scene, administrator, scheduling, until

PODS = 120
SECONDS = 5.0
REFUSALS = (409, 429, 500)


@final
class Turmoil:
    """Makes trouble by the dice for some seconds, then peace."""

    def __init__(self, s: Scene, proxy: Proxy, dice: Random) -> None:
        self._s = s
        self._proxy = proxy
        self._dice = dice
        self._guard: Any = s.setup.first.plugins[Guard.name]
        self._turnstile: Any = s.setup.first.plugins[Turnstile.name]

    async def rage(self) -> None:
        """All at the same time."""
        s = self._s
        self._proxy.refuse = self._refuse
        for value in (10, 100):
            await s.hands.create(
                {
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": f"{s.hands.namespace}-{value}"},
                    "value": value,
                }
            )
        await s.hands.create(*(node(f"n{i}", cpu="2") for i in range(5)))
        works: list[Coroutine[Any, Any, None]] = [
            self._pods_come(),
            self._pods_go(),
            self._nodes_change(),
            self._plugins_act(),
            self._watches_break(),
        ]
        tasks = [asyncio.create_task(work) for work in works]
        kubelet = asyncio.create_task(self._kubelets())
        try:
            await asyncio.gather(*tasks)
            await self._make_peace()
        finally:
            kubelet.cancel()
            await asyncio.gather(kubelet, return_exceptions=True)

    def _refuse(self, method: str, path: str) -> int | None:
        if self._dice.random() < (0.03 if method == "GET" else 0.1):
            return self._dice.choice(REFUSALS)
        return None

    def _a_pod(self, number: int) -> Json:
        dice, spec = self._dice, dict[str, Any]()
        labels = {"app": f"a{number % 4}"}
        match dice.randrange(8):
            case 0:
                labels["permit"] = "wait"
            case 1:
                labels["turnstile"] = ""
            case 2:
                spec["schedulingGates"] = [{"name": "example.com/hold"}]
            case 3:
                term = {"labelSelector": {"matchLabels": labels.copy()}, "topologyKey": HOSTNAME}
                spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
            case 4 | 5:
                spec["priorityClassName"] = f"{self._s.hands.namespace}-{dice.choice((10, 100))}"
        grace = dice.choice((0, 0, 1))
        return pod(f"p{number}", cpu=f"{dice.randrange(50, 700)}m", labels=labels, grace=grace, **spec)

    async def _pods_come(self) -> None:
        for number in range(PODS):
            await self._s.hands.create(self._a_pod(number))
            await asyncio.sleep(self._dice.random() * 2 * SECONDS / PODS)

    async def _pods_go(self) -> None:
        for _ in range(PODS // 2):
            await asyncio.sleep(self._dice.random() * 4 * SECONDS / PODS)
            with contextlib.suppress(ClientError):
                await self._s.hands.delete("Pod", f"p{self._dice.randrange(PODS)}", self._dice.choice((0, None)))

    async def _nodes_change(self) -> None:
        for _ in range(15):
            await asyncio.sleep(self._dice.random() * 2 * SECONDS / 15)
            name = f"n{self._dice.randrange(5)}"
            with contextlib.suppress(ClientError):
                match self._dice.randrange(3):
                    case 0:
                        await self._s.hands.patch("Node", name, {"spec": {"unschedulable": True}})
                    case 1:
                        await self._s.hands.patch("Node", name, {"spec": {"unschedulable": None, "taints": None}})
                    case 2:
                        await self._s.hands.delete("Node", name)
                        await self._empty(name)
                        await self._s.hands.create(node(name, cpu="2"))

    async def _empty(self, name: str) -> None:
        """Pods do not outlive their node."""
        for one in await self._s.hands.items("Pod"):
            if one["spec"].get("nodeName") == name:
                with contextlib.suppress(ClientError):
                    await self._s.hands.delete("Pod", one["metadata"]["name"])

    async def _plugins_act(self) -> None:
        for _ in range(25):
            await asyncio.sleep(SECONDS / 25)
            for waiting in self._s.scheduler.permits.waiting():
                if self._dice.random() < 0.5:
                    self._s.scheduler.permits.allow(waiting.pod.uid, Guard.name)
                else:
                    self._s.scheduler.permits.reject(waiting.pod.uid, Guard.name, "not today")
            self._turnstile.fails = self._dice.randrange(2)
            if self._dice.random() < 0.5:
                self._turnstile.open.set()
            else:
                self._turnstile.open.clear()

    async def _watches_break(self) -> None:
        for _ in range(10):
            await asyncio.sleep(self._dice.random() * 2 * SECONDS / 10)
            self._proxy.cut_watches()

    async def _kubelets(self) -> None:
        """End what has to end."""
        while True:
            for one in await self._s.hands.items("Pod"):
                if one["metadata"].get("deletionTimestamp"):
                    with contextlib.suppress(ClientError):
                        await self._s.hands.delete("Pod", one["metadata"]["name"])
            await asyncio.sleep(0.2)

    async def _make_peace(self) -> None:
        """No more faults, room for everybody, and no gate is closed."""
        self._proxy.refuse = lambda _method, _path: None
        self._turnstile.fails = 0
        self._turnstile.open.set()
        await self._s.hands.create(*(node(f"big-{i}", cpu="64") for i in range(PODS // 4)))
        for one in await self._s.hands.items("Node"):
            await self._s.hands.patch("Node", one["metadata"]["name"], {"spec": {"unschedulable": None}})

        async def all_bound() -> bool:
            for waiting in self._s.scheduler.permits.waiting():
                self._s.scheduler.permits.allow(waiting.pod.uid, Guard.name)
            left = [one for one in await self._s.hands.items("Pod") if not one["spec"].get("nodeName")]
            for one in left:
                if one["spec"].get("schedulingGates"):
                    with contextlib.suppress(ClientError):
                        await self._s.hands.patch("Pod", one["metadata"]["name"], {"spec": {"schedulingGates": None}})
            return not left

        await until(all_bound, "all pods are bound", within=30.0)


@pytest.mark.parametrize("seed", range(1, 9))
def test_nothing_is_lost_in_turmoil(server: ApiServer, seed: int) -> None:
    async def story() -> None:
        async with (
            administrator(server) as hands,
            proxied(server) as proxy,
            scheduling(server, hands, url=proxy.url, configuration=CONFIGURATION, plugins=[Guard, Turnstile]) as s,
        ):
            await Turmoil(s, proxy, Random(seed)).rage()

            async def is_seen() -> bool:
                pods = s.scheduler.following.pods.store
                return len(pods) == len(await hands.nodes_of()) and all(one.spec.node_name for one in pods)

            await until(is_seen, "the watch has caught up")
            await s.agrees()
            assert not s.scheduler.live.queue.nominations.by_node
            assert {1} == set(proxy.bindings.values())
            assert proxy.cuts > 10

    asyncio.run(story())
