"""Folding several terms into one selector keeps whom they all mean."""

from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.affinity import PodAffinityTerm
from stowplan.api.meta import Namespace
from stowplan.plugins.inter_pod_affinity.terms import selects_all
from stowplan.testing.builders import cluster, company, pod
from tests.plugins.inter_pod_affinity.cases import TERMS
from tests.plugins.small_clusters import NAMESPACES, namespace_lists, pod_labels


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(TERMS), min_size=1, max_size=3),
    namespace_lists(),
    st.sampled_from(NAMESPACES),
    pod_labels(),
)
def test_one_selector_says_what_all_terms_say(
    written: list[PodAffinityTerm], namespaces: list[Namespace], home: str, labels: dict[str, str]
) -> None:
    built = cluster(*namespaces)
    terms = built.compiler.compile(pod(affinity=company(near=written))).cls.terms

    want = all(built.selectors.picks(term.what, home, labels) for term in terms)

    assert want == built.selectors.picks(selects_all(terms, built.namespaces), home, labels)
