"""Topology spread node by node and pod by pod, with dictionaries: what the kernels must agree with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.api.node import Node
from stowplan.api.node_selectors import required_nodes
from stowplan.api.pod import Pod
from stowplan.api.selectors import Operator, Requirement, Selector, compile_label_selector, selector_of
from stowplan.api.tolerations import first_untolerated
from stowplan.goarith import log, round_scalar, trunc_div_scalar
from stowplan.testing.builders import HOSTNAME
from tests.plugins.small_clusters import Setting

MISSING = "node(s) didn't match pod topology spread constraints (missing required label)"
UNEVEN = "node(s) didn't match pod topology spread constraints"


@dataclass(frozen=True, slots=True)
class Twin:
    """The plugin for one setting and one pod; `selector` replaces those of the constraints where defaults apply."""

    setting: Setting
    pod: Pod
    constraints: Sequence[TopologySpreadConstraint]
    selector: Selector | None = None
    needs_all_keys: bool = True

    def of_kind(self, action: str) -> list[tuple[TopologySpreadConstraint, Selector]]:
        """The constraints of one kind, each with its selector."""
        return [(c, self._selector(c)) for c in self.constraints if c.when_unsatisfiable == action]

    def _selector(self, constraint: TopologySpreadConstraint) -> Selector:
        if self.selector is not None:
            return self.selector
        selector = compile_label_selector(constraint.label_selector)
        if selector.requirements is None:
            return selector
        labels = self.pod.metadata.labels
        more = [Requirement(key, Operator.IN, (labels[key],)) for key in constraint.match_label_keys if key in labels]
        return selector_of([*selector.requirements, *more])

    def included(self, constraint: TopologySpreadConstraint, node: Node) -> bool:
        """Whether the inclusion policies let the node count."""
        wants = required_nodes(self.pod)
        if constraint.node_affinity_policy != "Ignore" and not wants.matches(node.metadata.labels, node.name):
            return False
        if constraint.node_taints_policy == "Honor":
            return first_untolerated(node.spec.taints, self.pod.spec.tolerations) is None
        return True

    def is_matched(self, selector: Selector, other: Pod) -> bool:
        """Whether a pod is one of those that are spread."""
        return other.namespace == self.pod.namespace and selector.matches(other.metadata.labels)

    def matching(self, node: Node, selector: Selector) -> int:
        """Living pods of the node that match; an empty selector counts nobody."""
        if selector.is_everything:
            return 0
        return sum(
            self.is_matched(selector, other) and other.metadata.deletion_timestamp is None
            for other in self.setting.pods_on(node.name)
        )

    def rejection(self, node: Node, removed: Sequence[Pod] = (), added: Sequence[Pod] = ()) -> str | None:
        """Why the node is refused in a world where pods of it were removed and added; None when it is not."""
        hard = self.of_kind("DoNotSchedule")
        keys = [constraint.topology_key for constraint, _ in hard]
        for constraint, selector in hard:
            key = constraint.topology_key
            domains: dict[str, int] = {}
            for other in self.setting.nodes:
                labels = other.metadata.labels
                if all(k in labels for k in keys) and self.included(constraint, other):
                    domains[labels[key]] = domains.get(labels[key], 0) + self.matching(other, selector)
            own = node.metadata.labels.get(key)
            if own is None:
                return MISSING
            if all(k in node.metadata.labels for k in keys) and self.included(constraint, node):
                domains[own] += sum(self.is_matched(selector, pod) for pod in added)
                domains[own] -= sum(self.is_matched(selector, pod) for pod in removed)
            least = min(domains.values(), default=0)
            if len(domains) < (1 if constraint.min_domains is None else constraint.min_domains):
                least = 0
            itself = int(selector.matches(self.pod.metadata.labels))
            if domains.get(own, 0) + itself - least > constraint.max_skew:
                return UNEVEN
        return None

    def scores(self, feasible: Sequence[Node]) -> tuple[dict[str, int], dict[str, int]] | None:
        """Raw and normalised scores by node; None when no soft constraint says anything."""
        soft = self.of_kind("ScheduleAnyway")
        if not soft:
            return None
        keys = [constraint.topology_key for constraint, _ in soft]

        def counts(node: Node) -> bool:
            return not self.needs_all_keys or all(key in node.metadata.labels for key in keys)

        raw = {node.name: 0.0 for node in feasible}
        ranked = [node for node in feasible if counts(node)]
        for constraint, selector in soft:
            key = constraint.topology_key
            values = {node.metadata.labels.get(key, "") for node in ranked}
            weight = log((len(ranked) if key == HOSTNAME else len(values)) + 2)
            pods: dict[str, int] = {}
            for node in self.setting.nodes:
                if counts(node) and self.included(constraint, node):
                    value = node.metadata.labels.get(key, "")
                    pods[value] = pods.get(value, 0) + self.matching(node, selector)
            for node in ranked:
                if key in node.metadata.labels:
                    own = node.metadata.labels[key]
                    crowd = self.matching(node, selector) if key == HOSTNAME else pods.get(own, 0)
                    raw[node.name] += crowd * weight + (constraint.max_skew - 1)
        rounded = {name: int(round_scalar(score)) for name, score in raw.items()}
        return rounded, self._normalized(rounded, {node.name for node in ranked})

    def _normalized(self, raw: Mapping[str, int], ranked: set[str]) -> dict[str, int]:
        known = [score for name, score in raw.items() if name in ranked]
        lowest, highest = min(known, default=0), max(known, default=0)
        return {
            name: 0
            if name not in ranked
            else 100
            if highest == 0
            else trunc_div_scalar(100 * (highest + lowest - score), highest)
            for name, score in raw.items()
        }
