"""The secure port of a running scheduler: its checks, its pages, and what is counted when somebody looks.

Upstream: Run in cmd/kube-scheduler/app/server.go (v1.36.4).
"""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final, final

from stowplan.client.leader import LeaderElector
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.composition import Setup
from stowplan.config.encode import document_of
from stowplan.daemon.health import Check, Checks
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME
from stowplan.daemon.logs import Logs
from stowplan.daemon.metrics import SchedulerMetrics
from stowplan.daemon.options import Options
from stowplan.daemon.resource_metrics import resource_exposition
from stowplan.daemon.scheduler import Scheduler
from stowplan.daemon.serving import Pages, Serving
from stowplan.daemon.serving_clients import Delegates, delegates
from stowplan.queue.queued_pod import QueuedPod

SHOWN_PODS: Final = 1000
"""Pods listed per queue; the counts are always whole."""


@final
class SecurePort:
    """Starts and stops with the process; `stopping` is said first, so that nobody is sent here any more."""

    def __init__(
        self,
        options: Options,
        setup: Setup,
        scheduler: Scheduler,
        *,
        client: ApiClient,
        elector: LeaderElector | None,
        metrics: SchedulerMetrics,
        logs: Logs,
        clock: Clock,
        environment: Mapping[str, str],
    ) -> None:
        self._options = options
        self._setup = setup
        self._scheduler = scheduler
        self._client = client
        self._elector = elector
        self._metrics = metrics
        self._logs = logs
        self._clock = clock
        self._environment = environment
        self._stopping = False
        self._serving: Serving | None = None
        self._delegates: Delegates | None = None

    @property
    def port(self) -> int:
        """The port that is served on; 0 when none is."""
        return 0 if self._serving is None else self._serving.port

    async def start(self) -> None:
        """Serve, unless --secure-port=0. Raises ServingError."""
        if not self._options.serving.port:
            return
        self._delegates = delegates(
            self._options,
            self._client,
            environment=self._environment,
            clock=self._clock,
            observer=self._metrics.client,
        )
        self._serving = Serving(
            self._options,
            authentication=self._delegates.authentication,
            authorization=self._delegates.authorization,
            checks=self._checks(),
            pages=self._pages(),
            clock=self._clock,
        )
        await self._serving.start()

    def stopping(self) -> None:
        """The process is about to end: /readyz says so from now on."""
        self._stopping = True

    async def stop(self) -> None:
        """Stop serving."""
        self._stopping = True
        if self._serving is not None:
            await self._serving.stop()
        if self._delegates is not None:
            await self._delegates.close()

    def _checks(self) -> Checks:
        leading = () if self._elector is None else (Check("leaderElection", self._elector.watchdog),)
        return Checks(
            healthz=leading,
            readyz=(
                *leading,
                Check("shutdown", lambda: "process is shutting down" if self._stopping else None),
                Check("sched-handler-sync", self._not_synced),
            ),
        )

    def _not_synced(self) -> str | None:
        waiting = self._scheduler.following.unsynced
        return f"handlers are not fully synchronized: {', '.join(waiting)}" if waiting else None

    def _pages(self) -> Pages:
        return Pages(
            metrics=self._exposition,
            resources=self._resources,
            configz=lambda: document_of(self._setup.configuration),
            set_verbosity=self._logs.set_verbosity,
            profiling=self._setup.configuration.enable_profiling,
            queue=self._queue,
            explain=self._explain,
        )

    def _exposition(self) -> bytes:
        live = self._scheduler.live
        waiting = live.queue.waiting()
        self._metrics.pending(live.queue.counts())
        self._metrics.rejectors(
            Counter(
                (plugin, pod.info.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)
                for place in ("backoff", "unschedulable", "gated")
                for pod in waiting[place]
                for plugin in pod.rejectors
            )
        )
        assumed = sum(1 for _ in live.cluster.assumed())
        self._metrics.cache(len(live.cluster.view()), live.cluster.placed_count, assumed)
        self._metrics.running("binding", len(live.tasks))
        if self._elector is not None:
            self._metrics.client.leading(self._elector.is_leader)
        return self._metrics.exposition()

    def _resources(self) -> bytes | None:
        if self._elector is not None and not self._elector.is_leader:
            return None
        return resource_exposition(self._scheduler.following.pods.store)

    def _queue(self) -> Mapping[str, Any]:
        queue = self._scheduler.live.queue
        places = queue.waiting()
        return {
            "counts": queue.counts(),
            "pods": {place: [_told(pod) for pod in islice(pods, SHOWN_PODS)] for place, pods in places.items()},
        }

    def _explain(self, key: str) -> Any:
        found = self._scheduler.explain(key)
        if found is None:
            raise LookupError(key)
        return found


def _told(pod: QueuedPod) -> Mapping[str, Any]:
    told: dict[str, Any] = {
        "pod": pod.info.key,
        "priority": pod.info.priority,
        "attempts": pod.attempts,
        "queuedAt": pod.queued_at,
    }
    if pod.rejectors:
        told["rejectedBy"] = sorted(pod.rejectors)
    if pod.gated_by:
        told["gatedBy"] = pod.gated_by
    return told
