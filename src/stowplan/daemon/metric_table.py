"""The metrics of kube-scheduler that mean something here: names, texts, labels and buckets are an interface.

What belongs to Go (go_*), to batches, to asynchronous API calls (a gate that is off) and to pod groups is not there.

Upstream: pkg/scheduler/metrics/metrics.go, framework/plugins/volumebinding/metrics (v1.36.4).
"""

from typing import Final

from stowplan.daemon.instruments import Definition


def _powers(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Bucket bounds, each the one before times a factor: the same floating point steps as in Go."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


SCHEDULE_ATTEMPTS_TOTAL: Final = Definition(
    name="scheduler_schedule_attempts_total",
    about=(
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be "
        "scheduled, while 'error' means an internal scheduler problem."
    ),
    stability="STABLE",
    labels=(
        "result",
        "profile",
    ),
)

EVENT_HANDLING_DURATION_SECONDS: Final = Definition(
    name="scheduler_event_handling_duration_seconds",
    about="Event handling latency in seconds.",
    stability="ALPHA",
    labels=("event",),
    buckets=_powers(0.0001, 2, 12),
)

SCHEDULING_ATTEMPT_DURATION_SECONDS: Final = Definition(
    name="scheduler_scheduling_attempt_duration_seconds",
    about="Scheduling attempt latency in seconds (scheduling algorithm + binding)",
    stability="STABLE",
    labels=(
        "result",
        "profile",
    ),
    buckets=_powers(0.001, 2, 15),
)

SCHEDULING_ALGORITHM_DURATION_SECONDS: Final = Definition(
    name="scheduler_scheduling_algorithm_duration_seconds",
    about="Scheduling algorithm latency in seconds",
    stability="ALPHA",
    buckets=_powers(0.001, 2, 15),
)

PREEMPTION_VICTIMS: Final = Definition(
    name="scheduler_preemption_victims",
    about="Number of selected preemption victims",
    stability="STABLE",
    buckets=_powers(1, 2, 7),
)

PREEMPTION_ATTEMPTS_TOTAL: Final = Definition(
    name="scheduler_preemption_attempts_total",
    about="Total preemption attempts in the cluster till now",
    stability="STABLE",
)

PENDING_PODS: Final = Definition(
    name="scheduler_pending_pods",
    about=(
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means"
        " number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the "
        "scheduler attempted to schedule and failed; 'gated' is the number of unschedulable pods that the "
        "scheduler never attempted to schedule because they are gated."
    ),
    stability="STABLE",
    labels=("queue",),
)

INFLIGHT_EVENTS: Final = Definition(
    name="scheduler_inflight_events",
    about="Number of events currently tracked in the scheduling queue.",
    stability="ALPHA",
    labels=("event",),
)

GOROUTINES: Final = Definition(
    name="scheduler_goroutines",
    about="Number of running goroutines split by the work they do such as binding.",
    stability="BETA",
    labels=("operation",),
)

POD_SCHEDULING_SLI_DURATION_SECONDS: Final = Definition(
    name="scheduler_pod_scheduling_sli_duration_seconds",
    about=(
        "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
        "involve multiple scheduling attempts."
    ),
    stability="BETA",
    labels=("attempts",),
    buckets=_powers(0.01, 2, 20),
)

POD_SCHEDULING_ATTEMPTS: Final = Definition(
    name="scheduler_pod_scheduling_attempts",
    about="Number of attempts to successfully schedule a pod.",
    stability="STABLE",
    buckets=_powers(1, 2, 5),
)

POD_SCHEDULED_AFTER_FLUSH_TOTAL: Final = Definition(
    name="scheduler_pod_scheduled_after_flush_total",
    about=(
        "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
        "timeout. This metric helps detect potential queueing hint misconfigurations or event handling "
        "issues."
    ),
    stability="ALPHA",
)

FRAMEWORK_EXTENSION_POINT_DURATION_SECONDS: Final = Definition(
    name="scheduler_framework_extension_point_duration_seconds",
    about="Latency for running all plugins of a specific extension point.",
    stability="STABLE",
    labels=(
        "extension_point",
        "status",
        "profile",
    ),
    buckets=_powers(0.0001, 2, 12),
)

PLUGIN_EXECUTION_DURATION_SECONDS: Final = Definition(
    name="scheduler_plugin_execution_duration_seconds",
    about="Duration for running a plugin at a specific extension point.",
    stability="ALPHA",
    labels=(
        "plugin",
        "extension_point",
        "status",
    ),
    buckets=_powers(0.00001, 1.5, 20),
)

QUEUEING_HINT_EXECUTION_DURATION_SECONDS: Final = Definition(
    name="scheduler_queueing_hint_execution_duration_seconds",
    about="Duration for running a queueing hint function of a plugin.",
    stability="ALPHA",
    labels=(
        "plugin",
        "event",
        "hint",
    ),
    buckets=_powers(0.00001, 1.5, 20),
)

QUEUE_INCOMING_PODS_TOTAL: Final = Definition(
    name="scheduler_queue_incoming_pods_total",
    about="Number of pods added to scheduling queues by event and queue type.",
    stability="STABLE",
    labels=(
        "queue",
        "event",
    ),
)

PERMIT_WAIT_DURATION_SECONDS: Final = Definition(
    name="scheduler_permit_wait_duration_seconds",
    about="Duration of waiting on permit.",
    stability="BETA",
    labels=("result",),
    buckets=_powers(0.001, 2, 15),
)

CACHE_SIZE: Final = Definition(
    name="scheduler_cache_size",
    about="Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
    stability="ALPHA",
    labels=("type",),
)

UNSCHEDULABLE_PODS: Final = Definition(
    name="scheduler_unschedulable_pods",
    about=(
        "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
        "plugins that caused it to not schedule and so this metric have meaning only when broken down by "
        "plugin."
    ),
    stability="BETA",
    labels=(
        "plugin",
        "profile",
    ),
)

PLUGIN_EVALUATION_TOTAL: Final = Definition(
    name="scheduler_plugin_evaluation_total",
    about=(
        "Number of attempts to schedule pods by each plugin and the extension point (available only in "
        "PreFilter, Filter, PreScore, and Score)."
    ),
    stability="BETA",
    labels=(
        "plugin",
        "extension_point",
        "profile",
    ),
)

PREEMPTION_GOROUTINES_DURATION_SECONDS: Final = Definition(
    name="scheduler_preemption_goroutines_duration_seconds",
    about="Duration in seconds for running goroutines for the preemption.",
    stability="ALPHA",
    labels=("result",),
    buckets=_powers(0.01, 2, 20),
)

PREEMPTION_GOROUTINES_EXECUTION_TOTAL: Final = Definition(
    name="scheduler_preemption_goroutines_execution_total",
    about="Number of preemption goroutines executed.",
    stability="ALPHA",
    labels=("result",),
)

RESOURCECLAIM_CREATES_TOTAL: Final = Definition(
    name="scheduler_resourceclaim_creates_total",
    about="Number of ResourceClaims creation requests within scheduler",
    stability="ALPHA",
    labels=("status",),
)

DRA_BINDINGCONDITIONS_ALLOCATIONS_TOTAL: Final = Definition(
    name="scheduler_dra_bindingconditions_allocations_total",
    about=("Number of allocations using devices with BindingConditions, counted per driver per scheduling attempt"),
    stability="ALPHA",
    labels=(
        "profile",
        "driver",
        "status",
    ),
)

DRA_BINDINGCONDITIONS_WAIT_DURATION_SECONDS: Final = Definition(
    name="scheduler_dra_bindingconditions_wait_duration_seconds",
    about="Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
    stability="ALPHA",
    labels=(
        "profile",
        "driver",
        "status",
    ),
    buckets=_powers(0.1, 2, 14),
)

VOLUME_STAGE_ERRORS: Final = Definition(
    name="scheduler_volume_scheduling_stage_error_total",
    about="Volume scheduling stage error count",
    stability="ALPHA",
    labels=("operation",),
)
