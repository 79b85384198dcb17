"""Terms of placed pods, one column per distinct term."""

from stowplan.columns.cluster import Cluster
from stowplan.testing.builders import ZONE, cluster, company, namespace, node, pod, select, term

FAR = company(far=[term(select(app="x"), ZONE)])


def about(built: Cluster, space: str, **labels: str) -> list[tuple[str, list[int]]]:
    rows = built.view().rows
    return [(count.term.topology_key, rows.take(count.column).tolist()) for count in built.terms.about(space, labels)]


def test_equal_terms_of_many_pods_are_one() -> None:
    built = cluster(
        node("a"), node("b"), pod("p", affinity=FAR, on="a"), pod("q", affinity=FAR, on="b"), pod("r", on="b")
    )
    built.put_pod(pod("s", affinity=FAR, cpu=1, on="b"))

    assert 1 == len(built.terms)
    assert [(ZONE, [1, 2])] == about(built, "default", app="x")
    assert [] == about(built, "default", app="y")
    assert [] == about(built, "web", app="x")


def test_a_term_goes_with_its_last_pod() -> None:
    built = cluster(node("a"), pod("p", affinity=FAR, on="a"), pod("q", affinity=FAR, on="a"))

    built.remove_pod("uid-default-p")
    assert [(ZONE, [1])] == about(built, "default", app="x")
    built.remove_pod("uid-default-q")

    assert 0 == len(built.terms)
    assert [] == about(built, "default", app="x")


def test_a_pod_that_says_a_term_twice_counts_twice() -> None:
    twice = company(far=[term(select(app="x"), ZONE), term(select(app="x"), ZONE)])
    built = cluster(node("a"), pod("p", affinity=twice, on="a"))

    assert [(ZONE, [2])] == about(built, "default", app="x")


def test_a_namespace_that_nobody_has_seen_counts_as_one_without_labels() -> None:
    without = select(("team", "DoesNotExist", []))
    built = cluster(
        node("a"), pod("p", affinity=company(far=[term(select(app="x"), namespace_selector=without)]), on="a")
    )

    assert 1 == len(about(built, "ghost", app="x"))
    built.put(namespace("ghost", team="t"))
    assert [] == about(built, "ghost", app="x")
