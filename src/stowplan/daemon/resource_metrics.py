"""/metrics/resources: what every pod asks for, as the scheduler counts it.

Upstream: pkg/scheduler/metrics/resources/resources.go (v1.36.4).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry

from stowplan.api.errors import QuantityError
from stowplan.api.pod import Pod
from stowplan.api.quantity import Quantity, nanos
from stowplan.api.requests import limit_quantities, request_quantities

LABELS: Final = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
_ABOUT: Final = (
    "This shows the resource usage the scheduler and kubelet expect per pod for resources along with the unit for the "
    "resource if any."
)
REQUESTS_ABOUT: Final = f"[STABLE] Resources requested by workloads on the cluster, broken down by pod. {_ABOUT}"
LIMITS_ABOUT: Final = f"[STABLE] Resources limit for workloads on the cluster, broken down by pod. {_ABOUT}"
_UNITS: Final[Mapping[str, str]] = {
    "cpu": "cores",
    "memory": "bytes",
    "storage": "bytes",
    "ephemeral-storage": "bytes",
}
_NANO: Final = 1_000_000_000


def resource_exposition(pods: Iterable[Pod]) -> bytes:
    """What /metrics/resources answers for these pods."""
    registry = CollectorRegistry()
    registry.register(_PodResources(pods))
    return generate_latest(registry)


class _PodResources(Collector):
    def __init__(self, pods: Iterable[Pod]) -> None:
        self._pods = pods

    def describe(self) -> Iterable[GaugeMetricFamily]:
        return ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        requests = GaugeMetricFamily("kube_pod_resource_request", REQUESTS_ABOUT, labels=LABELS)
        limits = GaugeMetricFamily("kube_pod_resource_limit", LIMITS_ABOUT, labels=LABELS)
        for pod in self._pods:
            if pod.spec.node_name and pod.status.phase in {"Succeeded", "Failed"}:
                continue
            _add(requests, pod, request_quantities)
            _add(limits, pod, limit_quantities)
        # parity: a family without a series is not written
        return [family for family in (limits, requests) if family.samples]


def _add(family: GaugeMetricFamily, pod: Pod, amounts_of: Callable[[Pod], Mapping[str, Quantity]]) -> None:
    try:
        amounts = amounts_of(pod)
    except QuantityError:
        return  # the API server lets no such pod in
    priority = "" if pod.spec.priority is None else str(pod.spec.priority)
    for resource, amount in amounts.items():
        if value := nanos(amount):
            labels = (
                pod.metadata.namespace,
                pod.metadata.name,
                pod.spec.node_name,
                pod.spec.scheduler_name,
                priority,
                resource,
                _unit(resource),
            )
            family.add_metric(labels, value / _NANO)


def _unit(resource: str) -> str:
    if resource.startswith("hugepages-"):
        return "bytes"
    return "integer" if resource.startswith("attachable-volumes-") else _UNITS.get(resource, "")
