"""Scoring strategies against their scalar twins."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.framework.plugin_args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    RequestedToCapacityRatio,
    ScoringStrategy,
    ShapePoint,
)
from stowplan.goarith import round_scalar, trunc_div_scalar, wrap_int64
from stowplan.plugins.node_resources_fit.strategies import Part, strategy_of

Load = list[tuple[int, int]]
"""Per node what is used and what there is."""

UP = ((0, 0), (100, 10))
DOWN = ((0, 10), (100, 0))
TENT = ((20, 0), (50, 10), (90, 3))


def shape(points: Sequence[tuple[int, int]]) -> tuple[ShapePoint, ...]:
    return tuple(ShapePoint(utilization=utilization, score=score) for utilization, score in points)


def ratio(points: Sequence[tuple[int, int]]) -> ScoringStrategy:
    return ScoringStrategy(
        type=REQUESTED_TO_CAPACITY_RATIO, requested_to_capacity_ratio=RequestedToCapacityRatio(shape=shape(points))
    )


def part(load: Load, weight: int = 1) -> Part:
    used, capacity = zip(*load, strict=True)
    return Part(np.array(used, np.int64), np.array(capacity, np.int64), weight)


@pytest.mark.parametrize(
    ("strategy", "parts", "want"),
    [
        pytest.param(ScoringStrategy(type=LEAST_ALLOCATED), [(1, 4, 1)], 75, id="least: 3 of 4 are free"),
        pytest.param(ScoringStrategy(type=LEAST_ALLOCATED), [(1, 3, 1)], 66, id="least: 66.7 is cut"),
        pytest.param(ScoringStrategy(type=LEAST_ALLOCATED), [(5, 4, 1)], 0, id="least: overcommitted is full"),
        pytest.param(ScoringStrategy(type=LEAST_ALLOCATED), [(0, 4, 1), (4, 4, 3)], 25, id="least: weights 1 and 3"),
        pytest.param(ScoringStrategy(type=MOST_ALLOCATED), [(1, 4, 1)], 25, id="most: 1 of 4 is used"),
        pytest.param(ScoringStrategy(type=MOST_ALLOCATED), [(5, 4, 1)], 100, id="most: overcommitted is full"),
        pytest.param(
            ScoringStrategy(type=MOST_ALLOCATED), [(3, 4, 2), (0, 0, 9)], 75, id="most: lacking does not count"
        ),
        pytest.param(ratio(UP), [(1, 3, 1)], 33, id="ratio: rising from 0 to 100"),
        pytest.param(ratio(DOWN), [(1, 3, 1)], 67, id="ratio: falling, 100 - 33"),
        pytest.param(ratio(DOWN), [(5, 3, 1)], 0, id="ratio: overcommitted is at its end"),
        pytest.param(ratio(UP), [(1, 2, 1), (0, 2, 5)], 50, id="ratio: what scores 0 does not count"),
        pytest.param(ratio(UP), [(1, 4, 1), (2, 4, 1)], 38, id="ratio: the mean 37.5 goes up"),
        pytest.param(ratio(UP), [(0, 0, 1)], 0, id="ratio: a node without the resource"),
    ],
)
def test_strategy(strategy: ScoringStrategy, parts: Sequence[tuple[int, int, int]], want: int) -> None:
    got = strategy_of(strategy)([part([(used, capacity)], weight) for used, capacity, weight in parts])

    assert [want] == got.tolist()


def twin_least(used: int, capacity: int) -> int:
    return 0 if used > capacity else (capacity - used) * 100 // capacity


def twin_most(used: int, capacity: int) -> int:
    return min(used, capacity) * 100 // capacity


def twin_ratio(points: Sequence[tuple[int, int]], used: int, capacity: int) -> int:
    percent = 100 if used > capacity else used * 100 // capacity
    corners = [(x, y * 10) for x, y in points]
    for i, (x, y) in enumerate(corners):
        if percent <= x:
            if i == 0:
                return y
            x0, y0 = corners[i - 1]
            return y0 + trunc_div_scalar((y - y0) * (percent - x0), x - x0)
    return corners[-1][1]


def twin_mean(scores: Sequence[tuple[int, int]]) -> int:
    weights = sum(weight for _, weight in scores)
    return sum(score * weight for score, weight in scores) // weights if weights else 0


huge = st.integers(1, 8) | st.integers(2**56, 2**63 - 1)


@given(st.lists(st.tuples(huge | st.integers(-(2**63), -1), huge), min_size=1, max_size=6))
def test_amounts_beyond_reason_wrap_around_as_in_go(nodes: Load) -> None:
    def percent(of: int, capacity: int) -> int:
        return trunc_div_scalar(wrap_int64(of * 100), capacity)

    least = [0 if used > capacity else percent(wrap_int64(capacity - used), capacity) for used, capacity in nodes]
    most = [percent(min(used, capacity), capacity) for used, capacity in nodes]

    assert least == strategy_of(ScoringStrategy(type=LEAST_ALLOCATED))([part(nodes)]).tolist()
    assert most == strategy_of(ScoringStrategy(type=MOST_ALLOCATED))([part(nodes)]).tolist()


amounts = st.integers(0, 8) | st.integers(0, 2**40)
loads = st.lists(st.lists(st.tuples(amounts, amounts), min_size=3, max_size=3), min_size=1, max_size=6)
shapes = (
    st.dictionaries(st.integers(0, 100), st.integers(0, 10), min_size=1, max_size=4)
    .map(lambda points: sorted(points.items()))
    .filter(bool)
)
WEIGHTS = (1, 4, 2)


@given(loads, shapes)
def test_kernels_agree_with_their_twins(nodes: list[Load], points: list[tuple[int, int]]) -> None:
    parts = [part([loads[i] for loads in nodes], WEIGHTS[i]) for i in range(3)]
    least, most, rounded = [], [], []
    for of_node in nodes:
        there = [
            (used, capacity, weight) for (used, capacity), weight in zip(of_node, WEIGHTS, strict=True) if capacity
        ]
        least.append(twin_mean([(twin_least(used, capacity), weight) for used, capacity, weight in there]))
        most.append(twin_mean([(twin_most(used, capacity), weight) for used, capacity, weight in there]))
        scores = [(twin_ratio(points, used, capacity), weight) for used, capacity, weight in there]
        counting = [(score, weight) for score, weight in scores if score > 0]
        total, weights = sum(score * weight for score, weight in counting), sum(weight for _, weight in counting)
        rounded.append(int(round_scalar(total / weights)) if weights else 0)

    assert least == strategy_of(ScoringStrategy(type=LEAST_ALLOCATED))(parts).tolist()
    assert most == strategy_of(ScoringStrategy(type=MOST_ALLOCATED))(parts).tolist()
    assert rounded == strategy_of(ratio(points))(parts).tolist()
