"""The numbers of fields on the wire: per type, the names in the order of their numbers, from 1 on.

`-` is a number that is not used (or not read here); `@Type` stands for members that JSON shows one level higher.
Only types that clients write are here.
"""

from collections.abc import Mapping

from stowplan.apiserver.protobuf.numbers_core import CORE, POD, POD_SOURCES, SPEC_STATUS

CONDITION = "type status lastTransitionTime reason message"

META: Mapping[str, str] = {
    "ObjectMeta": "name generateName namespace selfLink uid resourceVersion generation creationTimestamp "
    "deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences finalizers - - managedFields",
    "OwnerReference": "kind - name uid apiVersion controller blockOwnerDeletion",
    "ManagedFieldsEntry": "manager operation apiVersion time - fieldsType fieldsV1 subresource",
    "LabelSelector": "matchLabels matchExpressions",
    "LabelSelectorRequirement": "key operator values",
    "FieldSelectorRequirement": "key operator values",
    "Condition": "type status observedGeneration lastTransitionTime reason message",
    "DeleteOptions": "gracePeriodSeconds preconditions orphanDependents propagationPolicy dryRun",
    "Preconditions": "uid resourceVersion",
}

APPS: Mapping[str, str] = {
    "Deployment": SPEC_STATUS,
    "DeploymentSpec": "replicas selector template strategy minReadySeconds revisionHistoryLimit paused - "
    "progressDeadlineSeconds",
    "DeploymentStrategy": "type rollingUpdate",
    "RollingUpdateDeployment": "maxUnavailable maxSurge",
    "DeploymentStatus": "observedGeneration replicas updatedReplicas availableReplicas unavailableReplicas conditions "
    "readyReplicas collisionCount terminatingReplicas",
    "DeploymentCondition": "type status - reason message lastUpdateTime lastTransitionTime",
    "ReplicaSet": SPEC_STATUS,
    "ReplicaSetSpec": "replicas selector template minReadySeconds",
    "ReplicaSetStatus": "replicas fullyLabeledReplicas observedGeneration readyReplicas availableReplicas conditions "
    "terminatingReplicas",
    "ReplicaSetCondition": CONDITION,
    "StatefulSet": SPEC_STATUS,
    "StatefulSetSpec": "replicas selector template volumeClaimTemplates serviceName podManagementPolicy "
    "updateStrategy revisionHistoryLimit minReadySeconds persistentVolumeClaimRetentionPolicy ordinals",
    "StatefulSetUpdateStrategy": "type rollingUpdate",
    "RollingUpdateStatefulSetStrategy": "partition maxUnavailable",
    "StatefulSetPersistentVolumeClaimRetentionPolicy": "whenDeleted whenScaled",
    "StatefulSetOrdinals": "start",
    "StatefulSetStatus": "observedGeneration replicas readyReplicas currentReplicas updatedReplicas currentRevision "
    "updateRevision - collisionCount conditions availableReplicas",
    "StatefulSetCondition": CONDITION,
    "DaemonSet": SPEC_STATUS,
    "DaemonSetSpec": "selector template updateStrategy minReadySeconds - revisionHistoryLimit",
    "DaemonSetUpdateStrategy": "type rollingUpdate",
    "RollingUpdateDaemonSet": "maxUnavailable maxSurge",
    "DaemonSetStatus": "currentNumberScheduled numberMisscheduled desiredNumberScheduled numberReady "
    "observedGeneration updatedNumberScheduled numberAvailable numberUnavailable collisionCount conditions",
    "DaemonSetCondition": CONDITION,
    "ControllerRevision": "metadata data revision",
}

BATCH: Mapping[str, str] = {
    "Job": SPEC_STATUS,
    "JobSpec": "parallelism completions activeDeadlineSeconds selector manualSelector template backoffLimit "
    "ttlSecondsAfterFinished completionMode suspend podFailurePolicy backoffLimitPerIndex maxFailedIndexes "
    "podReplacementPolicy managedBy successPolicy",
    "JobStatus": "conditions startTime completionTime active succeeded failed completedIndexes "
    "uncountedTerminatedPods ready failedIndexes terminating",
    "JobCondition": "type status lastProbeTime lastTransitionTime reason message",
    "UncountedTerminatedPods": "succeeded failed",
    "CronJob": SPEC_STATUS,
    "CronJobSpec": "schedule startingDeadlineSeconds concurrencyPolicy suspend jobTemplate "
    "successfulJobsHistoryLimit failedJobsHistoryLimit timeZone",
    "CronJobStatus": "active - - lastScheduleTime lastSuccessfulTime",
    "JobTemplateSpec": "metadata spec",
    "PodFailurePolicy": "rules",
    "PodFailurePolicyRule": "action onExitCodes onPodConditions",
    "PodFailurePolicyOnExitCodesRequirement": "containerName operator values",
    "PodFailurePolicyOnPodConditionsPattern": "type status",
    "SuccessPolicy": "rules",
    "SuccessPolicyRule": "succeededIndexes succeededCount",
}

POLICY: Mapping[str, str] = {
    "Eviction": "metadata deleteOptions",
    "PodDisruptionBudget": SPEC_STATUS,
    "PodDisruptionBudgetSpec": "minAvailable selector maxUnavailable unhealthyPodEvictionPolicy",
    "PodDisruptionBudgetStatus": "observedGeneration disruptedPods disruptionsAllowed currentHealthy desiredHealthy "
    "expectedPods conditions",
}

RBAC: Mapping[str, str] = {
    "Role": "metadata rules",
    "ClusterRole": "metadata rules aggregationRule",
    "AggregationRule": "clusterRoleSelectors",
    "PolicyRule": "verbs apiGroups resources resourceNames nonResourceURLs",
    "RoleBinding": "metadata subjects roleRef",
    "ClusterRoleBinding": "metadata subjects roleRef",
    "Subject": "kind apiGroup name namespace",
    "RoleRef": "apiGroup kind name",
}

REVIEWS: Mapping[str, str] = {
    "TokenReview": SPEC_STATUS,
    "TokenReviewSpec": "token audiences",
    "SelfSubjectReview": "metadata status",
    "SubjectAccessReview": SPEC_STATUS,
    "LocalSubjectAccessReview": SPEC_STATUS,
    "SelfSubjectAccessReview": SPEC_STATUS,
    "SelfSubjectRulesReview": SPEC_STATUS,
    "SubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes user groups extra uid",
    "SelfSubjectAccessReviewSpec": "resourceAttributes nonResourceAttributes",
    "SelfSubjectRulesReviewSpec": "namespace",
    "ResourceAttributes": "namespace verb group version resource subresource name fieldSelector labelSelector",
    "NonResourceAttributes": "path verb",
    "TokenReviewStatus": "authenticated user error audiences",
    "SelfSubjectReviewStatus": "userInfo",
    "UserInfo": "username uid groups extra",
    "SubjectAccessReviewStatus": "allowed reason evaluationError denied",
    "SubjectRulesReviewStatus": "resourceRules nonResourceRules incomplete evaluationError",
}

STORAGE: Mapping[str, str] = {
    "StorageClass": "metadata provisioner parameters reclaimPolicy mountOptions allowVolumeExpansion "
    "volumeBindingMode allowedTopologies",
    "CSIDriver": "metadata spec",
    "CSIDriverSpec": "attachRequired podInfoOnMount volumeLifecycleModes storageCapacity fsGroupPolicy tokenRequests "
    "requiresRepublish seLinuxMount nodeAllocatableUpdatePeriodSeconds serviceAccountTokenInSecrets "
    "preventPodSchedulingIfMissing",
    "TokenRequest": "audience expirationSeconds",
    "CSINode": "metadata spec",
    "CSINodeSpec": "drivers",
    "CSINodeDriver": "name nodeID topologyKeys allocatable",
    "VolumeNodeResources": "count",
    "CSIStorageCapacity": "metadata nodeTopology storageClassName capacity maximumVolumeSize",
    "VolumeAttachment": SPEC_STATUS,
    "VolumeAttachmentSpec": "attacher source nodeName",
    "VolumeAttachmentSource": "persistentVolumeName inlineVolumeSpec",
    "VolumeAttachmentStatus": "attached attachmentMetadata attachError detachError",
    "VolumeError": "time message errorCode",
}

RESOURCE: Mapping[str, str] = {
    "ResourceClaim": SPEC_STATUS,
    "ResourceClaimSpec": "devices",
    "ResourceClaimTemplate": "metadata spec",
    "ResourceClaimTemplateSpec": "metadata spec",
    "DeviceClaim": "requests constraints config",
    "DeviceRequest": "name exactly firstAvailable",
    "ExactDeviceRequest": "deviceClassName selectors allocationMode count adminAccess tolerations capacity",
    "DeviceSubRequest": "name deviceClassName selectors allocationMode count tolerations capacity",
    "CapacityRequirements": "requests",
    "DeviceSelector": "cel",
    "CELDeviceSelector": "expression",
    "DeviceConstraint": "requests matchAttribute distinctAttribute",
    "DeviceClaimConfiguration": "requests @DeviceConfiguration",
    "DeviceConfiguration": "opaque",
    "OpaqueDeviceConfiguration": "driver parameters",
    "DeviceToleration": "key operator value effect tolerationSeconds",
    "ResourceClaimStatus": "allocation reservedFor - devices",
    "AllocationResult": "devices - nodeSelector - allocationTimestamp",
    "DeviceAllocationResult": "results config",
    "DeviceRequestAllocationResult": "request driver pool device adminAccess tolerations bindingConditions "
    "bindingFailureConditions shareID consumedCapacity",
    "DeviceAllocationConfiguration": "source requests @DeviceConfiguration",
    "ResourceClaimConsumerReference": "apiGroup - resource name uid",
    "AllocatedDeviceStatus": "driver pool device conditions data networkData shareID",
    "NetworkDeviceData": "interfaceName ips hardwareAddress",
    "DeviceClass": "metadata spec",
    "DeviceClassSpec": "selectors config - extendedResourceName",
    "DeviceClassConfiguration": "@DeviceConfiguration",
    "ResourceSlice": "metadata spec",
    "ResourceSliceSpec": "driver pool nodeName nodeSelector allNodes devices perDeviceNodeSelection sharedCounters",
    "ResourcePool": "name generation resourceSliceCount",
    "Device": "name attributes capacity consumesCounters nodeName nodeSelector allNodes taints bindsToNode "
    "bindingConditions bindingFailureConditions allowMultipleAllocations",
    "DeviceAttribute": "- int bool string version ints bools strings versions",
    "DeviceCapacity": "value requestPolicy",
    "CapacityRequestPolicy": "default - validValues validRange",
    "CapacityRequestPolicyRange": "min max step",
    "DeviceCounterConsumption": "counterSet counters",
    "CounterSet": "name counters",
    "Counter": "value",
    "DeviceTaint": "key value effect timeAdded",
}

OTHERS: Mapping[str, Mapping[str, str]] = {
    "scheduling": {"PriorityClass": "metadata value globalDefault description preemptionPolicy"},
    "coordination": {
        "Lease": "metadata spec",
        "LeaseSpec": "holderIdentity leaseDurationSeconds acquireTime renewTime leaseTransitions strategy "
        "preferredHolder",
    },
    "events": {
        "Event": "metadata eventTime series reportingController reportingInstance action reason regarding related "
        "note type deprecatedSource deprecatedFirstTimestamp deprecatedLastTimestamp deprecatedCount",
        "EventSeries": "count lastObservedTime",
    },
    "autoscaling": {
        "Scale": SPEC_STATUS,
        "HorizontalPodAutoscaler": SPEC_STATUS,
        "CrossVersionObjectReference": "kind name apiVersion",
        "HorizontalPodAutoscalerSpec": "scaleTargetRef minReplicas maxReplicas targetCPUUtilizationPercentage",
        "HorizontalPodAutoscalerStatus": "observedGeneration lastScaleTime currentReplicas desiredReplicas "
        "currentCPUUtilizationPercentage",
        "ScaleSpec": "replicas",
        "ScaleStatus": "replicas selector",
    },
    "node": {
        "RuntimeClass": "metadata handler overhead scheduling",
        "Overhead": "podFixed",
        "Scheduling": "nodeSelector tolerations",
    },
    "networking": {
        "Ingress": SPEC_STATUS,
        "IngressSpec": "defaultBackend tls rules ingressClassName",
        "IngressStatus": "loadBalancer",
        "IngressLoadBalancerStatus": "ingress",
        "IngressLoadBalancerIngress": "ip hostname - ports",
        "IngressTLS": "hosts secretName",
        "IngressRule": "host @IngressRuleValue",
        "IngressRuleValue": "http",
        "HTTPIngressRuleValue": "paths",
        "HTTPIngressPath": "path backend pathType",
        "IngressBackend": "- - resource service",
        "IngressServiceBackend": "name port",
        "ServiceBackendPort": "name number",
        "IngressClass": "metadata spec",
        "IngressClassSpec": "controller parameters",
        "NetworkPolicy": "metadata spec",
        "NetworkPolicySpec": "podSelector ingress egress policyTypes",
        "NetworkPolicyIngressRule": "ports from",
        "NetworkPolicyEgressRule": "ports to",
        "NetworkPolicyPort": "protocol port endPort",
        "NetworkPolicyPeer": "podSelector namespaceSelector ipBlock",
        "IPBlock": "cidr except",
    },
    "discovery": {
        "EndpointSlice": "metadata endpoints ports addressType",
        "Endpoint": "addresses conditions hostname targetRef deprecatedTopology nodeName zone hints",
        "EndpointConditions": "ready serving terminating",
        "EndpointHints": "forZones forNodes",
        "ForZone": "name",
        "ForNode": "name",
        "EndpointPort": "name protocol port appProtocol",
    },
}

NUMBERS: Mapping[str, Mapping[str, str]] = {
    "meta": META,
    "core": {**POD, **POD_SOURCES, **CORE},
    "apps": APPS,
    "batch": BATCH,
    "policy": POLICY,
    "rbac": RBAC,
    "authentication": REVIEWS,
    "authorization": REVIEWS,
    "storage": STORAGE,
    "resource": RESOURCE,
    **OTHERS,
}
"""By the first part of the models' file name, then by type."""

BYTES = frozenset({"core.Secret.data", "core.ConfigMap.binaryData"})
"""Maps whose values are bytes; JSON shows them in base64."""

ZERO_COUNTS = frozenset(
    {
        "replicas", "terminationGracePeriodSeconds", "gracePeriodSeconds", "parallelism", "completions",
        "backoffLimit", "tolerationSeconds", "storageClassName", "minReplicas", "defaultMode", "mode",
        "automountServiceAccountToken", "enableServiceLinks", "optional", "runAsNonRoot", "privileged",
        "allowPrivilegeEscalation", "readOnlyRootFilesystem", "runAsUser", "runAsGroup", "fsGroup", "partition",
        "revisionHistoryLimit", "ttlSecondsAfterFinished", "progressDeadlineSeconds", "suspend", "hostUsers",
        "immutable", "orphanDependents", "controller", "blockOwnerDeletion", "holderIdentity", "leaseTransitions",
        "attachRequired", "podInfoOnMount", "storageCapacity", "requiresRepublish", "seLinuxMount",
        "allowVolumeExpansion", "priority", "successfulJobsHistoryLimit", "failedJobsHistoryLimit",
        "allocateLoadBalancerNodePorts", "shareProcessNamespace", "manualSelector", "apiGroup", "int", "bool", "string",
        "allNodes", "adminAccess",
        "ready", "serving", "terminating", "unavailableReplicas", "count", "volumeAttributesClassName", "type",
    }
)  # fmt: skip
"""Optional members whose zero value says something; of all others it is the same as nothing."""
