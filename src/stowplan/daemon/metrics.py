"""The scheduler's metrics: every call of the telemetry contract becomes kube-scheduler's series.

Upstream: pkg/scheduler/metrics/metrics.go, profile_metrics.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Final, final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector

from stowplan.daemon import metric_table as table
from stowplan.daemon.client_metrics import ClientMetrics
from stowplan.daemon.instruments import Instruments
from stowplan.daemon.metric_flags import MetricsOptions
from stowplan.daemon.process_metrics import tell_build, tell_gates
from stowplan.framework.gates import Gates

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
MOST_ATTEMPTS: Final = 15
"""From here on attempts share one label value."""
POPPED: Final = "PodPopped"
QUEUES: Final = ("active", "backoff", "unschedulable", "gated")


@final
class SchedulerMetrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self, options: MetricsOptions | None = None, *, gates: Gates | None = None, host: str = "") -> None:
        instruments = Instruments(options or MetricsOptions())
        self.registry = CollectorRegistry()
        self.client = ClientMetrics(instruments, host)
        """Told of every request to the API server; hand it to the ApiClient as its observer."""
        self._instruments = instruments
        self._attempts = instruments.values(table.SCHEDULE_ATTEMPTS_TOTAL)
        self._attempt_seconds = instruments.spreads(table.SCHEDULING_ATTEMPT_DURATION_SECONDS)
        self._algorithm = instruments.spreads(table.SCHEDULING_ALGORITHM_DURATION_SECONDS).of()
        self._events = instruments.spreads(table.EVENT_HANDLING_DURATION_SECONDS)
        self._victims = instruments.spreads(table.PREEMPTION_VICTIMS).of()
        self._preemptions = instruments.values(table.PREEMPTION_ATTEMPTS_TOTAL).of()
        self._pending = instruments.values(table.PENDING_PODS)
        self._sli = instruments.spreads(table.POD_SCHEDULING_SLI_DURATION_SECONDS)
        self._tries = instruments.spreads(table.POD_SCHEDULING_ATTEMPTS).of()
        self._after_flush = instruments.values(table.POD_SCHEDULED_AFTER_FLUSH_TOTAL).of()
        self._points = instruments.spreads(table.FRAMEWORK_EXTENSION_POINT_DURATION_SECONDS)
        self._plugins = instruments.spreads(table.PLUGIN_EXECUTION_DURATION_SECONDS)
        self._evaluations = instruments.values(table.PLUGIN_EVALUATION_TOTAL)
        self._hints = instruments.spreads(table.QUEUEING_HINT_EXECUTION_DURATION_SECONDS)
        self._incoming = instruments.values(table.QUEUE_INCOMING_PODS_TOTAL)
        self._in_flight = instruments.values(table.INFLIGHT_EVENTS)
        self._permit = instruments.spreads(table.PERMIT_WAIT_DURATION_SECONDS)
        self._rejected = instruments.values(table.UNSCHEDULABLE_PODS)
        self._running = instruments.values(table.GOROUTINES)
        self._evictions = instruments.values(table.PREEMPTION_GOROUTINES_EXECUTION_TOTAL)
        self._eviction_seconds = instruments.spreads(table.PREEMPTION_GOROUTINES_DURATION_SECONDS)
        self._claims = instruments.values(table.RESOURCECLAIM_CREATES_TOTAL)
        self._volume_errors = instruments.values(table.VOLUME_STAGE_ERRORS)
        self._device_waits = instruments.spreads(table.DRA_BINDINGCONDITIONS_WAIT_DURATION_SECONDS)
        self._device_allocations = instruments.values(table.DRA_BINDINGCONDITIONS_ALLOCATIONS_TOTAL)
        sizes = instruments.values(table.CACHE_SIZE)
        self._nodes, self._pods, self._assumed = (sizes.of(kind) for kind in ("nodes", "pods", "assumed_pods"))
        for queue in QUEUES:
            self._pending.of(queue)
        tell_build(instruments)
        tell_gates(instruments, gates or Gates())
        self.registry.register(instruments)
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)

    def exposition(self) -> bytes:
        """What /metrics answers."""
        return generate_latest(self.registry)

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt ended: scheduled, unschedulable or error."""
        self._attempt_seconds.of(result, profile).observe(seconds)
        self._attempts.of(result, profile).add()

    def algorithm(self, seconds: float) -> None:
        """A decision was made."""
        self._algorithm.observe(seconds)

    def point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """The plugins of an extension point ran; the point as Go names it, such as PreFilter."""
        self._points.of(point, status, profile).observe(seconds)

    def scheduled(self, attempts: int, sli_seconds: float, flushed: bool) -> None:
        """A pod was bound, after so many attempts and so long since it was first tried."""
        self._tries.observe(attempts)
        self._sli.of(f"{MOST_ATTEMPTS}+" if attempts >= MOST_ATTEMPTS else str(attempts)).observe(sli_seconds)
        if flushed:
            self._after_flush.add()

    def preemption(self, victims: int) -> None:
        """Room was made."""
        self._victims.observe(victims)

    def preemption_attempt(self) -> None:
        """Room was looked for."""
        self._preemptions.add()

    def incoming(self, queue: str, event: str) -> None:
        """A pod came to a queue."""
        self._incoming.of(queue, event).add()

    def permit_wait(self, result: str, seconds: float) -> None:
        """A pod waited for permission."""
        self._permit.of(result).observe(seconds)

    def event(self, label: str, seconds: float) -> None:
        """A watch event was handled."""
        self._events.of(label).observe(seconds)

    def pending(self, counts: Mapping[str, int]) -> None:
        """How many pods are where; those that are being tried count as events in flight, as upstream counts them."""
        for queue in QUEUES:
            self._pending.of(queue).set(counts.get(queue, 0))
        if "in-flight" in counts:
            self._in_flight.of(POPPED).set(counts["in-flight"])

    def rejected(self, plugin: str, profile: str, by: int) -> None:
        """Pods that a plugin keeps waiting became more or fewer."""
        self._rejected.of(plugin, profile).add(by)

    def rejectors(self, counts: Mapping[tuple[str, str], int]) -> None:
        """How many pods each plugin (and profile) keeps waiting, as of now; plugins that are not named keep none."""
        for labels, series in self._rejected.items():
            if labels not in counts:
                series.set(0)
        for (plugin, profile), count in counts.items():
            self._rejected.of(plugin, profile).set(count)

    def cache(self, nodes: int, pods: int, assumed: int) -> None:
        """How much the Cluster holds."""
        self._nodes.set(nodes)
        self._pods.set(pods)
        self._assumed.set(assumed)

    def plugin(self, plugin: str, point: str, status: str, seconds: float) -> None:
        """One plugin ran; upstream tells that of one pod in ten."""
        self._plugins.of(plugin, point, status).observe(seconds)

    def evaluation(self, plugin: str, point: str, profile: str, times: int) -> None:
        """A plugin was asked: about a pod at PreFilter, PreScore and Score, about nodes at Filter."""
        self._evaluations.of(plugin, point, profile).add(times)

    def hint(self, plugin: str, event: str, answer: str, seconds: float) -> None:
        """A plugin said whether an event may help a pod: Queue, QueueSkip or Error."""
        self._hints.of(plugin, event, answer).observe(seconds)

    def in_flight(self, event: str, count: int) -> None:
        """How many events of a kind are kept for pods that are being tried."""
        self._in_flight.of(event).set(count)

    def running(self, operation: str, count: int) -> None:
        """How much work of a kind, such as binding, runs beside the loop."""
        self._running.of(operation).set(count)

    def evicted(self, result: str, seconds: float) -> None:
        """The victims of one preemption were evicted (success), or some could not be (error)."""
        self._evictions.of(result).add()
        self._eviction_seconds.of(result).observe(seconds)

    def claim_created(self, result: str) -> None:
        """A ResourceClaim for an extended resource was created (success), or could not be (failure)."""
        self._claims.of(result).add()

    def volume_error(self, stage: str) -> None:
        """Binding volumes failed: predicate, assume or bind."""
        self._volume_errors.of(stage).add()

    def device_wait(self, profile: str, driver: str, status: str, seconds: float) -> None:
        """A pod waited for the binding conditions of devices."""
        self._device_waits.of(profile, driver, status).observe(seconds)

    def device_allocation(self, profile: str, driver: str, status: str) -> None:
        """A device with binding conditions was allocated."""
        self._device_allocations.of(profile, driver, status).add()
