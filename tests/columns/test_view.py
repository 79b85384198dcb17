"""A View is the Cluster at a generation."""

from stowplan.columns.journal import Changed
from stowplan.testing.builders import ZONE, cluster, namespace, node, pod


def test_a_view_is_stale_once_anything_changed() -> None:
    built = cluster(node("a"))
    view = built.view()
    assert view is built.view()

    built.put(pod("p", on="a"))

    assert not view.fresh
    assert built.view().fresh
    assert {0: Changed.LOAD} == built.view().changes_since(view.generation)


def test_other_objects_make_it_stale_too() -> None:
    built = cluster(node("a"))
    view = built.view()

    built.put(namespace("web"))

    assert {-1: Changed.OBJECTS} == built.view().changes_since(view.generation)


def test_removing_what_is_not_there_changes_nothing() -> None:
    built = cluster(node("a"))
    view = built.view()

    built.remove_pod("never")
    built.remove_node("never")
    built.remove(namespace("never"))
    built.forget("never")

    assert view.fresh


def test_only_the_nodes_that_exist() -> None:
    built = cluster(node("a"), node("b"), pod("p", on="ghost"))
    view = built.view()

    assert ["a", "b"] == list(view.only(["b", "ghost", "never", "a"]).names)
    assert view.row_of("ghost") is None
    assert 2 == len(view)


def test_order_is_of_rows_of_the_view() -> None:
    built = cluster(*(node(name, zone=zone) for name, zone in zip("abcd", "xxyy", strict=True)))
    built.remove_node("a")
    view = built.view()

    assert ["b", "c", "d"] == [built.nodes.names[row] for row in view.order]
    assert sorted(view.order.tolist()) == view.rows.index.tolist()
    assert ZONE in built.nodes.labels_of(int(view.order[0]))
