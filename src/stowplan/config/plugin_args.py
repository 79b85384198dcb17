"""Defaults of the in-tree plugins' arguments: from the fields that are set to the record the plugin reads.

Upstream: pkg/scheduler/apis/config/v1/defaults.go (v1.36.4).
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from stowplan.config.decode import Values
from stowplan.framework.gates import Gates
from stowplan.framework.plugin_args import (
    CPU_AND_MEMORY,
    FULL_WHEN_EMPTY,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ResourceSpec,
    ScoringStrategy,
    VolumeBindingArgs,
)

PluginArgs = (
    DefaultPreemptionArgs
    | DynamicResourcesArgs
    | InterPodAffinityArgs
    | NodeAffinityArgs
    | NodeResourcesBalancedAllocationArgs
    | NodeResourcesFitArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
)


def default_args(plugin: str, values: Values, gates: Gates) -> PluginArgs:
    """The arguments of an in-tree plugin, defaults filled in."""
    return _DEFAULTING[plugin](values, gates)


def binding_timeout_is_on(gates: Gates) -> bool:
    """Whether claims may have a binding timeout, which takes two gates."""
    return gates.on("DRADeviceBindingConditions") and gates.on("DRAResourceClaimDeviceStatus")


def _default_preemption(values: Values, _: Gates) -> DefaultPreemptionArgs:
    return msgspec.convert(values, DefaultPreemptionArgs)


def _dynamic_resources(values: Values, gates: Gates) -> DynamicResourcesArgs:
    default = DynamicResourcesArgs()
    filter_default = default.filter_timeout_ns if gates.on("DRASchedulerFilterTimeout") else None
    binding_default = default.binding_timeout_ns if binding_timeout_is_on(gates) else None
    return DynamicResourcesArgs(
        filter_timeout_ns=values.get("filterTimeout", filter_default),
        binding_timeout_ns=values.get("bindingTimeout", binding_default),
    )


def _inter_pod_affinity(values: Values, _: Gates) -> InterPodAffinityArgs:
    return msgspec.convert(values, InterPodAffinityArgs)


def _node_affinity(values: Values, _: Gates) -> NodeAffinityArgs:
    return msgspec.convert(values, NodeAffinityArgs)


def _balanced_allocation(values: Values, _: Gates) -> NodeResourcesBalancedAllocationArgs:
    return NodeResourcesBalancedAllocationArgs(resources=_resources(values))


def _node_resources_fit(values: Values, _: Gates) -> NodeResourcesFitArgs:
    args = msgspec.convert(values, NodeResourcesFitArgs)
    strategy = values.get("scoringStrategy")
    if strategy is None:
        return args
    # parity: a strategy that is given has no default type, its absence is an error
    return msgspec.structs.replace(
        args,
        scoring_strategy=ScoringStrategy(
            type=strategy.get("type", ""),
            resources=_resources(strategy),
            requested_to_capacity_ratio=args.scoring_strategy.requested_to_capacity_ratio,
        ),
    )


def _pod_topology_spread(values: Values, _: Gates) -> PodTopologySpreadArgs:
    args = msgspec.convert(values, PodTopologySpreadArgs)
    return args if args.defaulting_type else msgspec.structs.replace(args, defaulting_type=SYSTEM_DEFAULTING)


def _volume_binding(values: Values, gates: Gates) -> VolumeBindingArgs:
    args = msgspec.convert(values, VolumeBindingArgs)
    if not args.shape and gates.on("StorageCapacityScoring"):
        return msgspec.structs.replace(args, shape=FULL_WHEN_EMPTY)
    return args


def _resources(values: Values) -> tuple[ResourceSpec, ...]:
    given = values.get("resources", ())
    if not given:
        return CPU_AND_MEMORY
    return tuple(ResourceSpec(name=item.get("name", ""), weight=item.get("weight", 0) or 1) for item in given)


_DEFAULTING: Final[Mapping[str, Callable[[Values, Gates], PluginArgs]]] = {
    "DefaultPreemption": _default_preemption,
    "DynamicResources": _dynamic_resources,
    "InterPodAffinity": _inter_pod_affinity,
    "NodeAffinity": _node_affinity,
    "NodeResourcesBalancedAllocation": _balanced_allocation,
    "NodeResourcesFit": _node_resources_fit,
    "PodTopologySpread": _pod_topology_spread,
    "VolumeBinding": _volume_binding,
}
