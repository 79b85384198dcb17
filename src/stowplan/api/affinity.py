"""Where a pod wants to be: node selectors, node and pod affinity, topology spread, taints and tolerations.

Upstream: staging/src/k8s.io/api/core/v1/types.go (v1.36.4).
"""

from msgspec import field

from stowplan.api.meta import Int32, Int64, LabelSelector, Record


class NodeSelectorRequirement(Record, frozen=True):
    """One expression over a node's labels or fields."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class NodeSelectorTerm(Record, frozen=True):
    """Expressions that must all hold; a term with none matches no node."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Record, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredSchedulingTerm(Record, frozen=True):
    """A term that adds its weight to the score of the nodes it matches."""

    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Record, frozen=True):
    """Required and preferred nodes."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredSchedulingTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Record, frozen=True):
    """Pods to be with, or away from, within a topology domain."""

    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Record, frozen=True):
    """A pod affinity term that counts in scoring."""

    weight: Int32 = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Record, frozen=True):
    """Required and preferred company; pod anti-affinity has the same fields."""

    required: tuple[PodAffinityTerm, ...] = field(default=(), name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Record, frozen=True):
    """The affinity stanza of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Record, frozen=True):
    """How evenly matching pods must lie over the domains of a topology key."""

    max_skew: Int32 = 0
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] = ()


class Taint(Record, frozen=True):
    """A mark on a node that keeps off pods that do not tolerate it."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None


class Toleration(Record, frozen=True):
    """What a pod bears with; `tolerations.tolerates` judges it."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: Int64 | None = None


class TopologySelectorLabelRequirement(Record, frozen=True):
    """A label key and the values it may have."""

    key: str = ""
    values: tuple[str, ...] = ()


class TopologySelectorTerm(Record, frozen=True):
    """Label requirements that must all hold, as a storage class's allowed topologies use them."""

    match_label_expressions: tuple[TopologySelectorLabelRequirement, ...] = ()
