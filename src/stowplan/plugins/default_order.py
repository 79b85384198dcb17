"""The plugins of the default profile, in upstream's order, with their score weights.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (v1.36.4).
"""

from typing import Final

from stowplan.framework.registry import Entry
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.plugins.default_preemption import DefaultPreemption
from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.plugins.image_locality import ImageLocality
from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity
from stowplan.plugins.node_affinity import NodeAffinity
from stowplan.plugins.node_declared_features import NodeDeclaredFeatures
from stowplan.plugins.node_name import NodeName
from stowplan.plugins.node_ports import NodePorts
from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.plugins.node_resources_fit.plugin import NodeResourcesFit
from stowplan.plugins.node_unschedulable import NodeUnschedulable
from stowplan.plugins.node_volume_limits.plugin import NodeVolumeLimits
from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.plugins.scheduling_gates import SchedulingGates
from stowplan.plugins.taint_toleration import TaintToleration
from stowplan.plugins.volume_binding.plugin import VolumeBinding
from stowplan.plugins.volume_restrictions import VolumeRestrictions
from stowplan.plugins.volume_zone import VolumeZone

DEFAULT_ORDER: Final = (
    Entry(SchedulingGates),
    Entry(PrioritySort),
    Entry(NodeUnschedulable),
    Entry(NodeName),
    Entry(TaintToleration, weight=3),
    Entry(NodeAffinity, weight=2),
    Entry(NodePorts),
    Entry(NodeResourcesFit, weight=1),
    Entry(VolumeRestrictions),
    Entry(NodeVolumeLimits),
    Entry(VolumeBinding),
    Entry(VolumeZone),
    Entry(PodTopologySpread, weight=2),
    Entry(InterPodAffinity, weight=2),
    # parity: right before preemption, because freeing an idle claim is better than evicting a pod
    Entry(DynamicResources, weight=2),
    Entry(DefaultPreemption),
    Entry(NodeResourcesBalancedAllocation, weight=1),
    Entry(ImageLocality, weight=1),
    Entry(DefaultBinder),
    Entry(NodeDeclaredFeatures),
)
