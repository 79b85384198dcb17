"""Hard constraints: no domain may hold more matching pods than the emptiest one by more than the allowed skew.

Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.columns.domains import domain_members, domain_sums, only_where
from stowplan.columns.rows import Rows
from stowplan.columns.selector_counts import SelectorCount
from stowplan.columns.view import View
from stowplan.framework.verdict import OutcomeN, Verdict, rejection, unresolvable
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.pod_topology_spread.constraints import Constraint
from stowplan.plugins.pod_topology_spread.counting import CountedNodes

UNEVEN: Final = rejection("node(s) didn't match pod topology spread constraints")
NO_LABEL: Final = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")

REJECTIONS: Final = (NO_LABEL, UNEVEN)
LACKS_LABEL: Final = 1
TOO_FULL: Final = 2

NO_DOMAIN: Final = 2**31 - 1
"""What upstream takes for the fewest pods of any domain when there is none."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Domains:
    """One hard constraint over the View. Arrays run along domains, the last slot is for nodes without the label."""

    constraint: Constraint
    count: SelectorCount
    matching_d: IntN
    fewest: int
    """In the emptiest domain that counts."""
    emptiest: int
    """Its code."""
    next_fewest: int
    """In the emptiest of the other domains."""
    too_few_domains: bool
    outcome_d: OutcomeN

    def judge(self, rows: Rows, counted: "LazyMasks", at: int) -> OutcomeN:
        """Per row 0, LACKS_LABEL or TOO_FULL."""
        codes_n = rows.label(self.constraint.topology_key)
        shift_n = rows.shift(self.count)
        if shift_n is None:
            return self.outcome_d.take(codes_n)
        counted_n = counted.mask(at)
        if counted_n is not None:
            shift_n = np.where(counted_n, shift_n, 0)
        matching_n = self.matching_d.take(codes_n) + shift_n
        # Each row is a world in which its own domain alone differs from the View. The emptiest of the others is the
        # measure: where the own one is emptier still, it is within any skew, of which the least is 1.
        elsewhere_n = np.where(codes_n == self.emptiest, self.next_fewest, self.fewest)
        fewest_n = 0 if self.too_few_domains else elsewhere_n
        full_n = matching_n + self.constraint.matches_itself - fewest_n > self.constraint.max_skew
        outcome_n = np.where(full_n, np.int32(TOO_FULL), np.int32(0))
        outcome_n[codes_n < 0] = LACKS_LABEL
        return outcome_n


@final
@dataclass(frozen=True, slots=True)
class HardPlan:
    """All hard constraints of a pod over the View."""

    domains: tuple[Domains, ...]
    nodes: CountedNodes


@final
class LazyMasks:
    """The rows that count, worked out when a world asks."""

    __slots__ = ("_masks", "_plan", "_rows")

    def __init__(self, plan: HardPlan, rows: Rows) -> None:
        self._plan = plan
        self._rows = rows
        self._masks: list[BoolN | None] | None = None

    def mask(self, at: int) -> BoolN | None:
        """Those of the constraint at a position."""
        if self._masks is None:
            self._masks = self._plan.nodes.masks(self._rows, [domains.constraint for domains in self._plan.domains])
        return self._masks[at]


def plan_hard(view: View, constraints: Sequence[Constraint], nodes: CountedNodes) -> HardPlan:
    """Sum up the View, constraint by constraint."""
    masks = nodes.masks(view.rows, constraints)
    return HardPlan(
        tuple(_domains(view, constraint, mask_n) for constraint, mask_n in zip(constraints, masks, strict=True)), nodes
    )


def judge_hard(rows: Rows, plan: HardPlan) -> Verdict:
    """The first constraint that a row does not meet rejects it."""
    counted = LazyMasks(plan, rows)
    outcome_n: OutcomeN | None = None
    for at, domains in enumerate(plan.domains):
        found_n = domains.judge(rows, counted, at)
        outcome_n = found_n if outcome_n is None else np.where(outcome_n == 0, found_n, outcome_n)
    if outcome_n is None or not outcome_n.any():
        return Verdict.pass_all()
    return Verdict(outcome_n, REJECTIONS)


def _domains(view: View, constraint: Constraint, counted_n: BoolN | None) -> Domains:
    rows = view.rows
    size = len(view.nodes.label(constraint.topology_key).values)
    codes_n = only_where(counted_n, rows.label(constraint.topology_key))
    count = view.count(constraint.what, live_only=True)
    present_d = domain_members(codes_n, size)[:-1] > 0
    if constraint.counts_placed:
        matching_d = domain_sums(codes_n, rows.count(count), size)
        matching_d[-1] = 0
    else:
        matching_d = np.zeros(size + 1, np.int64)
    fewest, emptiest, next_fewest = _two_fewest(np.where(present_d, matching_d[:-1], NO_DOMAIN))
    too_few_domains = int(np.count_nonzero(present_d)) < constraint.min_domains
    floor = 0 if too_few_domains else fewest
    full_d = matching_d + constraint.matches_itself - floor > constraint.max_skew
    outcome_d = np.where(full_d, np.int32(TOO_FULL), np.int32(0))
    outcome_d[-1] = LACKS_LABEL
    return Domains(
        constraint=constraint,
        count=count,
        matching_d=matching_d,
        fewest=fewest,
        emptiest=emptiest,
        next_fewest=next_fewest,
        too_few_domains=too_few_domains,
        outcome_d=outcome_d,
    )


def _two_fewest(matching_d: IntN) -> tuple[int, int, int]:
    """The least value, where it is, and the least of all others. The array is the caller's to lose."""
    if not len(matching_d):
        return NO_DOMAIN, -1, NO_DOMAIN
    emptiest = int(matching_d.argmin())
    fewest = int(matching_d[emptiest])
    matching_d[emptiest] = NO_DOMAIN
    return fewest, emptiest, int(matching_d.min())
