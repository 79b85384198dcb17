"""The node table: rows by name, facts by row."""

from stowplan.api.affinity import Taint
from stowplan.columns.cluster import Cluster
from stowplan.columns.nodes import undated
from stowplan.testing.builders import cluster, node, pod, taint


def test_a_reused_row_knows_nothing_of_its_last_node() -> None:
    built = cluster(
        node("a", labels={"disk": "ssd"}, extended={"example.com/gpu": 4}, cordoned=True, taints=[taint("own")])
    )
    row = built.nodes.row_of["a"]
    built.nodes.label("disk")
    built.remove_node("a")

    built.put_node(node("b"))

    rows = built.view().rows
    assert row == built.nodes.row_of["b"]
    assert [-1] == rows.label("disk").tolist()
    assert [0] == rows.allocatable("example.com/gpu").tolist()
    assert [False] == rows.take(built.nodes.cordoned).tolist()
    assert () == built.nodes.taint_sets.values[int(rows.take(built.nodes.taint_set)[0])]


def test_a_resource_that_a_node_stops_offering_is_gone() -> None:
    built = cluster(node("a", extended={"example.com/gpu": 4}))

    built.put_node(node("a"))

    assert [0] == built.view().rows.allocatable("example.com/gpu").tolist()


def test_a_label_column_is_filled_on_first_use_and_kept_current() -> None:
    built = cluster(node("a", labels={"disk": "ssd"}), node("b"))
    column = built.nodes.label("disk")
    assert [0, -1] == built.view().rows.label("disk").tolist()

    built.put_node(node("b", labels={"disk": "hdd"}))
    built.put_node(node("a"))

    assert [-1, 1] == built.view().rows.label("disk").tolist()
    assert ["ssd", "hdd"] == column.values.values


def test_a_pod_that_leaves_gives_its_place_to_the_last() -> None:
    built = cluster(node("a"), *(pod(f"p{i}", on="a") for i in range(4)))

    built.remove_pod("uid-default-p1")

    assert ["p0", "p3", "p2"] == [info.pod.name for info in built.view().rows.pods(0)]


def test_taints_that_differ_in_age_only_are_one_set() -> None:
    old, new = (Taint(key="own", effect="NoExecute", time_added=f"2026-01-0{day}T00:00:00Z") for day in (1, 2))
    built = cluster(node("a", taints=[old]), node("b", taints=[new]))

    codes = built.view().rows.take(built.nodes.taint_set).tolist()

    assert codes[0] == codes[1] != 0
    assert (Taint(key="own", effect="NoExecute"),) == undated((old,))


def test_resources_are_those_offered_or_asked_for() -> None:
    built = cluster(node("a"), pod("p", extended={"example.com/fpga": 1}, on="a"))

    assert {"cpu", "memory", "pods", "example.com/fpga"} <= set(built.nodes.resources)


def cluster_labels(built: Cluster, name: str) -> dict[str, str]:
    return dict(built.nodes.labels_of(built.nodes.row_of[name]))


def test_a_pod_on_a_node_that_is_not_there_has_a_row_without_labels() -> None:
    built = cluster(pod("p", on="ghost"))

    assert {} == cluster_labels(built, "ghost")
    assert {"kubernetes.io/hostname": "a"} == cluster_labels(cluster(node("a")), "a")
    assert 0 == len(built.view())
    assert built.node("ghost") is None
