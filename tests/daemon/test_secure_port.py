"""The secure port of a scheduler at work: its pages tell what is, to the administrator of its cluster."""

import asyncio
import io
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, final

import aiohttp
import msgspec

from stowplan.clock import SystemClock
from stowplan.composition import DEFAULT_REGISTRY, NAMES_AND_WEIGHTS
from stowplan.config.load import load_configuration
from stowplan.daemon.logs import Logs
from stowplan.daemon.metrics import SchedulerMetrics
from stowplan.daemon.options import LoggingOptions, Options
from stowplan.daemon.secure_port import SecurePort
from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.scene import Scene, scene
from tests.daemon.serving import serving_options


@final
class Looker:
    """Somebody with the administrator's token."""

    def __init__(self, session: aiohttp.ClientSession, port: SecurePort, token: str) -> None:
        self._session = session
        self.port = port
        self.headers = {"Authorization": f"Bearer {token}"}

    async def get(self, path: str) -> tuple[int, str]:
        """Status and text."""
        url = f"https://127.0.0.1:{self.port.port}{path}"
        async with self._session.get(url, headers=self.headers) as response:
            return response.status, await response.text()

    async def json(self, path: str) -> Any:
        """A page that is JSON."""
        status, text = await self.get(path)
        assert 200 == status
        return msgspec.json.decode(text)


@asynccontextmanager
async def looking(server: ApiServer) -> AsyncIterator[tuple[Scene, Looker]]:
    """A scheduler at work, its secure port, and somebody who looks."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with scene(server) as s, aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        logs = Logs(LoggingOptions(), io.StringIO())
        port = SecurePort(
            Options(serving=serving_options()),
            s.setup,
            s.scheduler,
            client=s.hands.client,
            elector=None,
            metrics=SchedulerMetrics(),
            logs=logs,
            clock=SystemClock(),
            environment={},
        )
        try:
            await port.start()
            yield s, Looker(session, port, server.admin_token)
        finally:
            await port.stop()
            logs.close()


def test_what_is_told_of_a_scheduler_at_work(server: ApiServer) -> None:
    async def story() -> None:
        async with looking(server) as (s, looker):
            await s.hands.create(node("n1", cpu="1"), pod("p", cpu="600m"))
            await s.hands.bound("p", to="n1")
            await s.hands.create(pod("q", cpu="600m"))
            await s.hands.unschedulable("q", "Insufficient cpu")
            await s.settled()
            space = s.hands.namespace

            assert (200, "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n") == (
                await looker.get("/readyz?verbose")
            )
            _, metrics = await looker.get("/metrics")
            lines = metrics.splitlines()
            assert 'scheduler_pending_pods{queue="unschedulable"} 1.0' in lines
            assert 'scheduler_cache_size{type="nodes"} 1.0' in lines
            assert 'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1.0' in lines
            _, resources = await looker.get("/metrics/resources")
            assert (
                f'kube_pod_resource_request{{namespace="{space}",node="n1",pod="p",priority="0",resource="cpu",'
                'scheduler="default-scheduler",unit="cores"} 0.6'
            ) in resources.splitlines()
            queue = await looker.json("/debug/stowplan/queue")
            assert 1 == queue["counts"]["unschedulable"]
            (waiting,) = queue["pods"]["unschedulable"]
            assert (f"{space}/q", ["NodeResourcesFit"]) == (waiting["pod"], waiting["rejectedBy"])
            told = await looker.json(f"/debug/stowplan/explain?pod={space}/q")
            assert f"{space}/q" == told["pod"]
            assert "Insufficient cpu" in msgspec.json.encode(told).decode()
            assert 404 == (await looker.get(f"/debug/stowplan/explain?pod={space}/nobody"))[0]

    asyncio.run(story())


def test_the_configuration_it_shows_is_the_one_in_force(server: ApiServer) -> None:
    async def story() -> None:
        async with looking(server) as (s, looker):
            shown = (await looker.json("/configz"))["componentconfig"]
            again = load_configuration(msgspec.json.encode(shown), "configz", DEFAULT_REGISTRY, NAMES_AND_WEIGHTS)
            assert s.setup.configuration == again

    asyncio.run(story())


def test_one_that_stops_is_not_ready(server: ApiServer) -> None:
    async def story() -> None:
        async with looking(server) as (_, looker):
            looker.port.stopping()
            status, text = await looker.get("/readyz")
            assert 500 == status
            assert "[-]shutdown failed: reason withheld\n" in text
            assert (500, "internal server error: process is shutting down\n") == await looker.get("/readyz/shutdown")
            assert (200, "ok") == await looker.get("/livez")

    asyncio.run(story())


def test_others_see_nothing(server: ApiServer) -> None:
    async def story() -> None:
        async with looking(server) as (_, looker):
            looker.headers = {}
            assert 403 == (await looker.get("/metrics"))[0]
            looker.headers = {"Authorization": "Bearer nonsense"}
            assert 401 == (await looker.get("/metrics"))[0]

    asyncio.run(story())
