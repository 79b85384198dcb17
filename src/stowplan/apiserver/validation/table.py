"""Who checks which kind, when it is new and when it changes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stowplan.apiserver.custom.definitions import validate_definition
from stowplan.apiserver.errors import Cause
from stowplan.apiserver.validation import access, cluster, devices, events, pods, services, workloads

Json = dict[str, Any]
NewCheck = Callable[[Json], Iterator[Cause]]
ChangeCheck = Callable[[Json, Json, str], Iterator[Cause]]

NEW: Mapping[str, NewCheck] = {
    "pods": pods.validate_pod,
    "nodes": cluster.validate_node,
    "services": services.validate_service,
    "events": events.validate_event,
    "configmaps": cluster.validate_data,
    "secrets": cluster.validate_data,
    "persistentvolumeclaims": cluster.validate_claim,
    "persistentvolumes": cluster.validate_volume,
    "storageclasses.storage.k8s.io": cluster.validate_storage_class,
    "priorityclasses.scheduling.k8s.io": cluster.validate_priority_class,
    "poddisruptionbudgets.policy": cluster.validate_budget,
    "csinodes.storage.k8s.io": cluster.validate_csi_node,
    "horizontalpodautoscalers.autoscaling": cluster.validate_autoscaler,
    "ingresses.networking.k8s.io": services.validate_ingress,
    "networkpolicies.networking.k8s.io": services.validate_network_policy,
    "rolebindings.rbac.authorization.k8s.io": access.validate_role_binding,
    "clusterrolebindings.rbac.authorization.k8s.io": access.validate_cluster_role_binding,
    "deviceclasses.resource.k8s.io": devices.validate_device_class,
    "resourceclaims.resource.k8s.io": devices.validate_device_claim,
    "resourceclaimtemplates.resource.k8s.io": devices.validate_claim_template,
    "resourceslices.resource.k8s.io": devices.validate_resource_slice,
    "leases.coordination.k8s.io": cluster.validate_lease,
    "replicationcontrollers": workloads.validate_controller,
    "deployments.apps": workloads.validate_deployment,
    "replicasets.apps": workloads.validate_set,
    "statefulsets.apps": workloads.validate_stateful_set,
    "daemonsets.apps": workloads.validate_daemon_set,
    "jobs.batch": workloads.validate_job,
    "cronjobs.batch": workloads.validate_cron_job,
    "customresourcedefinitions.apiextensions.k8s.io": validate_definition,
}

CHANGES: Mapping[str, ChangeCheck] = {
    "pods": pods.validate_pod_change,
    "services": services.keep_service_address,
    "configmaps": cluster.keep_immutable_data,
    "secrets": cluster.keep_immutable_data,
    "persistentvolumeclaims": cluster.keep_claim,
    "storageclasses.storage.k8s.io": cluster.keep_storage_class,
    "priorityclasses.scheduling.k8s.io": cluster.keep_priority_class,
    "deployments.apps": workloads.keep_selector,
    "replicasets.apps": workloads.keep_selector,
    "daemonsets.apps": workloads.keep_selector,
    "statefulsets.apps": workloads.keep_set_parts,
    "jobs.batch": workloads.keep_job_parts,
    "rolebindings.rbac.authorization.k8s.io": access.keep_role,
    "clusterrolebindings.rbac.authorization.k8s.io": access.keep_role,
    "resourceclaims.resource.k8s.io": devices.keep_device_claim,
}

CHECKED_ALONE = frozenset({"pods"})
"""Kinds whose check of a change says all that the check of a new object would."""


def validate_new(storage: str, value: Json) -> list[Cause]:
    """What is wrong with a new object."""
    check = NEW.get(storage)
    return [] if check is None else list(check(value))


def validate_change(storage: str, value: Json, old: Json, subresource: str) -> list[Cause]:
    """What is wrong with a changed object."""
    causes: list[Cause] = []
    if not subresource and storage not in CHECKED_ALONE:
        causes += validate_new(storage, value)
    check = CHANGES.get(storage)
    if check is not None:
        causes += check(value, old, subresource)
    return causes
