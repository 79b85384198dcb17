"""Preferred terms, the pod's own and those of placed pods: weights summed over topology domains.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go (v1.36.4).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from stowplan.columns.domains import domain_sums
from stowplan.columns.pods import PodClass
from stowplan.columns.rows import Rows
from stowplan.columns.term_counts import TermKind
from stowplan.columns.view import View
from stowplan.framework.plugin import MAX_SCORE
from stowplan.goarith import IntN, to_int


@final
@dataclass(frozen=True, slots=True)
class PreferencePlan:
    """Topology key to the worth of each domain; the last slot, nodes without the label, is 0."""

    worth_d: Mapping[str, IntN]


def plan_preferences(view: View, cls: PodClass, hard_weight: int) -> PreferencePlan | None:
    """Sum up the View; None when no placed pod has a say on a node with the label in question."""
    rows = view.rows
    worth_n: dict[str, IntN] = {}
    concerned = False
    for key, weight, pods_n in _opinions(view, cls, hard_weight):
        concerned = concerned or bool(np.any(pods_n[rows.label(key) >= 0]))
        more_n = pods_n * weight
        worth_n[key] = worth_n[key] + more_n if key in worth_n else more_n
    if not concerned:
        return None
    worth_d = {}
    for key, sums_n in worth_n.items():
        worth_d[key] = domain_sums(rows.label(key), sums_n, len(view.nodes.label(key).values))
        worth_d[key][-1] = 0
    return PreferencePlan(worth_d)


def score_preferences(rows: Rows, plan: PreferencePlan) -> IntN:
    """What all domains of a row are worth."""
    raw_n: IntN = np.zeros(len(rows), np.int64)
    for key, worth_d in plan.worth_d.items():
        raw_n = raw_n + worth_d.take(rows.label(key))
    return raw_n


def normalize_preferences(raw_n: IntN) -> IntN:
    """Spread over the whole range; nothing to anyone when all are worth the same."""
    lowest = int(raw_n.min())
    spread = int(raw_n.max()) - lowest
    if spread == 0:
        return np.zeros_like(raw_n)
    return to_int(MAX_SCORE * ((raw_n - lowest) / spread))


def _opinions(view: View, cls: PodClass, hard_weight: int) -> Iterator[tuple[str, int, IntN]]:
    """Topology key, weight and pods per row: what the pod thinks of placed pods, and what they think of it."""
    rows = view.rows
    for term in cls.terms:
        if term.kind is TermKind.PREFERRED_AFFINITY:
            yield term.topology_key, term.weight, rows.count(view.count(term.what))
        elif term.kind is TermKind.PREFERRED_ANTI_AFFINITY:
            yield term.topology_key, -term.weight, rows.count(view.count(term.what))
    for count in view.terms.about(cls.namespace, cls.labels):
        term = count.term
        match term.kind:
            case TermKind.REQUIRED_AFFINITY if hard_weight > 0:
                yield term.topology_key, hard_weight, rows.take(count.column)
            case TermKind.PREFERRED_AFFINITY:
                yield term.topology_key, term.weight, rows.take(count.column)
            case TermKind.PREFERRED_ANTI_AFFINITY:
                yield term.topology_key, -term.weight, rows.take(count.column)
            case _:
                pass
