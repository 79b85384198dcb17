"""Random settings in which pods have terms about each other."""

from typing import Final

from hypothesis import strategies as st

from stowplan.api.affinity import Affinity
from stowplan.api.pod import Pod
from stowplan.testing.builders import company, pod, select, term
from tests.plugins.small_clusters import (
    GONE,
    NAMESPACES,
    SELECTORS,
    TOPOLOGY_KEYS,
    Changes,
    Setting,
    change_lists,
    namespace_lists,
    node_lists,
    pod_labels,
    pod_lists,
)

Case = tuple[Setting, Pod, list[Changes]]


TERMS: Final = tuple(
    term(selector, key, namespaces=names, namespace_selector=namespace_selector)
    for selector in SELECTORS
    for key in TOPOLOGY_KEYS
    for names in ((), ("web",), NAMESPACES)
    for namespace_selector in (None, select(), select(team="t"), select(("team", "DoesNotExist", [])))
)
"""Over all keys, about pods of the own, of named or of selected namespaces."""


def affinities(most: int = 2) -> st.SearchStrategy[Affinity | None]:
    """Required and preferred terms of both kinds, mostly few."""
    some = st.lists(st.sampled_from(TERMS), max_size=most)
    weighted = st.lists(st.tuples(st.sampled_from([1, 7, 100]), st.sampled_from(TERMS)), max_size=most)
    return st.none() | st.builds(company, near=some, far=some, prefer_near=weighted, prefer_far=weighted)


def pods(name: str = "kind") -> st.SearchStrategy[Pod]:
    """Pods of any namespace, some being deleted, with terms or without."""
    return st.builds(
        pod,
        st.just(name),
        labels=pod_labels(),
        namespace=st.sampled_from(NAMESPACES),
        deleted=st.sampled_from([None, None, GONE]),
        affinity=affinities(1),
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A setting, a pod and worlds."""
    nodes = draw(node_lists())
    setting = Setting(nodes, draw(pod_lists(nodes, pods(), most=8)), draw(namespace_lists()))
    incoming = draw(
        st.builds(
            pod,
            st.just("incoming"),
            labels=pod_labels(),
            namespace=st.sampled_from(NAMESPACES),
            affinity=affinities(),
        )
    )
    return setting, incoming, draw(change_lists(setting, pods()))
