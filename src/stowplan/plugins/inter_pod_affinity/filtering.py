"""Required terms: enough company for the pod, and nobody it or they want to be far from.

Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go (v1.36.4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.columns.domains import domain_sums
from stowplan.columns.pods import PodClass
from stowplan.columns.rows import Rows
from stowplan.columns.selector_counts import SelectorCount
from stowplan.columns.term_counts import AffinityTerm, TermKind
from stowplan.columns.view import View
from stowplan.framework.verdict import Rejection, Verdict, rejection, unresolvable
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.inter_pod_affinity.terms import selects_all

TOO_FAR: Final = unresolvable("node(s) didn't match pod affinity rules")
TOO_NEAR: Final = rejection("node(s) didn't match pod anti-affinity rules")
UNWELCOME: Final = rejection("node(s) didn't satisfy existing pods anti-affinity rules")

SumsByKey = Mapping[str, IntN]
"""Topology key to a number per domain, the last slot (nodes without the label) being 0."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Company:
    """The pods that meet all affinity terms of the pod."""

    count: SelectorCount
    pods_d: SumsByKey
    total: int
    """Over all domains of all keys; 0 means that nobody is there, or only on nodes without these labels."""
    is_its_own: bool
    """Whether the pod itself meets its terms."""

    def missing(self, rows: Rows) -> BoolN:
        """Rows without a label that is asked for, or without company in one of the domains."""
        shift_n = rows.shift(self.count)
        unlabelled_n = np.zeros(len(rows), np.bool_)
        alone_n = np.zeros(len(rows), np.bool_)
        total_n: IntN | int = self.total
        for key, pods_d in self.pods_d.items():
            codes_n = rows.label(key)
            unlabelled_n |= codes_n < 0
            pods_n = pods_d.take(codes_n)
            if shift_n is not None:
                pods_n += shift_n
                total_n = total_n + np.where(codes_n < 0, 0, shift_n)
            alone_n |= pods_n <= 0
        if self.is_its_own:
            # parity: the first pod of a series that wants to be together goes wherever the labels are
            alone_n &= np.not_equal(total_n, 0)
        return unlabelled_n | alone_n


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredPlan:
    """All required terms that concern a pod, over the View."""

    company: Company | None
    shunned: Mapping[str, tuple[SelectorCount, ...]]
    """Topology key to the counts of the pods that the pod wants to be far from."""
    shunned_d: SumsByKey
    shunning: Mapping[str, tuple[AffinityTerm, ...]]
    """Topology key to the terms of placed pods that want to be far from the pod."""
    shunning_d: SumsByKey


def plan_required(view: View, cls: PodClass) -> RequiredPlan | None:
    """Sum up the View; None when no term, neither the pod's nor that of a placed pod, says anything."""
    near = cls.terms_of(TermKind.REQUIRED_AFFINITY)
    far = cls.terms_of(TermKind.REQUIRED_ANTI_AFFINITY)
    against = [
        count
        for count in view.terms.about(cls.namespace, cls.labels)
        if count.term.kind is TermKind.REQUIRED_ANTI_AFFINITY
    ]
    if not near and not far and not against:
        return None
    rows = view.rows
    shunning_d = _sums(rows, ((count.term.topology_key, rows.take(count.column)) for count in against))
    if not near and not far and not any(pods_d.any() for pods_d in shunning_d.values()):
        return None
    shunned = _grouped((term.topology_key, view.count(term.what)) for term in far)
    return RequiredPlan(
        company=_company(view, cls, near) if near else None,
        shunned=shunned,
        shunned_d=_sums(rows, ((key, rows.count(count)) for key, counts in shunned.items() for count in counts)),
        shunning=_terms_by_key(count.term for count in against),
        shunning_d=shunning_d,
    )


def judge_required(rows: Rows, cls: PodClass, plan: RequiredPlan) -> Verdict:
    """Company comes first, then the pod's dislikes, then those of others."""
    cases: list[tuple[BoolN, Rejection]] = []
    if plan.company is not None:
        cases.append((plan.company.missing(rows), TOO_FAR))
    for key, counts in plan.shunned.items():
        present_n = _present(rows, key, plan.shunned_d[key], [rows.shift(count) for count in counts])
        cases.append((present_n, TOO_NEAR))
    for key, terms in _with_guests(rows, cls, plan.shunning).items():
        present_n = _present(rows, key, plan.shunning_d.get(key), [rows.term_shift(term) for term in terms])
        cases.append((present_n, UNWELCOME))
    return Verdict.first_of(cases)


def _present(rows: Rows, key: str, pods_d: IntN | None, shifts: Iterable[IntN | None]) -> BoolN:
    """Rows in whose domain there is any of the pods that are counted."""
    codes_n = rows.label(key)
    present_n: BoolN = np.zeros(len(rows), np.bool_) if pods_d is None else (pods_d > 0).take(codes_n)
    changes = [shift_n for shift_n in shifts if shift_n is not None]
    if not changes:
        return present_n
    pods_n = changes[0] if pods_d is None else pods_d.take(codes_n) + changes[0]
    for shift_n in changes[1:]:
        pods_n = pods_n + shift_n
    return (pods_n > 0) & (codes_n >= 0)


def _with_guests(
    rows: Rows, cls: PodClass, shunning: Mapping[str, tuple[AffinityTerm, ...]]
) -> Mapping[str, tuple[AffinityTerm, ...]]:
    """The terms of placed pods and those of pods that only these worlds have."""
    guests = [
        term
        for term in rows.added_terms()
        if term.kind is TermKind.REQUIRED_ANTI_AFFINITY and rows.view.terms.matches(term, cls.namespace, cls.labels)
    ]
    if not guests:
        return shunning
    return _terms_by_key([*(term for terms in shunning.values() for term in terms), *guests])


def _company(view: View, cls: PodClass, near: Sequence[AffinityTerm]) -> Company:
    what = selects_all(near, view.namespaces)
    count = view.count(what)
    pods_n = view.rows.count(count)
    pods_d = _sums(view.rows, ((key, pods_n) for key in dict.fromkeys(term.topology_key for term in near)))
    return Company(
        count=count,
        pods_d=pods_d,
        total=sum(int(pods.sum()) for pods in pods_d.values()),
        is_its_own=view.selectors.picks(what, cls.namespace, cls.labels),
    )


def _sums(rows: Rows, pods_by_key: Iterable[tuple[str, IntN]]) -> dict[str, IntN]:
    pods_n: dict[str, IntN] = {}
    for key, more_n in pods_by_key:
        pods_n[key] = pods_n[key] + more_n if key in pods_n else more_n
    sums: dict[str, IntN] = {}
    for key, counts_n in pods_n.items():
        sums[key] = domain_sums(rows.label(key), counts_n, len(rows.view.nodes.label(key).values))
        sums[key][-1] = 0
    return sums


def _grouped(counts: Iterable[tuple[str, SelectorCount]]) -> dict[str, tuple[SelectorCount, ...]]:
    grouped: dict[str, tuple[SelectorCount, ...]] = {}
    for key, count in counts:
        grouped[key] = (*grouped.get(key, ()), count)
    return grouped


def _terms_by_key(terms: Iterable[AffinityTerm]) -> dict[str, tuple[AffinityTerm, ...]]:
    grouped: dict[str, tuple[AffinityTerm, ...]] = {}
    for term in dict.fromkeys(terms):
        grouped[term.topology_key] = (*grouped.get(term.topology_key, ()), term)
    return grouped
