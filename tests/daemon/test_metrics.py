"""Metrics: names, texts, labels and buckets as kube-scheduler v1.36.4 serves them."""

import re
from collections.abc import Callable

import pytest

from stowplan.daemon.metric_flags import MetricsOptions
from stowplan.daemon.metrics import SchedulerMetrics
from stowplan.daemon.telemetry import Telemetry

PROFILE = "default-scheduler"

# name, type, stability, labels, first and last finite bucket, number of finite buckets: read in upstream's source
UPSTREAM = [
    ("scheduler_schedule_attempts_total", "counter", "STABLE", {"result", "profile"}, None),
    ("scheduler_scheduling_attempt_duration_seconds", "histogram", "STABLE", {"result", "profile"},
     ("0.001", "16.384", 15)),
    ("scheduler_scheduling_algorithm_duration_seconds", "histogram", "ALPHA", set(), ("0.001", "16.384", 15)),
    ("scheduler_event_handling_duration_seconds", "histogram", "ALPHA", {"event"}, ("0.0001", "0.2048", 12)),
    ("scheduler_preemption_victims", "histogram", "STABLE", set(), ("1", "64", 7)),
    ("scheduler_preemption_attempts_total", "counter", "STABLE", set(), None),
    ("scheduler_pending_pods", "gauge", "STABLE", {"queue"}, None),
    ("scheduler_inflight_events", "gauge", "ALPHA", {"event"}, None),
    ("scheduler_goroutines", "gauge", "BETA", {"operation"}, None),
    ("scheduler_pod_scheduling_sli_duration_seconds", "histogram", "BETA", {"attempts"}, ("0.01", "5242.88", 20)),
    ("scheduler_pod_scheduling_attempts", "histogram", "STABLE", set(), ("1", "16", 5)),
    ("scheduler_pod_scheduled_after_flush_total", "counter", "ALPHA", set(), None),
    ("scheduler_framework_extension_point_duration_seconds", "histogram", "STABLE",
     {"extension_point", "status", "profile"}, ("0.0001", "0.2048", 12)),
    ("scheduler_plugin_execution_duration_seconds", "histogram", "ALPHA", {"plugin", "extension_point", "status"},
     ("1e-05", "0.02216837820053101", 20)),
    ("scheduler_queueing_hint_execution_duration_seconds", "histogram", "ALPHA", {"plugin", "event", "hint"},
     ("1e-05", "0.02216837820053101", 20)),
    ("scheduler_queue_incoming_pods_total", "counter", "STABLE", {"queue", "event"}, None),
    ("scheduler_permit_wait_duration_seconds", "histogram", "BETA", {"result"}, ("0.001", "16.384", 15)),
    ("scheduler_cache_size", "gauge", "ALPHA", {"type"}, None),
    ("scheduler_unschedulable_pods", "gauge", "BETA", {"plugin", "profile"}, None),
    ("scheduler_plugin_evaluation_total", "counter", "BETA", {"plugin", "extension_point", "profile"}, None),
    ("scheduler_preemption_goroutines_duration_seconds", "histogram", "ALPHA", {"result"}, ("0.01", "5242.88", 20)),
    ("scheduler_preemption_goroutines_execution_total", "counter", "ALPHA", {"result"}, None),
    ("scheduler_resourceclaim_creates_total", "counter", "ALPHA", {"status"}, None),
    ("scheduler_dra_bindingconditions_wait_duration_seconds", "histogram", "ALPHA", {"profile", "driver", "status"},
     ("0.1", "819.2", 14)),
    ("scheduler_dra_bindingconditions_allocations_total", "counter", "ALPHA", {"profile", "driver", "status"}, None),
    ("scheduler_volume_scheduling_stage_error_total", "counter", "ALPHA", {"operation"}, None),
    ("rest_client_requests_total", "counter", "ALPHA", {"code", "method", "host"}, None),
    ("rest_client_request_duration_seconds", "histogram", "ALPHA", {"verb", "host"}, ("0.005", "60", 12)),
    ("leader_election_master_status", "gauge", "ALPHA", {"name"}, None),
    ("kubernetes_build_info", "gauge", "BETA",
     {"major", "minor", "git_version", "git_commit", "git_tree_state", "build_date", "go_version", "compiler",
      "platform"}, None),
    ("kubernetes_feature_enabled", "gauge", "BETA", {"name", "stage"}, None),
]  # fmt: skip


def fed(options: MetricsOptions | None = None) -> SchedulerMetrics:
    """Metrics that have heard of everything once."""
    metrics = SchedulerMetrics(options, host="api:6443")
    metrics.attempt("scheduled", PROFILE, 0.004)
    metrics.algorithm(0.0005)
    metrics.point("Filter", "Success", PROFILE, 0.00015)
    metrics.scheduled(2, 0.5, True)
    metrics.preemption(3)
    metrics.preemption_attempt()
    metrics.incoming("active", "PodAdd")
    metrics.permit_wait("Success", 1.0)
    metrics.event("NodeAdd", 0.001)
    metrics.pending({"active": 4, "backoff": 3, "unschedulable": 2, "gated": 1, "in-flight": 8})
    metrics.rejected("NodeResourcesFit", PROFILE, 2)
    metrics.rejected("NodeResourcesFit", PROFILE, -1)
    metrics.cache(nodes=5, pods=6, assumed=7)
    metrics.plugin("NodeName", "Filter", "Success", 0.00001)
    metrics.evaluation("NodeName", "Filter", PROFILE, 3)
    metrics.hint("NodeName", "NodeAdd", "Queue", 0.00002)
    metrics.in_flight("NodeAdd", 1)
    metrics.running("binding", 1)
    metrics.evicted("success", 0.2)
    metrics.claim_created("success")
    metrics.volume_error("bind")
    metrics.device_wait(PROFILE, "gpu.example.com", "success", 0.3)
    metrics.device_allocation(PROFILE, "gpu.example.com", "success")
    metrics.client.attempt_done("POST", 201, 0.003)
    metrics.client.attempt_done("GET", 0, 0.1)
    metrics.client.leading(True)
    return metrics


def samples(metrics: SchedulerMetrics) -> dict[str, float]:
    """Series to value, as /metrics shows them."""
    lines = metrics.exposition().decode().splitlines()
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}


@pytest.mark.parametrize(("name", "kind", "stability", "labels", "buckets"), UPSTREAM, ids=[row[0] for row in UPSTREAM])
def test_a_metric_looks_as_upstream_serves_it(
    name: str, kind: str, stability: str, labels: set[str], buckets: tuple[str, str, int] | None
) -> None:
    text = fed().exposition().decode()

    assert f"# TYPE {name} {kind}\n" in text
    assert f"# HELP {name} [{stability}] " in text
    suffix = "_bucket" if kind == "histogram" else ""
    series = re.findall(rf"^{name}{suffix}(?:{{(.*)}})? ", text, re.MULTILINE)
    keys = [set(re.findall(r'(\w+)="', one)) for one in series]
    assert keys
    assert all(labels | ({"le"} if buckets else set()) == found for found in keys)
    if buckets:
        bounds = list(dict.fromkeys(re.search(r'le="(.*?)"', one)[1] for one in series))  # type: ignore[index]
        assert (buckets[0], buckets[1], buckets[2]) == (bounds[0], bounds[-2], len(bounds) - 1)
        assert "+Inf" == bounds[-1]


def test_nothing_of_the_schedulers_own_is_outside_the_list() -> None:
    names = set(re.findall(r"^# TYPE (scheduler_\S+)", fed().exposition().decode(), re.MULTILINE))

    assert {row[0] for row in UPSTREAM if row[0].startswith("scheduler_")} == names


@pytest.mark.parametrize(
    ("series", "want"),
    [
        pytest.param('scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"}', 1,
                     id="an attempt counts"),
        pytest.param('scheduler_scheduling_attempt_duration_seconds_bucket{le="0.002",profile="default-scheduler",'
                     'result="scheduled"}', 0, id="4 ms are more than 2"),
        pytest.param('scheduler_scheduling_attempt_duration_seconds_bucket{le="0.004",profile="default-scheduler",'
                     'result="scheduled"}', 1, id="a bound belongs to its bucket"),
        pytest.param('scheduler_scheduling_attempt_duration_seconds_bucket{le="+Inf",profile="default-scheduler",'
                     'result="scheduled"}', 1, id="buckets are cumulative"),
        pytest.param('scheduler_scheduling_attempt_duration_seconds_sum{profile="default-scheduler",'
                     'result="scheduled"}', 0.004, id="seconds add up"),
        pytest.param('scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"}', 1, id="by attempts"),
        pytest.param("scheduler_pod_scheduled_after_flush_total", 1, id="a flushed pod counts"),
        pytest.param('scheduler_pending_pods{queue="gated"}', 1, id="pods in a queue"),
        pytest.param('scheduler_inflight_events{event="PodPopped"}', 8, id="pods that are being tried"),
        pytest.param('scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"}', 1,
                     id="more and fewer add up"),
        pytest.param('scheduler_cache_size{type="assumed_pods"}', 7, id="assumed pods"),
        pytest.param('rest_client_requests_total{code="201",host="api:6443",method="POST"}', 1, id="a request"),
        pytest.param('rest_client_requests_total{code="<error>",host="api:6443",method="GET"}', 1, id="no answer"),
        pytest.param('leader_election_master_status{name="kube-scheduler"}', 1, id="the leader"),
        pytest.param('kubernetes_feature_enabled{name="SchedulerQueueingHints",stage=""}', 1, id="a gate that is on"),
        pytest.param('kubernetes_feature_enabled{name="VolumeLimitScaling",stage="ALPHA"}', 0, id="one that is off"),
    ],
)  # fmt: skip
def test_value(series: str, want: float) -> None:
    assert want == samples(fed())[series]


def test_many_attempts_share_one_label() -> None:
    metrics = SchedulerMetrics()
    metrics.scheduled(14, 1.0, False)
    metrics.scheduled(15, 1.0, False)
    metrics.scheduled(99, 1.0, False)

    got = samples(metrics)

    assert 1 == got['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="14"}']
    assert 2 == got['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"}']


def test_plugins_that_reject_no_more_are_at_zero() -> None:
    metrics = SchedulerMetrics()
    metrics.rejectors({("NodePorts", PROFILE): 2, ("NodeName", PROFILE): 1})
    metrics.rejectors({("NodePorts", PROFILE): 1})

    got = samples(metrics)

    assert 1 == got['scheduler_unschedulable_pods{plugin="NodePorts",profile="default-scheduler"}']
    assert 0 == got['scheduler_unschedulable_pods{plugin="NodeName",profile="default-scheduler"}']
    assert 'scheduler_pending_pods{queue="in-flight"}' not in got


def test_a_disabled_metric_is_not_served() -> None:
    metrics = fed(MetricsOptions(disabled=("scheduler_goroutines",)))

    assert b"scheduler_goroutines" not in metrics.exposition()
    assert b"scheduler_pending_pods" in metrics.exposition()


def test_label_values_off_the_list_become_one() -> None:
    key = ("scheduler_queue_incoming_pods_total", "event")
    metrics = SchedulerMetrics(MetricsOptions(allowed_values={key: frozenset({"PodAdd"})}))
    for event in ("PodAdd", "NodeAdd", "NodeDelete", "PodAdd"):
        metrics.incoming("active", event)

    got = samples(metrics)

    assert 2 == got['scheduler_queue_incoming_pods_total{event="PodAdd",queue="active"}']
    assert 2 == got['scheduler_queue_incoming_pods_total{event="unexpected",queue="active"}']


def test_two_schedulers_in_one_process_do_not_share_series() -> None:
    first, second = SchedulerMetrics(), SchedulerMetrics()
    first.preemption_attempt()

    assert 1 == samples(first)["scheduler_preemption_attempts_total"]
    assert 0 == samples(second)["scheduler_preemption_attempts_total"]


def test_the_metrics_are_the_telemetry() -> None:
    telemetry: Callable[[], Telemetry] = SchedulerMetrics

    assert isinstance(telemetry(), SchedulerMetrics)
