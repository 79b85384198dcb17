"""What several affinity terms say together: an existing pod is company only when it meets all of them.

Upstream: podMatchesAllAffinityTerms in pkg/scheduler/framework/plugins/interpodaffinity/filtering.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from stowplan.api.selectors import EVERYTHING, NOTHING, Selector, selector_of
from stowplan.columns.pod_selectors import Labels, PodSelector
from stowplan.columns.pods import PodInfo
from stowplan.columns.term_counts import AffinityTerm

NO_LABELS: Final[Labels] = {}


def selects_all(terms: Sequence[AffinityTerm], namespaces: Mapping[str, Labels]) -> PodSelector:
    """Whom all the terms speak of at once; there is at least one term."""
    if len(terms) == 1:
        return terms[0].what
    whats = list(dict.fromkeys(term.what for term in terms))
    selector = _conjunction([what.selector for what in whats])
    scopes = {(what.namespaces, what.namespace_selector): what for what in whats if not _is_anywhere(what)}
    if not scopes:
        return PodSelector(selector, frozenset(), EVERYTHING)
    if len(scopes) == 1:
        ((names, namespace_selector),) = scopes
        return PodSelector(selector, names, namespace_selector)
    common = frozenset.intersection(*(_names(what, namespaces) for what in scopes.values()))
    return PodSelector(selector, common, NOTHING)


def matches_all_as_written(terms: Sequence[AffinityTerm], pod: PodInfo) -> bool:
    """Whether a pod meets every term, and there is one, without looking up its namespace's labels."""
    # parity: hints ask terms whose namespace selectors were not resolved, so every namespace counts as unlabelled
    cls = pod.cls
    return bool(terms) and all(
        term.what.picks_namespace(cls.namespace, NO_LABELS, unknown=NO_LABELS)
        and term.what.selector.matches(cls.labels)
        for term in terms
    )


def _conjunction(selectors: Sequence[Selector]) -> Selector:
    if any(selector.requirements is None for selector in selectors):
        return NOTHING
    return selector_of(requirement for selector in selectors for requirement in selector.requirements or ())


def _is_anywhere(what: PodSelector) -> bool:
    return what.namespace_selector.is_everything


def _names(what: PodSelector, namespaces: Mapping[str, Labels]) -> frozenset[str]:
    if what.namespace_selector.is_nothing:
        return what.namespaces
    picked = (name for name, labels in namespaces.items() if what.namespace_selector.matches(labels))
    return what.namespaces.union(picked)
