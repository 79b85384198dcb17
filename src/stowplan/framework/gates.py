"""Feature gates: the ones that change what the scheduler does, with the defaults of v1.36.

Upstream: pkg/features/kube_features.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Final, final

DEFAULTS: Final[Mapping[str, bool]] = {
    "DRAAdminAccess": True,
    "DRAConsumableCapacity": True,
    "DRADeviceBindingConditions": True,
    "DRADeviceTaints": True,
    "DRADeviceTaintRules": False,
    "DRAExtendedResource": True,
    "DRANodeAllocatableResources": False,
    "DRAPartitionableDevices": True,
    "DRAPrioritizedList": True,
    "DRAResourceClaimDeviceStatus": True,
    "DRASchedulerFilterTimeout": True,
    "DynamicResourceAllocation": True,
    "DRAListTypeAttributes": False,
    "InPlacePodLevelResourcesVerticalScaling": True,
    "InPlacePodVerticalScaling": True,
    "MatchLabelKeysInPodTopologySpread": True,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": True,
    "NodeDeclaredFeatures": True,
    "NodeInclusionPolicyInPodTopologySpread": True,
    "NominatedNodeNameForExpectation": True,
    "PodLevelResources": True,
    "SchedulerAsyncPreemption": True,
    "SchedulerPopFromBackoffQ": True,
    "SchedulerQueueingHints": True,
    "StorageCapacityScoring": False,
    "TaintTolerationComparisonOperators": False,
    "VolumeLimitScaling": False,
}


@final
class Gates:
    """Which features are on."""

    __slots__ = ("_on",)

    def __init__(self, changed: Mapping[str, bool] | None = None) -> None:
        self._on = {**DEFAULTS, **(changed or {})}

    def on(self, name: str) -> bool:
        """Whether a gate of the table above is open."""
        return self._on[name]
