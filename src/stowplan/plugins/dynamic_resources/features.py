"""Which features of the allocator are on.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/types.go and
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (AllocatorFeatures) (v1.36.4).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """Features of the allocator, on by default as in v1.36."""

    admin_access: bool = True
    consumable_capacity: bool = True
    binding_conditions: bool = True
    device_taints: bool = True
    partitionable_devices: bool = True
    prioritized_list: bool = True


ALL_FEATURES = Features()
