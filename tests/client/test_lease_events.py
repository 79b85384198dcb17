"""A Lease that changes hands leaves events, and a server that refuses them costs nothing."""

import random

from stowplan.client.leader import LeaderElector, LeaseSettings
from stowplan.client.lease_events import LeaseEvents
from tests.client.fake_server import FakeObject, FakeServer, refuse
from tests.client.virtual_time import LoopClock, run_virtual

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
EVENTS = "/api/v1/namespaces/kube-system/events"


async def lead_once(server: FakeServer) -> None:
    """Become leader and stop."""
    FakeObject(server, LEASES, "kube-scheduler")
    async with server.listening(), server.client() as client, server.client() as event_client:
        events = LeaseEvents(event_client, component="default-scheduler", clock=LoopClock())
        elector = LeaderElector(
            client, LeaseSettings(), identity="h_1", clock=LoopClock(), rng=random.Random(1), events=events
        )

        async def work() -> None:
            await events.drained()

        await elector.run(work)
        await events.drained()


def test_both_ends_are_told() -> None:
    server = FakeServer()
    run_virtual(lead_once(server))
    became, stopped = [seen.json for seen in server.seen if seen.path == EVENTS]

    assert (became["message"], stopped["message"]) == ("h_1 became leader", "h_1 stopped leading")
    assert became["involvedObject"] == {
        "kind": "Lease",
        "namespace": "kube-system",
        "name": "kube-scheduler",
        "uid": "",
        "apiVersion": "coordination.k8s.io/v1",
        "resourceVersion": "101",
    }
    assert (became["reason"], became["type"], became["count"]) == ("LeaderElection", "Normal", 1)
    assert became["source"] == {"component": "default-scheduler"}
    assert became["firstTimestamp"] == became["lastTimestamp"]


def test_a_refusal_costs_nothing() -> None:
    server = FakeServer()

    async def story() -> None:
        server.routes[EVENTS] = lambda request: server._play(request, refuse(403, "Forbidden"))
        await lead_once(server)
        assert len([seen for seen in server.seen if seen.path == EVENTS]) == 2

    run_virtual(story())
