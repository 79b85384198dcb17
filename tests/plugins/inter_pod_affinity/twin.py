"""Inter-pod affinity pod by pod and node by node, with dictionaries: what the kernels must agree with."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from stowplan.api.affinity import PodAffinity, PodAffinityTerm
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.selectors import compile_label_selector
from tests.plugins.small_clusters import Setting

TOO_FAR = "node(s) didn't match pod affinity rules"
TOO_NEAR = "node(s) didn't match pod anti-affinity rules"
UNWELCOME = "node(s) didn't satisfy existing pods anti-affinity rules"

Pair = tuple[str, str]
"""Topology key and value."""


def near(of: Pod) -> PodAffinity:
    """The affinity of a pod."""
    return (of.spec.affinity and of.spec.affinity.pod_affinity) or PodAffinity()


def far(of: Pod) -> PodAffinity:
    """The anti-affinity of a pod."""
    return (of.spec.affinity and of.spec.affinity.pod_anti_affinity) or PodAffinity()


@dataclass(frozen=True, slots=True)
class Twin:
    """The plugin for one setting and one pod."""

    setting: Setting
    pod: Pod
    hard_weight: int = 1
    ignores_others: bool = False

    def speaks_of(self, owner: Pod, term: PodAffinityTerm, other: Pod) -> bool:
        """Whether a term of one pod is about another.

        Terms of the incoming pod look at namespaces that exist; for those of placed pods a namespace that does not
        exist has no labels.
        """
        if not compile_label_selector(term.label_selector).matches(other.metadata.labels):
            return False
        names = set(term.namespaces)
        if not term.namespaces and term.namespace_selector is None:
            names = {owner.namespace}
        if other.namespace in names:
            return True
        selector = compile_label_selector(term.namespace_selector)
        if selector.is_everything:
            return True
        known = self.setting.namespace_labels().get(other.namespace)
        if known is None and owner is self.pod:
            return False
        return selector.matches(known or {})

    def is_company(self, other: Pod) -> bool:
        """Whether a pod meets all affinity terms, of which there are some."""
        terms = near(self.pod).required
        return bool(terms) and all(self.speaks_of(self.pod, term, other) for term in terms)

    def _counts(
        self, home: Node | None, removed: Sequence[Pod], added: Sequence[Pod]
    ) -> tuple[dict[Pair, int], dict[Pair, int], dict[Pair, int]]:
        company: dict[Pair, int] = {}
        shunned: dict[Pair, int] = {}
        shunning: dict[Pair, int] = {}
        gone = {other.name for other in removed}
        for node in self.setting.nodes:
            pods = [other for other in self.setting.pods_on(node.name) if other.name not in gone]
            pods += added if home is not None and node.name == home.name else []
            for other in pods:
                terms = near(self.pod).required if self.is_company(other) else ()
                _count(company, node, terms)
                _count(shunned, node, [t for t in far(self.pod).required if self.speaks_of(self.pod, t, other)])
                _count(shunning, node, [t for t in far(other).required if self.speaks_of(other, t, self.pod)])
        return company, shunned, shunning

    @property
    def skips(self) -> bool:
        """Whether the filter has nothing to say."""
        _, _, shunning = self._counts(None, (), ())
        return not shunning and not near(self.pod).required and not far(self.pod).required

    def rejection(self, node: Node, removed: Sequence[Pod] = (), added: Sequence[Pod] = ()) -> str | None:
        """Why the node is refused in a world where pods of it were removed and added; None when it is not."""
        company, shunned, shunning = self._counts(node, removed, added)
        labels = node.metadata.labels
        alone = False
        for term in near(self.pod).required:
            if term.topology_key not in labels:
                return TOO_FAR
            alone = alone or not company.get((term.topology_key, labels[term.topology_key]))
        if alone and (company or not self.is_company(self.pod)):
            return TOO_FAR
        if any(pair in shunned for pair in labels.items()):
            return TOO_NEAR
        if any(pair in shunning for pair in labels.items()):
            return UNWELCOME
        return None

    def scores(self, feasible: Sequence[Node]) -> tuple[dict[str, int], dict[str, int]] | None:
        """Raw and normalised scores by node; None when nobody has a preference."""
        if self.ignores_others and not near(self.pod).preferred and not far(self.pod).preferred:
            return None
        worth: dict[Pair, int] = {}
        for node in self.setting.nodes:
            for key, weight in self._opinions(node):
                if key in node.metadata.labels:
                    pair = key, node.metadata.labels[key]
                    worth[pair] = worth.get(pair, 0) + weight
        if not worth:
            return None
        raw = {node.name: sum(worth.get(pair, 0) for pair in node.metadata.labels.items()) for node in feasible}
        lowest, highest = min(raw.values()), max(raw.values())
        spread = highest - lowest
        return raw, {name: int(100 * ((score - lowest) / spread)) if spread else 0 for name, score in raw.items()}

    def _opinions(self, node: Node) -> Iterator[tuple[str, int]]:
        for other in self.setting.pods_on(node.name):
            for sign, mine, theirs in ((1, near(self.pod), near(other)), (-1, far(self.pod), far(other))):
                for weighted in mine.preferred:
                    if self.speaks_of(self.pod, weighted.pod_affinity_term, other):
                        yield weighted.pod_affinity_term.topology_key, sign * weighted.weight
                for weighted in theirs.preferred:
                    if self.speaks_of(other, weighted.pod_affinity_term, self.pod):
                        yield weighted.pod_affinity_term.topology_key, sign * weighted.weight
            for term in near(other).required:
                if self.hard_weight and self.speaks_of(other, term, self.pod):
                    yield term.topology_key, self.hard_weight


def _count(counts: dict[Pair, int], node: Node, terms: Iterable[PodAffinityTerm]) -> None:
    labels: Mapping[str, str] = node.metadata.labels
    for term in terms:
        if term.topology_key in labels:
            pair = term.topology_key, labels[term.topology_key]
            counts[pair] = counts.get(pair, 0) + 1
