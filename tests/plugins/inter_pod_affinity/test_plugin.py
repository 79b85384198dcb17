"""Malformed terms, and the events the plugin hears of."""

import pytest

from stowplan.framework.plugin import PluginContext, PluginError
from stowplan.framework.verdict import unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity
from stowplan.testing.builders import cluster, company, node, pod, select, term
from stowplan.testing.running import run_filter

BAD = term(select(("app", "Near", [])))
WRONG = '"Near" is not a valid label selector operator'


def plugin() -> InterPodAffinity:
    return InterPodAffinity.create(None, PluginContext())


def test_a_malformed_term_rejects_the_pod_for_good() -> None:
    answer = run_filter(plugin(), [node()], pod(affinity=company(prefer_near=[(1, BAD)])))

    assert unresolvable(f"parsing pod: preferredAffinityTerms: {WRONG}") == answer.rejected


def test_all_malformed_terms_are_named() -> None:
    answer = run_filter(plugin(), [node()], pod(affinity=company(near=[BAD], far=[BAD])))

    want = f"parsing pod: [requiredAffinityTerms: {WRONG}, requiredAntiAffinityTerms: {WRONG}]"
    assert unresolvable(want) == answer.rejected


def test_scoring_a_pod_with_a_malformed_term_fails() -> None:
    built = cluster(node())
    info = built.compiler.compile(pod(affinity=company(prefer_near=[(1, BAD)])))

    with pytest.raises(PluginError, match="failed to parse pod: preferredAffinityTerms"):
        plugin().prepare_score(info, built.view().rows, {})


def test_a_placed_pod_with_a_malformed_term_keeps_its_other_terms() -> None:
    db = select(app="db")
    placed = pod("p", on="node", affinity=company(near=[BAD], far=[term(db)]))

    answer = run_filter(plugin(), [node(), placed], pod(labels={"app": "db"}))

    assert answer.on("node") is not None


@pytest.mark.parametrize(
    ("kind", "change", "want"),
    [
        pytest.param(Kind.ASSIGNED_POD, Change.ADDED, True, id="a pod was placed"),
        pytest.param(Kind.ASSIGNED_POD, Change.POD_LABELS, True, id="a placed pod's labels changed"),
        pytest.param(Kind.ASSIGNED_POD, Change.DELETED, True, id="a placed pod went"),
        pytest.param(Kind.UNSCHEDULED_POD, Change.POD_TOLERATIONS, False, id="tolerating more brings no company"),
        pytest.param(Kind.NODE, Change.ADDED, True, id="a node came"),
        pytest.param(Kind.NODE, Change.NODE_LABELS, True, id="a node's labels changed"),
        pytest.param(Kind.NODE, Change.DELETED, False, id="a node that goes takes nobody's place"),
        pytest.param(Kind.NODE, Change.NODE_ALLOCATABLE, False, id="a node grew"),
    ],
)
def test_hears(kind: Kind, change: Change, want: bool) -> None:
    assert want == any(wake.hears(ObjectEvent(kind, change)) for wake in plugin().wakes)
