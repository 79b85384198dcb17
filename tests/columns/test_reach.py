"""Which nodes items reach, against a twin that asks every item about every node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.affinity import NodeSelector
from stowplan.api.node_selectors import NodeMatcher, compile_node_selector
from stowplan.columns.column import Table
from stowplan.columns.reach import FAR, Reach, label_pairs, lowest
from stowplan.testing.builders import cluster, node, node_term


def matcher(*terms: list[tuple[str, str, list[str]]]) -> NodeMatcher:
    return compile_node_selector(NodeSelector(node_selector_terms=tuple(node_term(*term) for term in terms)))


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(matcher([("zone", "In", ["a"])]), (("zone", "a"),), id="one label with one value"),
        pytest.param(
            matcher([("zone", "In", ["a"]), ("rack", "In", ["1"])]),
            (("rack", "1"), ("zone", "a")),
            id="two labels with one value each",
        ),
        pytest.param(matcher([("zone", "In", ["a", "b"])]), None, id="two values"),
        pytest.param(matcher([("zone", "NotIn", ["a"])]), None, id="a value that must not be"),
        pytest.param(matcher([("zone", "In", ["a"])], [("zone", "In", ["b"])]), None, id="two terms"),
        pytest.param(matcher([("zone", "In", ["a"]), ("zone", "In", ["b"])]), None, id="a contradiction"),
        pytest.param(matcher([("zone", "Like", ["a"])]), None, id="a malformed term"),
        pytest.param(matcher(), None, id="no term"),
        pytest.param(matcher([(key, "In", ["x"]) for key in "abcd"]), None, id="more labels than fit a number"),
    ],
)
def test_labels_that_decide_alone_are_told_apart(asked: NodeMatcher, want: object) -> None:
    assert want == label_pairs(asked)


values = st.sampled_from(["a", "b", "c"])
expressions = st.tuples(
    st.sampled_from(["zone", "rack"]), st.sampled_from(["In", "NotIn", "Exists", "Like"]), st.lists(values, max_size=2)
)
matchers = st.none() | st.builds(lambda terms: matcher(*terms), st.lists(st.lists(expressions, max_size=3), max_size=2))
node_labels = st.fixed_dictionaries({}, optional={"zone": values, "rack": values})


@settings(max_examples=150)
@given(st.lists(node_labels, min_size=1, max_size=6), st.lists(matchers, max_size=8), st.integers(1, 3), st.data())
def test_the_nearest_are_the_lowest_ranks_that_reach_a_node(
    labels: list[dict[str, str]], asked: list[NodeMatcher | None], depth: int, data: st.DataObject
) -> None:
    built = cluster(*(node(f"n{i}", labels=own) for i, own in enumerate(labels[:-1])))
    table = Table()
    reach = Reach(table)
    slots = [table.take_row() for _ in asked]
    for slot, wanted in zip(slots, asked, strict=True):
        reach.set(slot, wanted)
    if slots:  # one that moves, and is asked about before a node with new values comes
        moved = data.draw(matchers)
        reach.clear(slots[0])
        reach.set(slots[0], moved)
        asked = [moved, *asked[1:]]
    ranks = data.draw(st.permutations(range(len(slots))))
    at, rank = np.array(slots, np.int64), np.array(ranks, np.int64)
    list(reach.nearest(built.view().rows, at, rank, depth))
    built.put(node(f"n{len(labels) - 1}", labels=labels[-1]))
    rows = built.view().rows

    found = list(reach.nearest(rows, at, rank, depth))

    for i, name in enumerate(rows.names):
        have = built.nodes.labels_of(int(rows.index[i]))
        want = sorted(r for r, m in zip(ranks, asked, strict=True) if m is None or m.matches(have, name))
        got = sorted({int(array[i]) for array in found} - {FAR})
        assert want[:depth] == got[:depth], name
        assert set(got) <= set(want), name


def test_the_lowest_ranks_per_code() -> None:
    codes, rank = np.array([1, -1, 0, 1, 1], np.int32), np.array([7, 1, 5, 3, 9], np.int64)

    assert [[5, 3, FAR, FAR], [FAR, 7, FAR, FAR]] == [a.tolist() for a in lowest(codes, rank, 3, 2) or []]
    assert [[5, 3, FAR, FAR]] == [a.tolist() for a in lowest(codes, rank, 3, 1) or []]
    assert lowest(codes[1:2], rank[1:2], 3, 2) is None
