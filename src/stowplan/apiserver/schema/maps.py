"""What the values of maps hold, where it is not plain text: the model library names the map but not its values."""

from collections.abc import Mapping

QUANTITY_MAPS = frozenset(
    {
        "core.ContainerStatus.allocatedResources", "core.LimitRangeItem.default",
        "core.LimitRangeItem.defaultRequest", "core.LimitRangeItem.max", "core.LimitRangeItem.maxLimitRequestRatio",
        "core.LimitRangeItem.min", "core.NodeStatus.allocatable", "core.NodeStatus.capacity",
        "core.PersistentVolumeClaimStatus.allocatedResources", "core.PersistentVolumeClaimStatus.capacity",
        "core.PersistentVolumeSpec.capacity", "core.PodSpec.overhead", "core.PodStatus.allocatedResources",
        "core.ResourceQuotaSpec.hard", "core.ResourceQuotaStatus.hard", "core.ResourceQuotaStatus.used",
        "core.ResourceRequirements.limits", "core.ResourceRequirements.requests",
        "core.VolumeResourceRequirements.limits", "core.VolumeResourceRequirements.requests",
        "node.Overhead.podFixed", "resource.CapacityRequirements.requests",
        "resource.DeviceRequestAllocationResult.consumedCapacity",
    }
)  # fmt: skip

TIME_MAPS = frozenset({"policy.PodDisruptionBudgetStatus.disruptedPods"})

STRING_LIST_MAPS = frozenset(
    {
        "authentication.UserInfo.extra", "authorization.SubjectAccessReviewSpec.extra",
        "certificates.CertificateSigningRequestSpec.extra",
    }
)  # fmt: skip

OBJECT_MAPS: Mapping[str, str] = {
    "resource.CounterSet.counters": "Counter",
    "resource.DeviceCounterConsumption.counters": "Counter",
    "resource.Device.attributes": "DeviceAttribute",
    "resource.Device.capacity": "DeviceCapacity",
    "resource.Device.nodeAllocatableResources": "",
    "apiextensions.JSONSchemaProps.definitions": "JSONSchemaProps",
    "apiextensions.JSONSchemaProps.dependencies": "",
    "apiextensions.JSONSchemaProps.patternProperties": "JSONSchemaProps",
    "apiextensions.JSONSchemaProps.properties": "JSONSchemaProps",
}
"""The type (of the same file of models) of the values; empty: anything."""
