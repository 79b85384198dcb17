"""How many nodes are enough, and after how many the search ends."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.cycle.sampling import enough_nodes, sample


@pytest.mark.parametrize(
    ("percentage", "nodes", "want"),
    [
        pytest.param(None, 5000, 5000, id="without a percentage all nodes"),
        pytest.param(100, 5000, 5000, id="a hundred percent are all nodes"),
        pytest.param(1, 99, 99, id="of fewer than a hundred nodes all"),
        pytest.param(1, 5000, 100, id="never fewer than a hundred"),
        pytest.param(30, 1000, 300, id="a share of the nodes"),
        pytest.param(15, 1005, 150, id="the share is rounded down: 150.75"),
        pytest.param(0, 100, 100, id="0 starts at half of the nodes, but a hundred at least"),
        pytest.param(0, 1000, 420, id="0 takes a percent less for every 125 nodes: 50 - 8"),
        pytest.param(0, 1124, 472, id="a part of 125 nodes does not count: still 50 - 8"),
        pytest.param(0, 5625, 281, id="0 ends at 5 percent: 50 - 45"),
        pytest.param(0, 10000, 500, id="and stays there"),
    ],
)
def test_enough(percentage: int | None, nodes: int, want: int) -> None:
    assert want == enough_nodes(percentage, nodes)


@pytest.mark.parametrize(
    ("passed", "enough", "want"),
    [
        pytest.param([True, True, True], 2, 2, id="the search ends before the first node too many"),
        pytest.param([True, False, False, True], 1, 3, id="what is turned down on the way there was looked at"),
        pytest.param([True, False, False], 1, 3, id="when none is too many all were looked at"),
        pytest.param([False, False], 1, 2, id="when none passes all were looked at"),
        pytest.param([], 1, 0, id="no nodes"),
    ],
)
def test_looked_at(passed: list[bool], enough: int, want: int) -> None:
    assert want == sample(np.array(passed, np.bool_), enough)


def looked_at_twin(passed: Sequence[bool], enough: int) -> int:
    """Walk from node to node; the one that would be too many ends the walk."""
    found = 0
    for looked, passes in enumerate(passed):
        if passes and found == enough:
            return looked
        found += passes
    return len(passed)


@given(st.lists(st.booleans()), st.integers(1, 8))
def test_the_sample_is_that_of_a_walk(passed: list[bool], enough: int) -> None:
    assert looked_at_twin(passed, enough) == sample(np.array(passed, np.bool_), enough)
