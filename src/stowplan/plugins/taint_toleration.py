"""TaintToleration: keep pods off nodes with taints that they do not bear with, and prefer fewer soft ones.

Upstream: pkg/scheduler/framework/plugins/tainttoleration (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.node import Node
from stowplan.api.tolerations import PREFER_NO_SCHEDULE, first_untolerated, tolerated
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import MAX_SCORE, Depends, FilterPlugin, PluginContext, ScorePlugin
from stowplan.framework.verdict import Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import IntN, scaled_by_max

UNTOLERATED: Final = unresolvable("node(s) had untolerated taint(s)")


def now_tolerates(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """The pod itself was given a toleration."""
    changed: PodInfo = event.new
    return changed.uid == pod.uid


@final
class TaintToleration(FilterPlugin[None], ScorePlugin[None]):
    """Rejects nodes by taints NoSchedule and NoExecute, ranks them by taints PreferNoSchedule."""

    name = "TaintToleration"
    depends = Depends.NODE

    def __init__(self, *, comparisons: bool = False) -> None:
        self._comparisons = comparisons
        self.wakes = (
            Wake(Kind.NODE, Change.ADDED | Change.NODE_TAINTS, self.became_bearable),
            Wake(Kind.POD, Change.POD_TOLERATIONS, now_tolerates),
        )

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "TaintToleration":
        """The operators Lt and Gt count under their gate."""
        return cls(comparisons=context.gates.on("TaintTolerationComparisonOperators"))

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        """Nodes with a hard taint that nothing tolerates fail."""
        nodes = rows.view.nodes
        if len(nodes.taint_sets) == 1:  # the empty one
            return Verdict.pass_all()
        tolerations = pod.cls.spec.tolerations
        repelled = nodes.taint_sets.answers(
            ("repels", tolerations, self._comparisons), lambda taints: self._repels(taints, tolerations), np.bool_
        )
        if not repelled.any():
            return Verdict.pass_all()
        sets_n = rows.take(nodes.taint_set)
        return Verdict.reject_where(repelled[sets_n], UNTOLERATED)

    def score(self, pod: PodInfo, rows: Rows, plan: None) -> IntN:
        """How many soft taints nothing tolerates."""
        nodes = rows.view.nodes
        if len(nodes.taint_sets) == 1:
            return np.zeros(len(rows), np.int64)
        tolerations = tuple(t for t in pod.cls.spec.tolerations if t.effect in {"", PREFER_NO_SCHEDULE})
        disliked = nodes.taint_sets.answers(
            ("dislikes", tolerations, self._comparisons),
            lambda taints: sum(self._dislikes(taint, tolerations) for taint in taints),
            np.int64,
        )
        sets_n = rows.take(nodes.taint_set)
        return disliked[sets_n]

    def normalize(self, pod: PodInfo, rows: Rows, plan: None, raw_n: IntN) -> IntN:
        """None of them is best."""
        return scaled_by_max(raw_n, MAX_SCORE, reverse=True)

    def became_bearable(self, pod: PodInfo, event: ObjectEvent, _: View) -> bool:
        """A node that the pod tolerates came, or lost the taints that the pod did not."""
        old: Node | None = event.old
        new: Node = event.new
        tolerations = pod.cls.spec.tolerations
        if old is not None and not self._repels(old.spec.taints, tolerations):
            return False
        return not self._repels(new.spec.taints, tolerations)

    def _repels(self, taints: Sequence[Taint], tolerations: Sequence[Toleration]) -> bool:
        return first_untolerated(taints, tolerations, comparisons=self._comparisons) is not None

    def _dislikes(self, taint: Taint, tolerations: Sequence[Toleration]) -> bool:
        return taint.effect == PREFER_NO_SCHEDULE and not tolerated(tolerations, taint, comparisons=self._comparisons)
