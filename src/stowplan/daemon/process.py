"""One run of the live scheduler: clients, election, the secure port, signals, and a clean end.

Upstream: Run in cmd/kube-scheduler/app/server.go (v1.36.4).
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from random import SystemRandom
from typing import Final, final

from stowplan.client.connection import Connection
from stowplan.client.errors import LeadershipLost
from stowplan.client.kubeconfig import connect_daemon
from stowplan.client.leader import LeaderElector, LeaseSettings, new_identity
from stowplan.client.lease_events import LeaseEvents
from stowplan.client.rate import RateLimiter
from stowplan.client.transport import ApiClient, RequestObserver, TransportSettings
from stowplan.clock import Clock, SystemClock
from stowplan.composition import Setup
from stowplan.config.spec import SECOND_NS, ClientConnection
from stowplan.daemon.debugging import tell_state
from stowplan.daemon.logs import Logs
from stowplan.daemon.metrics import SchedulerMetrics
from stowplan.daemon.options import UPSTREAM_VERSION, Options
from stowplan.daemon.scheduler import Scheduler
from stowplan.daemon.secure_port import SecurePort

_LOG = logging.getLogger(__name__)

USER_AGENT: Final = "stowplan-scheduler"
CONNECTIONS: Final = 64
"""perf: a TLS handshake costs 2 ms; so many requests under way keep a server on this machine busy (bench.live)."""


@final
class Process:
    """Follows the cluster, and leads when it is its turn."""

    def __init__(self, options: Options, setup: Setup, logs: Logs) -> None:
        self._options = options
        self._setup = setup
        self._logs = logs
        self._clock: Clock = SystemClock()
        self._rng = SystemRandom()
        self._metrics = SchedulerMetrics(options.metrics, gates=options.gates, host=socket.gethostname())

    async def serve(self) -> int:
        """Work until a signal comes; the exit status. Raises ClientError, ConfigError and ServingError."""
        _LOG.info("Starting to stand in for Kubernetes Scheduler %s", UPSTREAM_VERSION)
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        limits = self._setup.configuration.client_connection
        connection = self._connect(limits)
        async with (
            self._client(connection, limits) as client,
            self._client(connection, limits) as events_client,
            # parity: elections have a limiter of their own, which others cannot exhaust (NewFromKubeconfig)
            self._client(connection, None) as lease_client,
        ):
            scheduler = Scheduler(
                self._setup,
                client=client,
                events_client=events_client,
                clock=self._clock,
                rng=self._rng,
                host=socket.gethostname(),
                telemetry=self._metrics,
                most_unschedulable_seconds=self._options.pod_max_in_unschedulable_ns / SECOND_NS,
            )
            loop.add_signal_handler(signal.SIGUSR2, tell_state, scheduler)
            elector = self._elector(lease_client, LeaseEvents(events_client, component=self._name, clock=self._clock))
            port = SecurePort(
                self._options,
                self._setup,
                scheduler,
                client=client,
                elector=elector,
                metrics=self._metrics,
                logs=self._logs,
                clock=self._clock,
                environment=os.environ,
            )
            await port.start()
            try:
                return await self._work(scheduler, elector, port, stop)
            finally:
                await port.stop()
                scheduler.close()

    async def _work(
        self, scheduler: Scheduler, elector: LeaderElector | None, port: SecurePort, stop: asyncio.Event
    ) -> int:
        active = asyncio.Event()
        if elector is None or not self._setup.configuration.delay_cache_until_active:
            active.set()
        following = asyncio.create_task(_follow(scheduler, active))
        leading = asyncio.create_task(_lead(scheduler, elector, active))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({following, leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
            port.stopping()
            for task in (following, leading):
                if task.done():
                    task.result()
            _LOG.info("Requested to terminate, exiting")
            return 0
        except LeadershipLost as error:
            # somebody else may act by now: nothing may be finished any more
            _LOG.error("Leaderelection lost: %s", error)
            sys.stderr.flush()
            os._exit(1)
        finally:
            await _end(leading)
            await _end(following)
            stopping.cancel()

    @property
    def _name(self) -> str:
        """Under which name the election is told: that of the first profile."""
        return self._setup.configuration.profiles[0].scheduler_name

    def _elector(self, client: ApiClient, events: LeaseEvents) -> LeaderElector | None:
        election = self._setup.configuration.leader_election
        if not election.leader_elect:
            return None
        settings = LeaseSettings(
            namespace=election.resource_namespace,
            name=election.resource_name,
            lease_duration=election.lease_duration_ns / SECOND_NS,
            renew_deadline=election.renew_deadline_ns / SECOND_NS,
            retry_period=election.retry_period_ns / SECOND_NS,
        )
        return LeaderElector(client, settings, identity=new_identity(), clock=self._clock, rng=self._rng, events=events)

    def _connect(self, wanted: ClientConnection) -> Connection:
        return connect_daemon(
            kubeconfig=wanted.kubeconfig,
            master=self._options.master,
            environment=os.environ,
            clock=self._clock,
        )

    def _client(self, connection: Connection, limits: ClientConnection | None) -> ApiClient:
        limiter = None
        if limits is not None and limits.qps > 0:
            limiter = RateLimiter(limits.qps, limits.burst, clock=self._clock)
        observer: RequestObserver = self._metrics.client
        settings = TransportSettings(max_connections=CONNECTIONS, user_agent=USER_AGENT)
        return ApiClient(connection, clock=self._clock, limiter=limiter, settings=settings, observer=observer)


async def _follow(scheduler: Scheduler, active: asyncio.Event) -> None:
    await active.wait()
    await scheduler.follow()


async def _lead(scheduler: Scheduler, elector: LeaderElector | None, active: asyncio.Event) -> None:
    async def lead() -> None:
        active.set()
        await scheduler.lead()

    await (lead() if elector is None else elector.run(lead))


async def _end(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait for its end; what it ended with was looked at already."""
    task.cancel()
    await asyncio.wait({task})
