"""Two replicas, of which one leads: what happens when it is killed, told to stop, or started anew in the middle."""

import asyncio
import signal
from pathlib import Path

from stowplan.client.errors import NotFound
from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.proxy import proxied
from tests.daemon.replica import LEASE_SECONDS, ended, replica
from tests.daemon.scene import Hands, administrator, scheduling, until

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
PODS = 500
LONG = 60.0


async def holder(hands: Hands) -> str:
    """Who holds the lease; empty when nobody does."""
    try:
        return str((await hands.client.get_json(LEASE))["spec"].get("holderIdentity") or "")
    except NotFound:
        return ""


async def led(hands: Hands, *, by_other_than: str = "", within: float = LONG) -> str:
    """Wait until somebody else leads; who."""

    async def is_led() -> bool:
        return await holder(hands) not in {"", by_other_than}

    await until(is_led, "somebody leads", within=within)
    return await holder(hands)


async def bound(hands: Hands, count: int) -> None:
    """Wait until at least so many pods are bound."""

    async def is_done() -> bool:
        return sum(bool(place) for place in (await hands.nodes_of()).values()) >= count

    await until(is_done, f"{count} pods are bound", within=LONG)


async def forget_the_lease(hands: Hands) -> None:
    """Let nobody wait for a holder of an earlier test."""
    try:
        await hands.client.delete(LEASE)
    except NotFound:
        return


async def prepare(hands: Hands) -> None:
    """Room for all pods but none to spare, and the pods."""
    await forget_the_lease(hands)
    await hands.create(*(node(f"n{i}", cpu="6", pods="60") for i in range(10)))


async def create_pods(hands: Hands) -> None:
    """All pods, as fast as the server takes them."""
    for start in range(0, PODS, 50):
        await asyncio.gather(*(hands.create(pod(f"p{i}", cpu="100m")) for i in range(start, start + 50)))


async def agrees_with_the_api(server: ApiServer, hands: Hands) -> None:
    """A scheduler that starts now reads what the columns of any other must hold; nothing is overcommitted."""
    async with scheduling(server, hands) as s:
        await s.agrees()


def test_the_second_replica_takes_over_from_a_killed_leader(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands, proxied(server) as proxy:
            await prepare(hands)
            with replica(server, proxy.url, tmp_path, "first") as first:
                leader = await led(hands)
                with replica(server, proxy.url, tmp_path, "second"):
                    proxy.delay = 1.0  # hundreds of bindings are on their way at once
                    await create_pods(hands)
                    await bound(hands, 10)
                    first.kill()
                    loop = asyncio.get_running_loop()
                    killed = loop.time()
                    proxy.delay = 0.0
                    left = PODS - sum(bool(place) for place in (await hands.nodes_of()).values())
                    await led(hands, by_other_than=leader)
                    # the lease's duration, counted from when the second last saw it renewed, and one more look
                    assert loop.time() - killed < LEASE_SECONDS + 1.5
                    await bound(hands, PODS)
                    await proxy.has_passed_on(PODS)
            assert left > 50
            assert PODS == len(proxy.bindings)
            assert {1} == set(proxy.bindings.values())
            await agrees_with_the_api(server, hands)

    asyncio.run(story())


def test_a_leader_that_is_told_to_stop_hands_over(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands, proxied(server) as proxy:
            await prepare(hands)
            with replica(server, proxy.url, tmp_path, "first") as first:
                leader = await led(hands)
                with replica(server, proxy.url, tmp_path, "second"):
                    await hands.create(pod("p"))
                    await hands.bound("p")
                    first.send_signal(signal.SIGTERM)
                    assert 0 == await ended(first)
                    await hands.create(pod("q"))
                    await led(hands, by_other_than=leader, within=LEASE_SECONDS + 1.5)
                    await hands.bound("q")

    asyncio.run(story())
