"""NodeAffinity: the pod's node selector and node affinity, and the affinity that the profile adds.

Upstream: pkg/scheduler/framework/plugins/nodeaffinity (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from stowplan.api.affinity import NodeAffinity as Wishes
from stowplan.api.affinity import NodeSelectorTerm
from stowplan.api.errors import SelectorError
from stowplan.api.node import Node
from stowplan.api.node_selectors import (
    NODE_NAME_FIELD,
    NodeMatcher,
    RequiredNodes,
    WeightedTerm,
    compile_node_selector,
    compile_preferred,
    required_nodes,
)
from stowplan.api.pod import Pod
from stowplan.columns.node_masks import matcher_mask, required_mask, term_mask
from stowplan.columns.pods import PodClass, PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import (
    MAX_SCORE,
    SKIP,
    Depends,
    FilterPlugin,
    PluginContext,
    PluginError,
    PreFilterPlugin,
    PreScorePlugin,
    Restricted,
    ScorePlugin,
    Skip,
)
from stowplan.framework.plugin_args import NodeAffinityArgs
from stowplan.framework.verdict import Rejection, Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import IntN, scaled_by_max

MISMATCH: Final = unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED_MISMATCH: Final = unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT: Final = unresolvable("pod affinity terms conflict")

Preferred = tuple[WeightedTerm, ...]


@final
class NodeAffinity(
    PreFilterPlugin[RequiredNodes], FilterPlugin[RequiredNodes], PreScorePlugin[Preferred], ScorePlugin[Preferred]
):
    """Rejects nodes that do not match what is required, ranks them by the weights of what is preferred."""

    name = "NodeAffinity"
    depends = Depends.NODE
    args_type = NodeAffinityArgs

    def __init__(self, enforced: NodeMatcher | None = None, added: Preferred = ()) -> None:
        self._enforced = enforced
        self._added = added
        self.wakes = (Wake(Kind.NODE, Change.ADDED | Change.NODE_LABELS, self.came_to_match),)

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "NodeAffinity":
        """Take over the affinity that the profile adds."""
        added = args.added_affinity if isinstance(args, NodeAffinityArgs) else None
        if added is None:
            return cls()
        return cls(_enforced(added), _added(added))

    def prepare(self, view: View, pod: PodInfo) -> RequiredNodes | Restricted[RequiredNodes] | Skip | Rejection:
        """What the pod requires; affinity to certain nodes by name leaves only those."""
        spec = pod.cls.spec
        wishes = spec.affinity.node_affinity if spec.affinity else None
        required = wishes.required if wishes else None
        if required is None and self._enforced is None and not spec.node_selector:
            return SKIP
        plan = compiled(pod.cls)
        if required is None or not required.node_selector_terms:
            return plan
        names = _node_names(required.node_selector_terms)
        if names is None:
            return plan
        return Restricted(plan, names) if names else CONFLICT

    def filter(self, pod: PodInfo, rows: Rows, plan: RequiredNodes) -> Verdict:
        """Nodes that do not match fail, first those that the profile does not want."""
        mismatch = (~required_mask(rows, plan), MISMATCH)
        if self._enforced is None:
            return Verdict.reject_where(*mismatch)
        return Verdict.first_of([(~matcher_mask(rows, self._enforced), ENFORCED_MISMATCH), mismatch])

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> Preferred | Skip:
        """The terms that count, the profile's and the pod's."""
        affinity = pod.cls.spec.affinity
        own = affinity.node_affinity.preferred if affinity and affinity.node_affinity else ()
        if not own and not self._added:
            return SKIP
        try:
            return self._added + preferred(pod.cls)
        except SelectorError as error:
            raise PluginError(str(error)) from error

    def score(self, pod: PodInfo, rows: Rows, plan: Preferred) -> IntN:
        """The weights of the terms that match."""
        total_n: IntN = np.zeros(len(rows), np.int64)
        for weighted in plan:
            total_n[term_mask(rows, weighted.term)] += weighted.weight
        return total_n

    def normalize(self, pod: PodInfo, rows: Rows, plan: Preferred, raw_n: IntN) -> IntN:
        """In proportion to the best."""
        return scaled_by_max(raw_n, MAX_SCORE)

    def came_to_match(self, pod: PodInfo, event: ObjectEvent, _: View) -> bool:
        """A node that matches came, or came to match. One that cannot be judged counts, as upstream has it."""
        old: Node | None = event.old
        new: Node = event.new
        if self._enforced is not None and not self._enforced.matches(new.labels, new.name):
            return False
        required = compiled(pod.cls)
        if not required.matches(new.labels, new.name):
            return _cannot_be_judged(required, new)
        return old is None or not required.matches(old.labels, old.name)


def _enforced(added: Wishes) -> NodeMatcher | None:
    if added.required is None:
        return None
    matcher = compile_node_selector(added.required)
    if matcher.error is not None:
        raise ValueError(f"parsing addedAffinity.requiredDuringSchedulingIgnoredDuringExecution: {matcher.error}")
    return matcher


def _added(added: Wishes) -> Preferred:
    try:
        return compile_preferred(added.preferred)
    except SelectorError as error:
        text = f"parsing addedAffinity.preferredDuringSchedulingIgnoredDuringExecution: {error}"
        raise ValueError(text) from error


# perf: compiling costs 20 µs and more, a class is asked for it at every attempt
@lru_cache(maxsize=4096)
def compiled(cls: PodClass) -> RequiredNodes:
    """What pods of a class require of their node."""
    return required_nodes(Pod(spec=cls.spec))


@lru_cache(maxsize=4096)
def preferred(cls: PodClass) -> Preferred:
    """What pods of a class prefer."""
    affinity = cls.spec.affinity
    return compile_preferred(affinity.node_affinity.preferred) if affinity and affinity.node_affinity else ()


def _node_names(terms: Sequence[NodeSelectorTerm]) -> frozenset[str] | None:
    """The nodes that the terms name; None when one of them names none, for then any node may do."""
    names: frozenset[str] = frozenset()
    for term in terms:
        named = [
            frozenset(field.values)
            for field in term.match_fields
            if field.key == NODE_NAME_FIELD and field.operator == "In"
        ]
        if not named:
            return None
        names |= named[0].intersection(*named)
    return names


def _cannot_be_judged(required: RequiredNodes, node: Node) -> bool:
    if required.error is None:
        return False
    return required.selector is None or required.selector.matches(node.labels)
