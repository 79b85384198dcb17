"""Who prepares which kind, when it is new, when it changes, and when its status changes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.strategy import cluster, namespaces, pods, services, workloads

Json = dict[str, Any]


def nothing_new(_api: Api, _value: Json) -> None:
    """Leave a new object as it is."""


def nothing_changed(_api: Api, _value: Json, _old: Json) -> None:
    """Leave a changed object as it is."""


def reset_status(_api: Api, value: Json) -> None:
    """A new object has no status."""
    value["status"] = {}


def drop_status(_api: Api, value: Json) -> None:
    """A new object of a custom kind does not even have an empty one."""
    value.pop("status", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """What one kind does at the moments of its life."""

    create: Callable[[Api, Json], None] = nothing_new
    update: Callable[[Api, Json, Json], None] = nothing_changed
    update_status: Callable[[Api, Json, Json], None] = nothing_changed
    create_on_update: bool = False


PLAIN = Strategy()
WITH_STATUS = Strategy(create=reset_status)
CUSTOM_WITH_STATUS = Strategy(create=drop_status)

STRATEGIES: Mapping[str, Strategy] = {
    "pods": Strategy(create=pods.prepare_pod, update=pods.keep_pod, update_status=pods.keep_pod_status),
    "nodes": Strategy(create=cluster.prepare_node),
    "namespaces": Strategy(create=namespaces.prepare_namespace, update=namespaces.keep_namespace),
    "services": Strategy(create=services.prepare_service, update=services.keep_service),
    "replicationcontrollers": Strategy(create=workloads.prepare_replica_set),
    "replicasets.apps": Strategy(create=workloads.prepare_replica_set),
    "statefulsets.apps": Strategy(create=workloads.prepare_stateful_set),
    "daemonsets.apps": Strategy(create=workloads.prepare_daemon_set, update=workloads.keep_daemon_set),
    "jobs.batch": Strategy(create=workloads.prepare_job, update=workloads.keep_job),
    "persistentvolumeclaims": Strategy(create=cluster.prepare_claim),
    "persistentvolumes": Strategy(create=cluster.prepare_volume, update_status=cluster.keep_volume_status),
    "volumeattachments.storage.k8s.io": Strategy(create=cluster.prepare_attachment),
    "ingresses.networking.k8s.io": Strategy(create=services.prepare_ingress),
    "horizontalpodautoscalers.autoscaling": Strategy(create=workloads.prepare_autoscaler),
    "resourceslices.resource.k8s.io": Strategy(create=cluster.date_taints, update=cluster.date_new_taints),
    "poddisruptionbudgets.policy": Strategy(create=workloads.prepare_budget),
    "leases.coordination.k8s.io": Strategy(create_on_update=True),
    "events": Strategy(create_on_update=True),
    "endpoints": Strategy(create_on_update=True),
    "limitranges": Strategy(create_on_update=True),
    "resourcequotas": Strategy(create=reset_status, create_on_update=True),
    "csinodes.storage.k8s.io": PLAIN,
}
"""By storage name; other kinds are plain, and lose the status they are created with when they have one."""


def strategy_for(resource: Resource) -> Strategy:
    """The strategy of one kind."""
    has_status = "status" in resource.subresources
    if resource.custom is not None:
        return CUSTOM_WITH_STATUS if has_status else PLAIN
    return STRATEGIES.get(resource.storage, WITH_STATUS if has_status else PLAIN)
