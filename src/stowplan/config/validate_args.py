"""What the in-tree plugins' arguments may be.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final

from stowplan.api.affinity import NodeAffinity, NodeSelector, NodeSelectorTerm, TopologySpreadConstraint
from stowplan.api.gotext import label_key_errors, not_supported
from stowplan.api.node_selectors import compile_node_selector
from stowplan.config.duration import format_duration
from stowplan.config.fields import child, duplicate, forbidden, index, invalid, required
from stowplan.config.plugin_args import PluginArgs, binding_timeout_is_on
from stowplan.framework.gates import Gates
from stowplan.framework.plugin_args import (
    LEAST_ALLOCATED,
    LIST_DEFAULTING,
    MAX_SHAPE_SCORE,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    SECOND_NS,
    SYSTEM_DEFAULTING,
    DefaultPreemptionArgs,
    DynamicResourcesArgs,
    InterPodAffinityArgs,
    NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs,
    PodTopologySpreadArgs,
    ShapePoint,
    VolumeBindingArgs,
)

STRATEGIES: Final = (LEAST_ALLOCATED, MOST_ALLOCATED, REQUESTED_TO_CAPACITY_RATIO)
UNSATISFIABLE_ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")


def args_errors(path: str, args: PluginArgs, gates: Gates) -> list[str]:
    """The faults of arguments that are judged with the configuration.

    NodeResourcesFit is not among them: upstream judges it when the plugin is made (`fit_args_errors`).
    """
    match args:
        case DefaultPreemptionArgs():
            return _preemption(path, args)
        case InterPodAffinityArgs():
            weight = args.hard_pod_affinity_weight
            return _within(child(path, "hardPodAffinityWeight"), weight, 0, 100)
        case NodeAffinityArgs():
            return _added_affinity(child(path, "addedAffinity"), args.added_affinity)
        case NodeResourcesBalancedAllocationArgs():
            return _balanced_allocation(path, args)
        case PodTopologySpreadArgs():
            return _topology_spread(path, args)
        case VolumeBindingArgs():
            return _volume_binding(path, args, gates)
        case DynamicResourcesArgs():
            return _dynamic_resources(path, args, gates)
        case NodeResourcesFitArgs():
            return []


def fit_args_errors(args: NodeResourcesFitArgs) -> list[str]:
    """The faults of NodeResourcesFit's arguments, with paths that start at the arguments."""
    errors = []
    for position, name in enumerate(args.ignored_resources):
        errors += _label_name(index("ignoredResources", position), name)
    for position, group in enumerate(args.ignored_resource_groups):
        path = index("ignoredResourceGroups", position)
        if "/" in group:
            errors.append(invalid(path, group, "resource group name can't contain '/'"))
        errors += _label_name(path, group)
    strategy = args.scoring_strategy
    if strategy.type not in STRATEGIES:
        errors.append(not_supported("scoringStrategy.type", strategy.type, STRATEGIES))
    for position, resource in enumerate(strategy.resources):
        if not 0 < resource.weight <= 100:
            path = child(index("scoringStrategy.resources", position), "weight")
            detail = f"resource weight of {resource.name} not in valid range (0, 100]"
            errors.append(invalid(path, resource.weight, detail))
    path = "scoringStrategy.requestedToCapacityRatio"
    ratio = strategy.requested_to_capacity_ratio
    if strategy.type != REQUESTED_TO_CAPACITY_RATIO:
        if ratio is not None:
            errors.append(forbidden(path, "must be nil when type is not RequestedToCapacityRatio"))
    elif ratio is None:
        errors.append(required(path, "must be specified when type is RequestedToCapacityRatio"))
    else:
        errors += _shape(child(path, "shape"), ratio.shape)
    return errors


def _preemption(path: str, args: DefaultPreemptionArgs) -> list[str]:
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    percentage_path = child(path, "minCandidateNodesPercentage")
    absolute_path = child(path, "minCandidateNodesAbsolute")
    errors = _within(percentage_path, percentage, 0, 100)
    if absolute < 0:
        errors.append(invalid(absolute_path, absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        errors += [
            invalid(percentage_path, 0, "cannot be zero at the same time as minCandidateNodesAbsolute"),
            invalid(absolute_path, 0, "cannot be zero at the same time as minCandidateNodesPercentage"),
        ]
    return errors


def _added_affinity(path: str, affinity: NodeAffinity | None) -> list[str]:
    if affinity is None:
        return []
    errors: list[str] = []
    if affinity.required is not None:
        errors += _selector(child(path, "requiredDuringSchedulingIgnoredDuringExecution"), affinity.required)
    # weightless preferences are not looked at; as an empty term each keeps its place
    preferences = NodeSelector(
        node_selector_terms=tuple(
            preferred.preference if preferred.weight else NodeSelectorTerm() for preferred in affinity.preferred
        )
    )
    preferred_path = child(path, "preferredDuringSchedulingIgnoredDuringExecution")
    for error in _selector(preferred_path, preferences):
        errors.append(error.replace(child(preferred_path, "nodeSelectorTerms"), preferred_path, 1))
    return errors


def _selector(path: str, selector: NodeSelector) -> list[str]:
    return [error for term in compile_node_selector(selector, path).terms for error in term.errors]


def _balanced_allocation(path: str, args: NodeResourcesBalancedAllocationArgs) -> list[str]:
    errors = []
    seen: set[str] = set()
    for position, resource in enumerate(args.resources):
        here = index(child(path, "resources"), position)
        if resource.name in seen:
            errors.append(duplicate(child(here, "name"), resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(child(here, "weight"), resource.weight, "must be 1"))
    return errors


def _topology_spread(path: str, args: PodTopologySpreadArgs) -> list[str]:
    errors = []
    type_path = child(path, "defaultingType")
    if args.defaulting_type not in (SYSTEM_DEFAULTING, LIST_DEFAULTING):
        errors.append(not_supported(type_path, args.defaulting_type, (SYSTEM_DEFAULTING, LIST_DEFAULTING)))
    elif args.defaulting_type == SYSTEM_DEFAULTING and args.default_constraints:
        errors.append(invalid(type_path, args.defaulting_type, "when .defaultConstraints are not empty"))
    for position, constraint in enumerate(args.default_constraints):
        here = index(child(path, "defaultConstraints"), position)
        errors += _constraint(here, constraint, args.default_constraints[:position])
    return errors


def _constraint(
    path: str, constraint: TopologySpreadConstraint, before: Sequence[TopologySpreadConstraint]
) -> list[str]:
    errors = []
    if constraint.max_skew <= 0:
        errors.append(invalid(child(path, "maxSkew"), constraint.max_skew, "not in valid range (0, inf)"))
    key, action = constraint.topology_key, constraint.when_unsatisfiable
    if not key:
        errors.append(required(child(path, "topologyKey"), "can not be empty"))
    else:
        errors += _label_name(child(path, "topologyKey"), key)
    if not action:
        errors.append(required(child(path, "whenUnsatisfiable"), "can not be empty"))
    elif action not in UNSATISFIABLE_ACTIONS:
        errors.append(not_supported(child(path, "whenUnsatisfiable"), action, UNSATISFIABLE_ACTIONS))
    if constraint.label_selector is not None:
        detail = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(child(path, "labelSelector"), detail))
    if any((other.topology_key, other.when_unsatisfiable) == (key, action) for other in before):
        errors.append(duplicate(path, f"{{{key}, {action}}}"))
    return errors


def _volume_binding(path: str, args: VolumeBindingArgs, gates: Gates) -> list[str]:
    errors = []
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(child(path, "bindTimeoutSeconds"), args.bind_timeout_seconds, detail))
    shape_path = child(path, "shape")
    if gates.on("StorageCapacityScoring"):
        errors += _shape(shape_path, args.shape or ())
    elif args.shape is not None:
        points = [{"Utilization": point.utilization, "Score": point.score} for point in args.shape]
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        errors.append(invalid(shape_path, points, detail))
    return errors


def _dynamic_resources(path: str, args: DynamicResourcesArgs, gates: Gates) -> list[str]:
    errors = []
    timeout, timeout_path = args.filter_timeout_ns, child(path, "filterTimeout")
    if timeout is not None:
        if not gates.on("DRASchedulerFilterTimeout"):
            errors.append(forbidden(timeout_path, "DRASchedulingFilterTimeout feature gate is disabled"))
        elif timeout < 0:
            errors.append(invalid(timeout_path, format_duration(timeout), "must be zero or positive"))
    timeout, timeout_path = args.binding_timeout_ns, child(path, "bindingTimeout")
    if timeout is not None:
        if not binding_timeout_is_on(gates):
            detail = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
            errors.append(forbidden(timeout_path, detail))
        elif timeout < SECOND_NS:
            errors.append(invalid(timeout_path, format_duration(timeout), "must be at least 1 second"))
    return errors


def _shape(path: str, shape: Sequence[ShapePoint]) -> list[str]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors = []
    for position in range(1, len(shape)):
        if shape[position - 1].utilization >= shape[position].utilization:
            here = child(index(path, position), "utilization")
            errors.append(invalid(here, shape[position].utilization, "values must be sorted in increasing order"))
            break
    for position, point in enumerate(shape):
        here = index(path, position)
        errors += _within(child(here, "utilization"), point.utilization, 0, 100)
        errors += _within(child(here, "score"), point.score, 0, MAX_SHAPE_SCORE)
    return errors


def _within(path: str, value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [invalid(path, value, f"not in valid range [{low}, {high}]")]


def _label_name(path: str, name: str) -> list[str]:
    return [invalid(path, name, fault) for fault in label_key_errors(name)]
