"""Selector columns: registered once, counted on, forgotten when too many."""

import pytest

from stowplan.api.selectors import EVERYTHING, NOTHING, compile_label_selector
from stowplan.columns import selector_counts
from stowplan.columns.pod_selectors import PodSelector, SelectorIndex, demanded_pair
from stowplan.testing.builders import cluster, namespace, node, pod, select

DEFAULT = frozenset({"default"})


def speaking_of(app: str) -> PodSelector:
    return PodSelector(compile_label_selector(select(app=app)), DEFAULT)


def test_the_same_selector_is_one_column() -> None:
    view = cluster(node("a")).view()

    assert view.count(speaking_of("x")) is view.count(speaking_of("x"))
    assert view.count(speaking_of("x")) is not view.count(speaking_of("x"), live_only=True)
    assert view.count(speaking_of("x")) is not view.count(speaking_of("y"))


def test_the_selectors_asked_longest_ago_are_forgotten_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selector_counts, "MOST_SELECTORS", 8)
    built = cluster(node("a"), *(pod(f"p{i}", labels={"app": str(i)}, on="a") for i in range(12)))
    counts = built.selectors
    old = [counts.count(speaking_of(str(i)), live_only=False) for i in range(8)]
    counts.count(speaking_of("0"), live_only=False)

    counts.count(speaking_of("8"), live_only=False)
    built.remove_pod("uid-default-p1")
    built.remove_pod("uid-default-p0")

    assert old[0] is counts.count(speaking_of("0"), live_only=False)
    assert [0] == built.view().rows.count(old[0]).tolist()
    again = counts.count(speaking_of("1"), live_only=False)
    assert again is not old[1]
    assert [0] == built.view().rows.count(again).tolist()
    built.put_pod(pod("p1", labels={"app": "1"}, on="a"))
    assert [1] == built.view().rows.count(again).tolist()


def test_a_pod_that_is_being_deleted_counts_unless_only_the_living_do() -> None:
    built = cluster(node("a"), pod("p", labels={"app": "x"}, on="a"))
    all_pods, living = (built.view().count(speaking_of("x"), live_only=live) for live in (False, True))

    built.put_pod(pod("p", labels={"app": "x"}, on="a", deleted="2026-01-01T00:00:00Z"))

    assert [1] == built.view().rows.count(all_pods).tolist()
    assert [0] == built.view().rows.count(living).tolist()


def test_namespaces_that_nobody_has_seen_are_picked_by_name_or_by_the_empty_selector() -> None:
    built = cluster(node("a"), pod("p", namespace="ghost", on="a"))
    by_label = compile_label_selector(select(("team", "DoesNotExist", [])))
    view = built.view()

    def counted(what: PodSelector) -> int:
        return int(view.rows.count(view.count(what))[0])

    assert 1 == counted(PodSelector(EVERYTHING, frozenset({"ghost"})))
    assert 1 == counted(PodSelector(EVERYTHING, frozenset(), EVERYTHING))
    assert 0 == counted(PodSelector(EVERYTHING, frozenset(), by_label))
    assert 0 == counted(PodSelector(NOTHING, frozenset({"ghost"})))


def test_a_namespace_that_changes_its_labels_changes_counts() -> None:
    built = cluster(node("a"), namespace("web", team="t"), pod("p", namespace="web", on="a"))
    of_team = PodSelector(EVERYTHING, frozenset(), compile_label_selector(select(team="t")))
    count = built.view().count(of_team)
    assert [1] == built.view().rows.count(count).tolist()

    built.put(namespace("web", team="u"))
    assert [0] == built.view().rows.count(count).tolist()
    built.put(namespace("web", team="t"))
    built.put_pod(pod("q", namespace="web", on="a"))
    assert [2] == built.view().rows.count(count).tolist()


def test_the_index_yields_all_that_can_match() -> None:
    index: SelectorIndex[str] = SelectorIndex()
    one, two = compile_label_selector(select(app="x")), compile_label_selector(select(("app", "In", ["x", "y"])))
    assert (("app", "x"), None) == (demanded_pair(one), demanded_pair(two))
    index.add(one, "one")
    index.add(two, "two")

    assert ["two", "one"] == list(index.candidates({"app": "x"}))
    assert ["two"] == list(index.candidates({"app": "z"}))
    index.remove(one, "one")
    index.remove(two, "two")
    assert [] == list(index.candidates({"app": "x"}))
