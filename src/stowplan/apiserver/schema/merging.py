"""Which lists merge by which key, and which maps are replaced whole: a table per type and field.

Everything that is not named here is replaced whole (atomic lists) or merged member by member (objects and maps).
"""

from collections.abc import Mapping

from stowplan.apiserver.schema.types import ListRule


def by(key: str, *more: str, patch_key: str | None = None, retain: bool = False) -> ListRule:
    """A list of objects told apart by the members named."""
    return ListRule(
        type="map", keys=(key, *more), patch_key=key if patch_key is None else patch_key, merge=patch_key != "",
        retain_keys=retain,
    )  # fmt: skip


SET = ListRule(type="set")
MERGED_SET = ListRule(type="set", merge=True)
PATCHED_BY_TYPE = ListRule(type="atomic", patch_key="type", merge=True)
PATCHED_BY_IP = ListRule(type="atomic", patch_key="ip", merge=True)
CONDITIONS = by("type")

LISTS: Mapping[str, ListRule] = {
    "core.Container.env": by("name"),
    "core.Container.ports": by("containerPort", "protocol"),
    "core.Container.volumeDevices": by("devicePath"),
    "core.Container.volumeMounts": by("mountPath"),
    "core.EphemeralContainer.env": by("name"),
    "core.EphemeralContainer.ports": by("containerPort", "protocol"),
    "core.EphemeralContainer.volumeDevices": by("devicePath"),
    "core.EphemeralContainer.volumeMounts": by("mountPath"),
    "core.ContainerStatus.allocatedResourcesStatus": by("name"),
    "core.ContainerStatus.volumeMounts": by("mountPath"),
    "core.ContainerRestartRuleOnExitCodes.values": SET,
    "core.NodeSpec.podCIDRs": MERGED_SET,
    "core.NodeStatus.addresses": by("type"),
    "core.PodSpec.containers": by("name"),
    "core.PodSpec.ephemeralContainers": by("name"),
    "core.PodSpec.hostAliases": by("ip"),
    "core.PodSpec.imagePullSecrets": by("name"),
    "core.PodSpec.initContainers": by("name"),
    "core.PodSpec.resourceClaims": by("name", retain=True),
    "core.PodSpec.schedulingGates": by("name"),
    "core.PodSpec.topologySpreadConstraints": by("topologyKey", "whenUnsatisfiable"),
    "core.PodSpec.volumes": by("name", retain=True),
    "core.PodStatus.hostIPs": PATCHED_BY_IP,
    "core.PodStatus.podIPs": by("ip"),
    "core.PodStatus.resourceClaimStatuses": by("name", retain=True),
    "core.ResourceRequirements.claims": by("name", patch_key=""),
    "core.ResourceStatus.resources": by("resourceID", patch_key=""),
    "core.ServiceAccount.secrets": by("name"),
    "core.ServiceSpec.ports": by("port", "protocol"),
    "meta.ObjectMeta.finalizers": MERGED_SET,
    "meta.ObjectMeta.ownerReferences": by("uid"),
    "storage.CSIDriverSpec.volumeLifecycleModes": SET,
    "storage.CSINodeSpec.drivers": by("name"),
    "resource.AllocatedDeviceStatus.conditions": by("type", patch_key=""),
    "resource.ResourceClaimStatus.devices": by("driver", "device", "pool", "shareID", patch_key=""),
    "resource.ResourceClaimStatus.reservedFor": by("uid"),
    "discovery.Endpoint.addresses": SET,
    "batch.JobStatus.conditions": PATCHED_BY_TYPE,
    "batch.PodFailurePolicyOnExitCodesRequirement.values": SET,
    "batch.UncountedTerminatedPods.failed": SET,
    "batch.UncountedTerminatedPods.succeeded": SET,
    "apiextensions.JSONSchemaProps.x-kubernetes-validations": by("rule"),
    "admissionregistration.MutatingWebhookConfiguration.webhooks": by("name"),
    "admissionregistration.ValidatingWebhookConfiguration.webhooks": by("name"),
    "admissionregistration.MutatingWebhook.matchConditions": by("name"),
    "admissionregistration.ValidatingWebhook.matchConditions": by("name"),
    "admissionregistration.ValidatingAdmissionPolicySpec.matchConditions": by("name"),
    "admissionregistration.ValidatingAdmissionPolicySpec.variables": by("name"),
    "flowcontrol.NonResourcePolicyRule.nonResourceURLs": SET,
    "flowcontrol.NonResourcePolicyRule.verbs": SET,
    "flowcontrol.ResourcePolicyRule.apiGroups": SET,
    "flowcontrol.ResourcePolicyRule.namespaces": SET,
    "flowcontrol.ResourcePolicyRule.resources": SET,
    "flowcontrol.ResourcePolicyRule.verbs": SET,
}
"""By `<room>.<Type>.<field>`."""

CONDITION_OWNERS = frozenset(
    {
        "apiregistration.APIServiceStatus", "core.ComponentStatus", "apps.DaemonSetStatus", "apps.DeploymentStatus",
        "flowcontrol.FlowSchemaStatus", "core.NamespaceStatus", "core.NodeStatus", "core.PersistentVolumeClaimStatus",
        "policy.PodDisruptionBudgetStatus", "core.PodStatus", "flowcontrol.PriorityLevelConfigurationStatus",
        "apps.ReplicaSetStatus", "core.ReplicationControllerStatus", "networking.ServiceCIDRStatus",
        "core.ServiceStatus", "apps.StatefulSetStatus", "autoscaling.HorizontalPodAutoscalerStatus",
    }
)  # fmt: skip
"""Status types whose `conditions` merge by `type` in patches and in server-side apply."""

CONDITION_MAPS = frozenset(
    {
        "certificates.CertificateSigningRequestStatus", "apiextensions.CustomResourceDefinitionStatus",
        "admissionregistration.ValidatingAdmissionPolicyStatus",
    }
)  # fmt: skip
"""Status types whose `conditions` merge by `type` in server-side apply only."""

ATOMIC_TYPES = frozenset(
    {
        "core.ConfigMapKeySelector", "core.EndpointAddress", "core.EndpointPort", "core.FileKeySelector",
        "core.LocalObjectReference", "core.NodeSelector", "core.NodeSelectorTerm", "core.ObjectFieldSelector",
        "core.ObjectReference", "core.ResourceFieldSelector", "core.ScopeSelector", "core.SecretKeySelector",
        "core.SecretReference", "core.TopologySelectorTerm", "core.TypedLocalObjectReference",
        "discovery.EndpointPort", "networking.ServiceBackendPort", "rbac.RoleRef", "rbac.Subject",
        "meta.LabelSelector", "meta.OwnerReference", "autoscaling.CrossVersionObjectReference",
        "admissionregistration.MatchResources", "admissionregistration.NamedRuleWithOperations",
        "admissionregistration.ParamKind", "admissionregistration.ParamRef",
    }
)  # fmt: skip
"""Objects that one manager owns whole."""

ATOMIC_MAPS = frozenset(
    {
        "core.PodSpec.nodeSelector", "core.ReplicationControllerSpec.selector", "node.Scheduling.nodeSelector",
        "core.ServiceSpec.selector",
    }
)  # fmt: skip

RETAIN_KEYS_FIELDS = frozenset({"apps.DeploymentSpec.strategy"})
GRANULAR_FIELDS = frozenset({"core.PersistentVolumeSpec.claimRef"})
REPLACED_FIELDS = frozenset({"policy.PodDisruptionBudgetSpec.selector"})


def list_rule(owner: str, field: str) -> ListRule:
    """The rule of one list; `owner` is `<room>.<Type>`."""
    if field == "conditions":
        if owner in CONDITION_OWNERS:
            return CONDITIONS
        if owner in CONDITION_MAPS:
            return by("type", patch_key="")
    return LISTS.get(f"{owner}.{field}", ListRule())
