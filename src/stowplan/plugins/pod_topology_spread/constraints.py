"""Spread constraints, compiled: the pod's own, or the profile's defaults for the pods of its services and controller.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go (v1.36.4).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, final

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.api.meta import KubeObject
from stowplan.api.node_selectors import RequiredNodes, required_nodes
from stowplan.api.pod import Pod
from stowplan.api.selectors import Operator, Requirement, Selector, compile_label_selector, selector_of
from stowplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pod_selectors import PodSelector
from stowplan.columns.pods import PodClass
from stowplan.columns.view import View
from stowplan.framework.gates import Gates
from stowplan.plugins.pod_topology_spread.default_selector import DefaultSelectors

HARD: Final = "DoNotSchedule"
SOFT: Final = "ScheduleAnyway"
HONOR: Final = "Honor"
HOSTNAME: Final = "kubernetes.io/hostname"

SYSTEM_DEFAULTS: Final = (
    TopologySpreadConstraint(topology_key=HOSTNAME, when_unsatisfiable=SOFT, max_skew=3),
    TopologySpreadConstraint(topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT, max_skew=5),
)

KEPT_CLASSES: Final = 4096


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One constraint of a pod class, defaults filled in."""

    topology_key: str
    max_skew: int
    min_domains: int
    what: PodSelector
    matches_itself: bool
    """Whether the pod counts among those it spreads."""
    honors_affinity: bool
    """Whether nodes that the pod's node selector or affinity excludes do not count."""
    honors_taints: bool
    """Whether nodes with taints that the pod does not tolerate do not count."""

    @property
    def counts_placed(self) -> bool:
        """Whether placed pods are counted at all."""
        # parity: an empty selector matches every pod, yet counts none of those placed (countPodsMatchSelector)
        return not self.what.selector.is_everything


@final
@dataclass(frozen=True, slots=True)
class Derived:
    """Default constraints of a class and what they were derived from."""

    objects: ObjectStore
    generations: tuple[int, ...]
    constraints: tuple[Constraint, ...]


SOURCES: Final[tuple[type[KubeObject], ...]] = (Service, ReplicationController, ReplicaSet, StatefulSet)


@final
class Constraints:
    """The constraints of pod classes, compiled once each."""

    def __init__(self, defaults: Sequence[TopologySpreadConstraint], gates: Gates) -> None:
        self._defaults = {action: _of_action(defaults, action) for action in (HARD, SOFT)}
        self._policies = gates.on("NodeInclusionPolicyInPodTopologySpread")
        self._match_label_keys = gates.on("MatchLabelKeysInPodTopologySpread")
        self._selectors = DefaultSelectors()
        self._own = lru_cache(KEPT_CLASSES)(self._compile_own)
        self._derived: dict[tuple[PodClass, str], Derived] = {}
        self.required_nodes = lru_cache(KEPT_CLASSES)(_required_nodes)

    def hard(self, view: View, cls: PodClass) -> tuple[Constraint, ...]:
        """Those that nodes must satisfy. Raises SelectorError when one of them is malformed."""
        return self._of(view, cls, HARD)

    def soft(self, view: View, cls: PodClass) -> tuple[Constraint, ...]:
        """Those that only count in scoring. Raises SelectorError when one of them is malformed."""
        return self._of(view, cls, SOFT)

    def _of(self, view: View, cls: PodClass, action: str) -> tuple[Constraint, ...]:
        if cls.spec.topology_spread_constraints:
            return self._own(cls, action)
        if not self._defaults[action]:
            return ()
        objects = view.objects
        generations = tuple(objects.generation(kind) for kind in SOURCES)
        known = self._derived.get((cls, action))
        if known is not None and known.objects is objects and known.generations == generations:
            return known.constraints
        if known is None and len(self._derived) >= KEPT_CLASSES:
            del self._derived[next(iter(self._derived))]
        selector = self._selectors.of(objects, cls)
        constraints: tuple[Constraint, ...] = ()
        if not selector.is_everything:
            constraints = tuple(self._compile(cls, written, selector) for written in self._defaults[action])
        self._derived[cls, action] = Derived(objects, generations, constraints)
        return constraints

    def _compile_own(self, cls: PodClass, action: str) -> tuple[Constraint, ...]:
        return tuple(
            self._compile(cls, written, self._selector(written, cls))
            for written in _of_action(cls.spec.topology_spread_constraints, action)
        )

    def _selector(self, written: TopologySpreadConstraint, cls: PodClass) -> Selector:
        selector = compile_label_selector(written.label_selector)
        if not self._match_label_keys or selector.requirements is None:
            return selector
        labels = cls.labels
        same = [Requirement(key, Operator.IN, (labels[key],)) for key in written.match_label_keys if key in labels]
        return selector_of([*selector.requirements, *same])

    def _compile(self, cls: PodClass, written: TopologySpreadConstraint, selector: Selector) -> Constraint:
        affinity_policy = written.node_affinity_policy if self._policies else None
        taints_policy = written.node_taints_policy if self._policies else None
        return Constraint(
            topology_key=written.topology_key,
            max_skew=written.max_skew,
            min_domains=1 if written.min_domains is None else written.min_domains,
            what=PodSelector(selector, frozenset({cls.namespace})),
            matches_itself=selector.matches(cls.labels),
            honors_affinity=affinity_policy is None or affinity_policy == HONOR,
            honors_taints=taints_policy == HONOR,
        )


def _of_action(written: Iterable[TopologySpreadConstraint], action: str) -> tuple[TopologySpreadConstraint, ...]:
    return tuple(constraint for constraint in written if constraint.when_unsatisfiable == action)


def _required_nodes(cls: PodClass) -> RequiredNodes | None:
    required = required_nodes(Pod(spec=cls.spec))
    return None if required.selector is None and required.affinity is None else required
