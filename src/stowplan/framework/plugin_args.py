"""Arguments of the in-tree plugins, as the plugins read them: decoded, defaulted and valid.

Upstream: staging/src/k8s.io/kube-scheduler/config/v1/types_pluginargs.go (v1.36.4).
"""

from typing import Final

from stowplan.api.affinity import NodeAffinity, TopologySpreadConstraint
from stowplan.api.meta import Int32, Int64, Record

LEAST_ALLOCATED: Final = "LeastAllocated"
MOST_ALLOCATED: Final = "MostAllocated"
REQUESTED_TO_CAPACITY_RATIO: Final = "RequestedToCapacityRatio"

SYSTEM_DEFAULTING: Final = "System"
LIST_DEFAULTING: Final = "List"

MAX_SHAPE_SCORE: Final = 10

SECOND_NS: Final = 1_000_000_000


class ResourceSpec(Record, frozen=True):
    """A resource that takes part in a score, and how much it counts."""

    name: str = ""
    weight: Int64 = 1


CPU_AND_MEMORY: Final = (ResourceSpec(name="cpu"), ResourceSpec(name="memory"))


class ShapePoint(Record, frozen=True):
    """A corner of a piecewise linear score: at this utilization (0 to 100) this score (0 to 10)."""

    utilization: Int32 = 0
    score: Int32 = 0


FULL_WHEN_EMPTY: Final = (ShapePoint(utilization=0, score=MAX_SHAPE_SCORE), ShapePoint(utilization=100, score=0))


class RequestedToCapacityRatio(Record, frozen=True):
    """The score's shape for the strategy of this name."""

    shape: tuple[ShapePoint, ...] = ()


class ScoringStrategy(Record, frozen=True):
    """How NodeResourcesFit scores; `requested_to_capacity_ratio` is set for that type only."""

    type: str = LEAST_ALLOCATED
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatio | None = None


class DefaultPreemptionArgs(Record, frozen=True):
    """How many candidate nodes a preemption looks at, at least."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


class InterPodAffinityArgs(Record, frozen=True):
    """What other pods' terms count in scoring."""

    hard_pod_affinity_weight: Int32 = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class NodeAffinityArgs(Record, frozen=True):
    """An affinity that every pod of the profile has beside its own."""

    added_affinity: NodeAffinity | None = None


class NodeResourcesBalancedAllocationArgs(Record, frozen=True):
    """The resources whose use is to be balanced."""

    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY


class NodeResourcesFitArgs(Record, frozen=True):
    """Resources the filter ignores, and the scoring strategy."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()


class PodTopologySpreadArgs(Record, frozen=True):
    """Constraints for pods that have none: the system's, or those listed here."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: str = SYSTEM_DEFAULTING


class VolumeBindingArgs(Record, frozen=True):
    """How long binding volumes may take; `shape` is set only under the gate StorageCapacityScoring."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[ShapePoint, ...] | None = None


class DynamicResourcesArgs(Record, frozen=True):
    """Time limits in nanoseconds; None where the gate of the limit is off."""

    filter_timeout_ns: Int64 | None = 10 * SECOND_NS
    binding_timeout_ns: Int64 | None = 600 * SECOND_NS
