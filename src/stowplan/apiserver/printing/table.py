"""Who prints which kind."""

from collections.abc import Mapping

from stowplan.apiserver.printing import cluster, pods, scheduling, storage, workloads
from stowplan.apiserver.printing.columns import Printer
from stowplan.apiserver.printing.custom import custom_printer
from stowplan.apiserver.resources.types import Resource

PRINTERS: Mapping[str, Printer] = {
    "pods": pods.PODS,
    "nodes": cluster.NODES,
    "namespaces": cluster.NAMESPACES,
    "services": cluster.SERVICES,
    "endpoints": cluster.ENDPOINTS,
    "endpointslices.discovery.k8s.io": cluster.ENDPOINT_SLICES,
    "configmaps": cluster.CONFIG_MAPS,
    "secrets": cluster.SECRETS,
    "serviceaccounts": cluster.SERVICE_ACCOUNTS,
    "events": cluster.EVENTS,
    "leases.coordination.k8s.io": cluster.LEASES,
    "limitranges": cluster.LIMIT_RANGES,
    "resourcequotas": cluster.QUOTAS,
    "replicationcontrollers": workloads.REPLICA_SETS,
    "deployments.apps": workloads.DEPLOYMENTS,
    "replicasets.apps": workloads.REPLICA_SETS,
    "statefulsets.apps": workloads.STATEFUL_SETS,
    "daemonsets.apps": workloads.DAEMON_SETS,
    "controllerrevisions.apps": scheduling.REVISIONS,
    "jobs.batch": workloads.JOBS,
    "cronjobs.batch": workloads.CRON_JOBS,
    "horizontalpodautoscalers.autoscaling": workloads.AUTOSCALERS,
    "persistentvolumes": storage.VOLUMES,
    "persistentvolumeclaims": storage.CLAIMS,
    "storageclasses.storage.k8s.io": storage.CLASSES,
    "csidrivers.storage.k8s.io": storage.DRIVERS,
    "csinodes.storage.k8s.io": storage.CSI_NODES,
    "csistoragecapacities.storage.k8s.io": storage.CAPACITIES,
    "volumeattachments.storage.k8s.io": storage.ATTACHMENTS,
    "poddisruptionbudgets.policy": scheduling.BUDGETS,
    "priorityclasses.scheduling.k8s.io": scheduling.PRIORITY_CLASSES,
    "resourceclaims.resource.k8s.io": scheduling.RESOURCE_CLAIMS,
    "resourceclaimtemplates.resource.k8s.io": scheduling.PLAIN,
    "resourceslices.resource.k8s.io": scheduling.RESOURCE_SLICES,
    "deviceclasses.resource.k8s.io": scheduling.PLAIN,
    "roles.rbac.authorization.k8s.io": scheduling.ROLES,
    "clusterroles.rbac.authorization.k8s.io": scheduling.ROLES,
    "rolebindings.rbac.authorization.k8s.io": scheduling.ROLE_BINDINGS,
    "clusterrolebindings.rbac.authorization.k8s.io": scheduling.ROLE_BINDINGS,
    "customresourcedefinitions.apiextensions.k8s.io": scheduling.DEFINITIONS,
    "networkpolicies.networking.k8s.io": scheduling.NETWORK_POLICIES,
    "ingresses.networking.k8s.io": scheduling.INGRESSES,
    "runtimeclasses.node.k8s.io": scheduling.RUNTIME_CLASSES,
}
"""By storage name; kinds without an entry show their name and the moment of their creation."""


def printer_for(resource: Resource) -> Printer:
    """The printer of a kind."""
    if resource.custom is not None:
        return custom_printer(resource)
    return PRINTERS.get(resource.storage, scheduling.ROLES)
