"""Events are forgotten after their time, other objects are not."""

import asyncio

from stowplan.apiserver.expiry import EventExpiry
from stowplan.clock import FakeClock
from tests.apiserver.running import Session, config_map, running

EVENTS = "/api/v1/namespaces/default/events"


def event(name: str) -> dict[str, object]:
    """An event about a pod."""
    return {"metadata": {"name": name}, "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default"}}


async def names(api: Session) -> list[str]:
    """The events that are left."""
    return [found["metadata"]["name"] for found in (await api.get(EVENTS)).json["items"]]


def test_old_events_go_and_young_ones_stay() -> None:
    async def story() -> None:
        clock = FakeClock()
        async with running(clock=clock) as api:
            expiry = EventExpiry(api.server.api, 100)
            await api.post(EVENTS, event("old"))
            await api.post("/api/v1/namespaces/default/configmaps", config_map("kept"))
            expiry.tick()
            clock.advance(60)
            await api.post(EVENTS, event("young"))
            expiry.tick()
            assert ["old", "young"] == await names(api)
            clock.advance(60)
            expiry.tick()
            assert ["young"] == await names(api)
            assert 200 == (await api.get("/api/v1/namespaces/default/configmaps/kept")).status

    asyncio.run(story())
