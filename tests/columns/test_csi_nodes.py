"""CSINodes as columns of their nodes."""

import pytest

from stowplan.api.storage import CSINode
from stowplan.columns.cluster import Cluster
from stowplan.columns.csi_nodes import NO_LIMIT, CSINodeColumns
from stowplan.testing.builders import cluster, node
from stowplan.testing.storage import csi_node


def read(columns: CSINodeColumns, built: Cluster) -> dict[str, tuple[bool, bool, int, bool, bool]]:
    """Per node: has a CSINode, limits something, limit of d, has d, took over p."""
    view = built.view()
    columns.catch_up(view)
    limit, installed, migrated = columns.limit("d"), columns.installed("d"), columns.migrated("p")
    return {
        name: (
            bool(columns.present.data[row]),
            bool(columns.limited.data[row]),
            NO_LIMIT if limit is None else int(limit.data[row]),
            installed is not None and bool(installed.data[row]),
            migrated is not None and bool(migrated.data[row]),
        )
        for name, row in view.nodes.row_of.items()
    }


NOTHING = (False, False, NO_LIMIT, False, False)


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param(None, NOTHING, id="a node without one"),
        pytest.param(csi_node("a"), (True, False, NO_LIMIT, False, False), id="one that lists no driver"),
        pytest.param(csi_node("a", {"d": 3}), (True, True, 3, True, False), id="a limit"),
        pytest.param(csi_node("a", {"d": None}), (True, False, NO_LIMIT, True, False), id="a driver without a limit"),
        pytest.param(csi_node("a", {"e": 0}), (True, True, NO_LIMIT, False, False), id="the limit of another driver"),
        pytest.param(csi_node("a", migrated=["o", "p"]), (True, False, NO_LIMIT, False, True), id="taken over plugins"),
    ],
)
def test_it_says_what_the_csi_node_of_the_same_name_says(said: CSINode | None, want: tuple[object, ...]) -> None:
    built = cluster(node("a"), node("b"), *([said] if said else []))

    assert {"a": want, "b": NOTHING} == read(CSINodeColumns(), built)


def test_it_follows_changes_of_nodes_and_of_csi_nodes() -> None:
    built = cluster(csi_node("a", {"d": 1}), csi_node("b", {"d": 2}), node("a"))
    columns = CSINodeColumns()
    read(columns, built)

    built.put(node("b"))
    assert (True, True, 2, True, False) == read(columns, built)["b"]
    built.put(csi_node("b", migrated=["p"]))
    assert (True, False, NO_LIMIT, False, True) == read(columns, built)["b"]
    built.remove_object(CSINode, "b")
    assert NOTHING == read(columns, built)["b"]
    built.remove_node("a")
    built.put(node("c"))
    assert NOTHING == read(columns, built)["c"]


def test_it_starts_over_with_another_cluster() -> None:
    columns = CSINodeColumns()
    read(columns, cluster(csi_node("a", {"d": 1}), node("a")))

    assert {"a": NOTHING} == read(columns, cluster(node("a")))
