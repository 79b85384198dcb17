"""Soft constraints: the fewer matching pods in a node's domains, the better; scarce domains weigh less.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from stowplan.columns.domains import domain_members, domain_sums
from stowplan.columns.rows import Rows
from stowplan.columns.selector_counts import SelectorCount
from stowplan.framework.plugin import MAX_SCORE
from stowplan.goarith import BoolN, FloatN, IntN, log, round_half_away, to_int, trunc_div
from stowplan.plugins.pod_topology_spread.constraints import HOSTNAME, Constraint
from stowplan.plugins.pod_topology_spread.counting import CountedNodes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one soft constraint adds to the score."""

    constraint: Constraint
    weight: float
    count: SelectorCount | None
    """Counts pods per node, where the topology key is the host name; None where domains are, or nobody is counted."""
    shares_d: FloatN | None
    """Per domain, the last slot for nodes without the label; None where pods are counted per node."""

    def of(self, rows: Rows) -> FloatN:
        """Per row."""
        codes_n = rows.label(self.constraint.topology_key)
        if self.shares_d is not None:
            return self.shares_d.take(codes_n)
        pods_n: FloatN | IntN = np.zeros(len(rows)) if self.count is None else rows.count(self.count)
        share_n = _share(pods_n, self.weight, self.constraint)
        share_n[codes_n < 0] = 0.0
        return share_n


@final
@dataclass(frozen=True, slots=True)
class SoftPlan:
    """All soft constraints of a pod."""

    shares: tuple[Share, ...]
    nodes: CountedNodes


def plan_soft(rows: Rows, constraints: Sequence[Constraint], nodes: CountedNodes) -> SoftPlan:
    """Sum up the View over the domains of the feasible rows."""
    masks = nodes.masks(rows.view.rows, constraints)
    return SoftPlan(
        tuple(
            _per_node(rows, constraint, nodes)
            if constraint.topology_key == HOSTNAME
            else _per_domain(rows, constraint, nodes, counted_n)
            for constraint, counted_n in zip(constraints, masks, strict=True)
        ),
        nodes,
    )


def score_soft(rows: Rows, plan: SoftPlan) -> IntN:
    """How crowded with matching pods the domains of each row are."""
    crowded_n: FloatN = np.zeros(len(rows))
    for share in plan.shares:
        crowded_n = crowded_n + share.of(rows)
    raw_n = to_int(round_half_away(crowded_n))
    ignored_n = plan.nodes.lacks_a_key(rows)
    if ignored_n is not None:
        raw_n[ignored_n] = 0
    return raw_n


def normalize_soft(rows: Rows, plan: SoftPlan, raw_n: IntN) -> IntN:
    """The least crowded rows come to the top; rows that lack a topology key get nothing."""
    ignored_n = plan.nodes.lacks_a_key(rows)
    known_n = raw_n if ignored_n is None else raw_n[~ignored_n]
    if not len(known_n):
        return np.zeros_like(raw_n)
    lowest, highest = int(known_n.min()), max(int(known_n.max()), 0)
    if highest == 0:
        scores_n = np.full_like(raw_n, MAX_SCORE)
    else:
        scores_n = trunc_div(MAX_SCORE * (highest + lowest - raw_n), highest)
    if ignored_n is not None:
        scores_n[ignored_n] = 0
    return scores_n


def _per_node(rows: Rows, constraint: Constraint, nodes: CountedNodes) -> Share:
    ignored_n = nodes.lacks_a_key(rows)
    candidates = len(rows) if ignored_n is None else len(rows) - int(np.count_nonzero(ignored_n))
    # parity: the node's own pods are counted whatever the inclusion policies say
    count = rows.view.count(constraint.what, live_only=True) if constraint.counts_placed else None
    return Share(constraint=constraint, weight=_weight(candidates), count=count, shares_d=None)


def _per_domain(rows: Rows, constraint: Constraint, nodes: CountedNodes, counted_n: BoolN | None) -> Share:
    view, key = rows.view, constraint.topology_key
    values = view.nodes.label(key).values
    size = len(values)
    unnamed = -1 if nodes.all_keys else values.find("")

    def domains(codes_n: NDArray[np.int32]) -> NDArray[np.int32]:
        # parity: with the system's constraints, nodes without the label form one domain with those where it is empty
        return codes_n if unnamed < 0 else np.where(codes_n == unnamed, np.int32(-1), codes_n)

    codes_n = domains(rows.label(key))
    ignored_n = nodes.lacks_a_key(rows)
    members_d = domain_members(codes_n if ignored_n is None else codes_n[~ignored_n], size)
    weight = _weight(int(np.count_nonzero(members_d)))
    if constraint.counts_placed:
        everywhere = view.rows
        pods_n = everywhere.count(view.count(constraint.what, live_only=True))
        if counted_n is not None:
            pods_n = np.where(counted_n, pods_n, 0)
        pods_d = domain_sums(domains(everywhere.label(key)), pods_n, size)
    else:
        pods_d = np.zeros(size + 1, np.int64)
    shares_d = _share(pods_d, weight, constraint)
    if unnamed >= 0:
        shares_d[unnamed] = shares_d[-1]
    shares_d[-1] = 0.0
    return Share(constraint=constraint, weight=weight, count=None, shares_d=shares_d)


def _share(pods_x: FloatN | IntN, weight: float, constraint: Constraint) -> FloatN:
    return np.asarray(pods_x * weight + (constraint.max_skew - 1), np.float64)


def _weight(domains: int) -> float:
    return log(domains + 2)
