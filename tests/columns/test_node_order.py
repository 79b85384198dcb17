"""Node order is upstream's round-robin over zones."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns.node_order import NodeOrder, zone_of
from stowplan.testing.builders import ZONE
from tests.columns.twin import OLD_REGION, OLD_ZONE, REGION, NodeTreeTwin, zone_key

labels_of_a_node = st.fixed_dictionaries(
    {},
    optional={
        ZONE: st.sampled_from(["z1", "z2", ""]),
        OLD_ZONE: st.sampled_from(["z1", ""]),
        REGION: st.sampled_from(["r", ""]),
        OLD_REGION: st.sampled_from(["r", ""]),
    },
)


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | labels_of_a_node), max_size=30))
def test_any_history_gives_the_order_of_the_twin(history: list[tuple[int, Mapping[str, str] | None]]) -> None:
    order, twin = NodeOrder(), NodeTreeTwin()
    zones: dict[int, str] = {}
    for row, labels in history:
        if labels is None:
            if row in zones:
                order.remove(row)
                twin.remove(str(row), zones.pop(row))
            continue
        zone = zone_key(labels)
        changed = zones.get(row) != zone
        if changed:
            if row in zones:
                twin.remove(str(row), zones[row])
            twin.add(str(row), zone)
            zones[row] = zone
        assert changed == order.place(row, labels)
        assert twin.names() == [str(r) for r in order.rows()]


@pytest.mark.parametrize(
    ("labels", "want"),
    [
        pytest.param({}, ("", ""), id="no labels, no zone"),
        pytest.param({ZONE: "a"}, ("", "a"), id="a zone alone"),
        pytest.param({ZONE: "a", REGION: "r"}, ("r", "a"), id="a zone in a region"),
        pytest.param({ZONE: "a", OLD_ZONE: "b"}, ("", "b"), id="the deprecated label wins"),
        pytest.param({ZONE: "a", OLD_ZONE: ""}, ("", ""), id="the deprecated label wins even when it is empty"),
    ],
)
def test_zone_of(labels: Mapping[str, str], want: tuple[str, str]) -> None:
    assert want == zone_of(labels)


def test_a_zone_that_lost_its_nodes_comes_last_when_it_returns() -> None:
    order = NodeOrder()
    for row, zone in enumerate(["a", "b", "a"]):
        order.place(row, {ZONE: zone})
    assert [0, 1, 2] == order.rows()

    order.remove(0)
    order.remove(2)
    order.place(0, {ZONE: "a"})

    assert [1, 0] == order.rows()
