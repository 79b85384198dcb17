"""One replica leads at a time, and another takes over when it stops."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, final

import pytest

from stowplan.client.errors import ConfigError, LeadershipLost
from stowplan.client.leader import LeaderElector, LeaseSettings, new_identity
from stowplan.client.transport import ApiClient
from tests.client.fake_server import Answer, FakeObject, FakeServer
from tests.client.virtual_time import LoopClock, run_virtual, until

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


@final
@dataclass
class Replica:
    """A candidate and what it did."""

    elector: LeaderElector
    client: ApiClient
    leads: list[float] = field(default_factory=list)
    stopped: list[float] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    async def lead(self) -> None:
        """Lead until told to stop."""
        self.leads.append(LoopClock().monotonic())
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.append(LoopClock().monotonic())

    def start(self) -> None:
        """Take part."""
        self.task = asyncio.create_task(self.elector.run(self.lead))

    async def stop(self) -> None:
        """Step down and wait for the end."""
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    async def vanish(self) -> None:
        """Be gone, as a killed process is: nothing more reaches the server."""
        await self.client.close()
        self.elector._client.server = self.client.server = "http://127.0.0.1:1"


@final
@dataclass
class Scene:
    """A server with its Lease, and candidates."""

    server: FakeServer
    lease: FakeObject
    replicas: dict[str, Replica] = field(default_factory=dict)

    def add(self, name: str, **settings: Any) -> Replica:
        """One more candidate, started."""
        client = self.server.client()
        heard: list[str] = []
        elector = LeaderElector(
            client,
            LeaseSettings(**settings),
            identity=name,
            clock=LoopClock(),
            rng=random.Random(name),
            on_new_leader=heard.append,
        )
        replica = self.replicas[name] = Replica(elector, client, heard=heard)
        replica.start()
        return replica

    def spec(self) -> dict[str, Any]:
        """What the Lease says."""
        assert self.lease.stored is not None
        spec: dict[str, Any] = self.lease.stored["spec"]
        return spec


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """A server; its candidates are stopped at the end."""
    server = FakeServer()
    lease = FakeObject(server, LEASES, "kube-scheduler")
    async with server.listening():
        stage = Scene(server, lease)
        try:
            yield stage
        finally:
            for replica in stage.replicas.values():
                await replica.stop()
                await replica.client.close()


def test_the_first_creates_the_lease_as_upstream_writes_it() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            created = stage.server.requests("POST")[0].json
            acquired = created["spec"].pop("acquireTime")
            assert created["spec"].pop("renewTime") == acquired
            assert len(acquired) == len("2023-11-14T22:13:20.123456Z")
            assert created == {
                "kind": "Lease",
                "apiVersion": "coordination.k8s.io/v1",
                "metadata": {"name": "kube-scheduler", "namespace": "kube-system"},
                "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0},
            }
            assert first.elector.is_leader
            assert first.heard == ["a"]

    run_virtual(story())


def test_the_leader_renews_every_two_seconds_without_reading() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            acquired = stage.spec()["acquireTime"]
            reads = len(stage.server.requests("GET"))
            await asyncio.sleep(60)
            assert 28 <= len(stage.server.requests("PUT")) <= 31
            assert len(stage.server.requests("GET")) == reads
            assert stage.spec()["acquireTime"] == acquired
            assert stage.spec()["renewTime"] > acquired
            assert first.elector.watchdog() is None

    run_virtual(story())


def test_a_second_waits_and_takes_over_from_one_that_vanished() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            second = stage.add("b")
            await asyncio.sleep(120)
            assert not second.leads
            assert second.heard == ["a"]
            await first.vanish()
            gone = LoopClock().monotonic()
            await until(lambda: second.leads)
            # the lease duration after the last renewal that it saw, and one retry at most 4.4 s apart
            assert 13 <= second.leads[0] - gone <= 15 + 2 * 4.4
            assert stage.spec()["leaseTransitions"] == 1
            assert stage.spec()["holderIdentity"] == "b"
            assert second.heard == ["a", "b"]
            assert first.task is not None
            await asyncio.wait([first.task], timeout=30)
            assert isinstance(first.task.exception(), LeadershipLost)
            assert first.stopped[0] <= second.leads[0], "the old one stopped before the new one began"

    run_virtual(story())


def test_a_leader_that_steps_down_hands_over_at_once() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            second = stage.add("b")
            await asyncio.sleep(5)
            await first.stop()
            spec = stage.spec()
            assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("", 1)
            left = LoopClock().monotonic()
            await until(lambda: second.leads)
            assert second.leads[0] - left <= 4.5
            assert stage.spec()["leaseTransitions"] == 1

    run_virtual(story())


def test_a_leader_keeps_the_lease_when_told_not_to_release_it() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a", release_on_cancel=False)
            await until(lambda: first.leads)
            await first.stop()
            assert stage.spec()["holderIdentity"] == "a"

    run_virtual(story())


def test_a_server_that_fails_too_long_costs_the_leadership() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            stage.lease.down = True
            down = LoopClock().monotonic()
            assert first.task is not None
            await asyncio.wait([first.task])
            assert isinstance(first.task.exception(), LeadershipLost)
            assert "not renewed within 10 s" in str(first.task.exception())
            assert 10 <= LoopClock().monotonic() - down <= 14
            assert first.stopped

    run_virtual(story())


def test_a_server_that_hangs_costs_the_leadership() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            stage.server.script.extend([Answer(delay=1000)] * 20)
            hanging = LoopClock().monotonic()
            assert first.task is not None
            await asyncio.wait([first.task])
            assert isinstance(first.task.exception(), LeadershipLost)
            assert LoopClock().monotonic() - hanging <= 14
            stage.server.script.clear()

    run_virtual(story())


def test_a_server_that_fails_shortly_does_not() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            stage.lease.down = True
            await asyncio.sleep(7)
            stage.lease.down = False
            await asyncio.sleep(30)
            assert first.task is not None
            assert not first.task.done()

    run_virtual(story())


def test_a_lease_that_somebody_touched_is_read_again() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            assert stage.lease.stored is not None
            meta = stage.lease.stored["metadata"] | {"labels": {"team": "x"}}
            stage.lease.store(stage.lease.stored | {"metadata": meta})
            await asyncio.sleep(10)
            assert first.elector.is_leader
            assert stage.lease.stored["metadata"]["labels"] == {"team": "x"}
            assert stage.spec()["leaseTransitions"] == 0

    run_virtual(story())


def test_a_lease_that_somebody_took_ends_the_leader_at_once() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            assert stage.lease.stored is not None
            stage.lease.store(stage.lease.stored | {"spec": stage.spec() | {"holderIdentity": "thief"}})
            taken = LoopClock().monotonic()
            assert first.task is not None
            await asyncio.wait([first.task])
            assert "taken over by thief" in str(first.task.exception())
            assert LoopClock().monotonic() - taken <= 3
            assert stage.spec()["holderIdentity"] == "thief", "what is not ours is not released"

    run_virtual(story())


def test_the_clocks_of_others_do_not_count() -> None:
    async def story() -> None:
        async with scene() as stage:
            spec = {"holderIdentity": "ghost", "leaseDurationSeconds": 15, "renewTime": "1999-01-01T00:00:00.000000Z"}
            stage.lease.store({"metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": spec})
            begun = LoopClock().monotonic()
            first = stage.add("a")
            await until(lambda: first.leads)
            assert LoopClock().monotonic() - begun >= 15
            assert stage.spec()["leaseTransitions"] == 1

    run_virtual(story())


def test_five_replicas_never_lead_together() -> None:
    async def story() -> None:
        async with scene() as stage:
            for name in "abcde":
                stage.add(name)
            leaders: list[str] = []
            for _ in range(4):
                await until(lambda: any(r.leads and not r.stopped for r in stage.replicas.values()))
                leading = [name for name, r in stage.replicas.items() if r.leads and not r.stopped]
                assert len(leading) == 1
                leaders += leading
                await stage.replicas[leading[0]].stop()
            assert len(set(leaders)) == 4

    run_virtual(story())


@pytest.mark.parametrize(
    "lead",
    [
        pytest.param("ends", id="work that ends gives the lease up"),
        pytest.param("fails", id="work that fails gives the lease up and tells"),
    ],
)
def test_the_work_ends(lead: str) -> None:
    async def story() -> None:
        async with scene() as stage:
            client = stage.server.client()
            elector = LeaderElector(client, LeaseSettings(), identity="a", clock=LoopClock(), rng=random.Random(1))

            async def work() -> None:
                if lead == "fails":
                    raise ZeroDivisionError

            run: Awaitable[None] = elector.run(work)
            if lead == "fails":
                with pytest.raises(ZeroDivisionError):
                    await run
            else:
                await run
            assert stage.spec()["holderIdentity"] == ""
            await client.close()

    run_virtual(story())


def test_the_watchdog_complains_about_a_leader_that_no_longer_renews() -> None:
    async def story() -> None:
        async with scene() as stage:
            first = stage.add("a")
            await until(lambda: first.leads)
            assert first.task is not None
            first.elector._renew = None  # type: ignore[method-assign,assignment]
            elector = first.elector
            loop_clock = LoopClock()
            assert elector.watchdog() is None
            observed = loop_clock.monotonic()
            first.task.cancel()
            await asyncio.wait([first.task])
            elector._observed = type(elector._observed)(holder_identity="a")
            await asyncio.sleep(36 - (loop_clock.monotonic() - observed))
            assert elector.watchdog() == "failed election to renew leadership on lease kube-scheduler"

    run_virtual(story())


@pytest.mark.parametrize(
    ("build", "want"),
    [
        pytest.param(
            lambda: LeaseSettings(lease_duration=10),
            "leaseDuration must be greater",
            id="a lease as short as the deadline",
        ),
        pytest.param(
            lambda: LeaseSettings(retry_period=9), "renewDeadline must be greater", id="a deadline within one retry"
        ),
        pytest.param(
            lambda: LeaseSettings(retry_period=0), "retryPeriod must be positive", id="no pause between tries"
        ),
    ],
)
def test_settings_are_checked(build: Callable[[], LeaseSettings], want: str) -> None:
    with pytest.raises(ConfigError, match=want):
        build()


def test_identities_differ() -> None:
    one, other = new_identity(), new_identity()

    assert one != other
    assert one.rpartition("_")[0] == other.rpartition("_")[0] != ""
