"""PodTopologySpread: the plugin class.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/plugin.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Any, Self, final

from stowplan.api.errors import SelectorError
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.gates import Gates
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
from stowplan.framework.plugin_args import SYSTEM_DEFAULTING, PodTopologySpreadArgs
from stowplan.framework.verdict import Verdict
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import IntN
from stowplan.plugins.pod_topology_spread.constraints import SYSTEM_DEFAULTS, Constraint, Constraints
from stowplan.plugins.pod_topology_spread.counting import CountedNodes
from stowplan.plugins.pod_topology_spread.filtering import HardPlan, judge_hard, plan_hard
from stowplan.plugins.pod_topology_spread.hints import node_change_helps, pod_change_helps
from stowplan.plugins.pod_topology_spread.scoring import SoftPlan, normalize_soft, plan_soft, score_soft


@final
class PodTopologySpread(
    PreFilterPlugin[HardPlan], FilterPlugin[HardPlan], PreScorePlugin[SoftPlan], ScorePlugin[SoftPlan]
):
    """Keeps matching pods evenly spread over domains: hard constraints filter, soft ones score."""

    name = "PodTopologySpread"
    depends = Depends.CLUSTER
    args_type = PodTopologySpreadArgs
    unprepared = 'error reading "PreScorePodTopologySpread" from cycleState: not found'

    def __init__(self, args: PodTopologySpreadArgs, gates: Gates) -> None:
        self._system = args.defaulting_type == SYSTEM_DEFAULTING
        self._constraints = Constraints(SYSTEM_DEFAULTS if self._system else args.default_constraints, gates)
        self._comparisons = gates.on("TaintTolerationComparisonOperators")
        self.wakes = (
            Wake(
                Kind.POD,
                Change.ADDED | Change.POD_LABELS | Change.POD_TOLERATIONS | Change.DELETED,
                self.pod_change_helps,
            ),
            Wake(
                Kind.NODE,
                Change.ADDED | Change.DELETED | Change.NODE_LABELS | Change.NODE_TAINTS,
                self.node_change_helps,
            ),
        )

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """With the default constraints of the profile."""
        return cls(args or PodTopologySpreadArgs(), context.gates)

    def prepare(self, view: View, pod: PodInfo) -> HardPlan | Skip:
        """Count the pods of every domain for each hard constraint."""
        try:
            constraints = self._hard(view, pod)
        except PluginError as error:
            raise PluginError(f"get constraints from pod: {error}") from error
        if not constraints:
            return SKIP
        return plan_hard(view, constraints, self._nodes(pod, constraints, all_keys=True))

    def filter(self, pod: PodInfo, rows: Rows, plan: HardPlan) -> Verdict:
        """Nodes without a topology label, or in domains that are too full, fail."""
        return judge_hard(rows, plan)

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> SoftPlan | Skip:
        """Count the pods of the feasible nodes' domains for each soft constraint."""
        own = bool(pod.cls.spec.topology_spread_constraints)
        try:
            constraints = self._constraints.soft(rows.view, pod.cls)
        except SelectorError as error:
            raise PluginError(
                f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
            ) from error
        if not constraints:
            return SKIP
        # parity: with the system's constraints, nodes without a zone are still spread over by host name
        return plan_soft(rows, constraints, self._nodes(pod, constraints, all_keys=own or not self._system))

    def score(self, pod: PodInfo, rows: Rows, plan: SoftPlan) -> IntN:
        """How crowded with matching pods a node's domains are."""
        return score_soft(rows, plan)

    def normalize(self, pod: PodInfo, rows: Rows, plan: SoftPlan, raw_n: IntN) -> IntN:
        """Turn it around: the least crowded nodes get the most."""
        return normalize_soft(rows, plan, raw_n)

    def pod_change_helps(self, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        """Whether a change of a pod may let the parked pod in."""
        return pod_change_helps(pod, event, self._hard(view, pod))

    def node_change_helps(self, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        """Whether a change of a node may let the parked pod in."""
        return node_change_helps(event, self._hard(view, pod))

    def _hard(self, view: View, pod: PodInfo) -> tuple[Constraint, ...]:
        try:
            return self._constraints.hard(view, pod.cls)
        except SelectorError as error:
            raise PluginError(f"obtaining pod's hard topology spread constraints: {error}") from error

    def _nodes(self, pod: PodInfo, constraints: tuple[Constraint, ...], *, all_keys: bool) -> CountedNodes:
        required = self._constraints.required_nodes(pod.cls)
        return CountedNodes(pod.cls, constraints, required, all_keys=all_keys, comparisons=self._comparisons)
