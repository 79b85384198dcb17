"""InterPodAffinity: the plugin class.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Any, Final, Self, final

from stowplan.api.gotext import aggregate
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.term_counts import TermKind
from stowplan.columns.view import View
from stowplan.framework.plugin import (
    SKIP,
    Depends,
    FilterPlugin,
    PluginContext,
    PluginError,
    PreFilterPlugin,
    PreScorePlugin,
    ScorePlugin,
    Skip,
)
from stowplan.framework.plugin_args import InterPodAffinityArgs
from stowplan.framework.verdict import Rejection, Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, Wake
from stowplan.goarith import IntN
from stowplan.plugins.inter_pod_affinity.filtering import RequiredPlan, judge_required, plan_required
from stowplan.plugins.inter_pod_affinity.hints import node_change_helps, pod_change_helps
from stowplan.plugins.inter_pod_affinity.scoring import (
    PreferencePlan,
    normalize_preferences,
    plan_preferences,
    score_preferences,
)

PREFERENCES: Final = frozenset({TermKind.PREFERRED_AFFINITY, TermKind.PREFERRED_ANTI_AFFINITY})


@final
class InterPodAffinity(
    PreFilterPlugin[RequiredPlan],
    FilterPlugin[RequiredPlan],
    PreScorePlugin[PreferencePlan],
    ScorePlugin[PreferencePlan],
):
    """Keeps pods near or far from others: required terms filter, preferred ones score."""

    name = "InterPodAffinity"
    depends = Depends.CLUSTER
    args_type = InterPodAffinityArgs
    unprepared = 'failed to read "PreScoreInterPodAffinity" from cycleState: not found'
    wakes = (
        Wake(Kind.POD, Change.ADDED | Change.POD_LABELS | Change.DELETED, pod_change_helps),
        Wake(Kind.NODE, Change.ADDED | Change.NODE_LABELS, node_change_helps),
    )

    def __init__(self, args: InterPodAffinityArgs) -> None:
        self._args = args

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """With the weights of the profile."""
        return cls(args or InterPodAffinityArgs())

    def prepare(self, view: View, pod: PodInfo) -> RequiredPlan | Skip | Rejection:
        """Count company and enemies in every domain."""
        if pod.cls.term_errors:
            return unresolvable(f"parsing pod: {aggregate(pod.cls.term_errors)}")
        plan = plan_required(view, pod.cls)
        return SKIP if plan is None else plan

    def filter(self, pod: PodInfo, rows: Rows, plan: RequiredPlan) -> Verdict:
        """Nodes too far from company, or too near to enemies, fail."""
        return judge_required(rows, pod.cls, plan)

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> PreferencePlan | Skip:
        """Weigh the pods of every domain."""
        cls = pod.cls
        if self._args.ignore_preferred_terms_of_existing_pods and not any(t.kind in PREFERENCES for t in cls.terms):
            return SKIP
        if cls.term_errors:
            raise PluginError(f"failed to parse pod: {aggregate(cls.term_errors)}")
        plan = plan_preferences(rows.view, cls, self._args.hard_pod_affinity_weight)
        return SKIP if plan is None else plan

    def score(self, pod: PodInfo, rows: Rows, plan: PreferencePlan) -> IntN:
        """The sum of the weights in a node's domains."""
        return score_preferences(rows, plan)

    def normalize(self, pod: PodInfo, rows: Rows, plan: PreferencePlan, raw_n: IntN) -> IntN:
        """The worst node gets nothing, the best one everything."""
        return normalize_preferences(raw_n)
