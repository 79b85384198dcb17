"""Pods find nodes: the scheduler on an API server."""

import asyncio

from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.scene import scene


def test_a_pod_is_bound_and_the_world_is_told(server: ApiServer) -> None:
    async def story() -> None:
        async with scene(server) as s:
            await s.hands.create(node("n1"), pod("p"))
            await s.hands.bound("p", to="n1")
            await s.agrees()

            assert "True" == (await s.hands.condition("p"))["status"]
            want = [("Scheduled", f"Successfully assigned {s.hands.namespace}/p to n1")]
            assert want == await s.hands.events("p")

    asyncio.run(story())
