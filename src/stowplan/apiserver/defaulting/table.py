"""Who fills in which kind."""

from collections.abc import Callable, Mapping
from typing import Any

from stowplan.apiserver.defaulting import cluster, pods, scheduling, storage, workloads

Defaulter = Callable[[dict[str, Any]], None]

DEFAULTERS: Mapping[str, Defaulter] = {
    "pods": pods.default_pod,
    "nodes": cluster.default_node,
    "namespaces": cluster.default_namespace,
    "services": cluster.default_service,
    "secrets": cluster.default_secret,
    "endpoints": cluster.default_endpoints,
    "events": cluster.default_event,
    "leases.coordination.k8s.io": cluster.default_lease,
    "limitranges": cluster.default_limit_range,
    "endpointslices.discovery.k8s.io": cluster.default_endpoint_slice,
    "networkpolicies.networking.k8s.io": cluster.default_network_policy,
    "rolebindings.rbac.authorization.k8s.io": cluster.default_binding_role,
    "clusterrolebindings.rbac.authorization.k8s.io": cluster.default_binding_role,
    "podtemplates": workloads.default_pod_template,
    "replicationcontrollers": workloads.default_replication_controller,
    "deployments.apps": workloads.default_deployment,
    "replicasets.apps": workloads.default_replica_set,
    "statefulsets.apps": workloads.default_stateful_set,
    "daemonsets.apps": workloads.default_daemon_set,
    "jobs.batch": workloads.default_job,
    "cronjobs.batch": workloads.default_cron_job,
    "horizontalpodautoscalers.autoscaling": workloads.default_horizontal_autoscaler,
    "persistentvolumeclaims": storage.default_claim,
    "persistentvolumes": storage.default_volume,
    "storageclasses.storage.k8s.io": storage.default_class,
    "csidrivers.storage.k8s.io": storage.default_driver,
    "volumeattachments.storage.k8s.io": storage.default_attachment,
    "priorityclasses.scheduling.k8s.io": scheduling.default_priority_class,
    "poddisruptionbudgets.policy": scheduling.default_disruption_budget,
    "resourceclaims.resource.k8s.io": scheduling.default_resource_claim,
    "resourceclaimtemplates.resource.k8s.io": scheduling.default_resource_claim_template,
    "resourceslices.resource.k8s.io": scheduling.default_resource_slice,
    "customresourcedefinitions.apiextensions.k8s.io": scheduling.default_custom_definition,
}
"""By storage name; kinds without an entry have no defaults."""
