"""`stowplan scheduler` from options to exit status: configuration, clients, election, and a clean end.

Upstream: cmd/kube-scheduler/app/server.go (v1.36.4).
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from random import SystemRandom
from typing import Final, final

from stowplan.client.connection import Connection
from stowplan.client.errors import ClientError, LeadershipLost
from stowplan.client.kubeconfig import connect_daemon
from stowplan.client.leader import LeaderElector, LeaseSettings, new_identity
from stowplan.client.rate import RateLimiter
from stowplan.client.transport import ApiClient, RequestObserver, TransportSettings
from stowplan.clock import Clock, SystemClock
from stowplan.composition import DEFAULT_REGISTRY, NAMES_AND_WEIGHTS, Setup, compose
from stowplan.config.errors import ConfigError
from stowplan.config.load import default_configuration, load_configuration
from stowplan.config.spec import SECOND_NS, ClientConnection, LeaderElection
from stowplan.daemon.logs import Logs
from stowplan.daemon.metrics import SchedulerMetrics
from stowplan.daemon.options import Options
from stowplan.daemon.scheduler import Scheduler
from stowplan.framework.discovery import PluginLoadError, load_plugins

_LOG = logging.getLogger(__name__)

USER_AGENT: Final = "stowplan-scheduler"
CONNECTIONS: Final = 256


def run(options: Options) -> int:
    """Schedule until told to stop; 0 after SIGTERM or SIGINT, 1 when it could not start or lost its lease."""
    logs = Logs(options.logging, sys.stderr)
    try:
        for sentence in options.ignored:
            _LOG.warning("%s", sentence)
        setup = load_setup(options)
        process = _Process(options, setup)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(process.serve())
    except (ConfigError, ClientError, PluginLoadError, OSError) as error:
        sys.stderr.write(f"Error: {error}\n")
        return 1
    finally:
        logs.close()


def load_setup(options: Options) -> Setup:
    """The configuration that the command line asks for. Raises ConfigError."""
    registry = DEFAULT_REGISTRY.extended(load_plugins(options.plugins))
    filename = options.config_file
    if not filename:
        defaults = default_configuration(registry, NAMES_AND_WEIGHTS, gates=options.gates)
        return compose(options.adjust_defaults(defaults), registry, options.gates, filename="flags")
    try:
        data = Path(filename).read_bytes()
    except OSError as error:
        raise ConfigError(filename, error.strerror or str(error)) from error
    configuration = load_configuration(
        data,
        filename,
        registry,
        NAMES_AND_WEIGHTS,
        gates=options.gates,
        adjust_leader_election=options.adjust_leader_election,
    )
    return compose(configuration, registry, options.gates, filename=filename)


def _loop_factory() -> "type[asyncio.AbstractEventLoop] | None":
    try:
        import uvloop
    except ImportError:  # there is none for this platform; the standard loop does the same, slower
        return None
    factory: type[asyncio.AbstractEventLoop] = uvloop.new_event_loop  # type: ignore[assignment]
    return factory


@final
class _Process:
    """One run of the scheduler."""

    def __init__(self, options: Options, setup: Setup) -> None:
        self._options = options
        self._setup = setup
        self._clock: Clock = SystemClock()
        self._rng = SystemRandom()
        self._host = socket.gethostname()
        self._metrics = SchedulerMetrics(options.metrics, gates=options.gates, host=self._host)

    async def serve(self) -> int:
        """Follow the cluster and lead when it is our turn, until a signal comes."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        configuration = self._setup.configuration
        connection = self._connect(configuration.client_connection)
        async with (
            self._client(connection, configuration.client_connection) as client,
            self._client(connection, configuration.client_connection) as events_client,
            self._client(connection, None) as lease_client,
        ):
            scheduler = Scheduler(
                self._setup,
                client=client,
                events_client=events_client,
                clock=self._clock,
                rng=self._rng,
                host=self._host,
                telemetry=self._metrics,
                most_unschedulable_seconds=self._options.pod_max_in_unschedulable_ns / SECOND_NS,
            )
            following = asyncio.create_task(scheduler.follow())
            leading = asyncio.create_task(self._lead(scheduler, lease_client, configuration.leader_election))
            stopping = asyncio.create_task(stop.wait())
            try:
                await asyncio.wait({following, leading, stopping}, return_when=asyncio.FIRST_COMPLETED)
                for task in (following, leading):
                    if task.done():
                        task.result()
                _LOG.info("Stopping")
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

    async def _lead(self, scheduler: Scheduler, client: ApiClient, election: LeaderElection) -> None:
        if not election.leader_elect:
            await scheduler.lead()
            return
        settings = LeaseSettings(
            namespace=election.resource_namespace,
            name=election.resource_name,
            lease_duration=election.lease_duration_ns / SECOND_NS,
            renew_deadline=election.renew_deadline_ns / SECOND_NS,
            retry_period=election.retry_period_ns / SECOND_NS,
        )
        identity = new_identity()
        elector = LeaderElector(
            client,
            settings,
            identity=identity,
            clock=self._clock,
            rng=self._rng,
            on_new_leader=lambda leader: _LOG.info("The leader is %s", leader),
        )
        await elector.run(scheduler.lead)

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


async def _end(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait for its end; what it ended with was looked at already."""
    task.cancel()
    await asyncio.wait({task})
