"""Shapes, from corner to corner."""

from collections.abc import Sequence

import pytest

from stowplan.framework.plugin_args import ShapePoint
from stowplan.framework.shape import at_utilization, score_of_percent


def shape(*corners: tuple[int, int]) -> Sequence[ShapePoint]:
    """A shape by its corners: utilization and score."""
    return [ShapePoint(utilization=utilization, score=score) for utilization, score in corners]


TENT = shape((20, 0), (50, 10), (90, 3))
HILL = shape((10, 2), (70, 5), (99, 1))


@pytest.mark.parametrize(
    ("corners", "percent", "want"),
    [
        pytest.param(TENT, 0, 0, id="before the first corner"),
        pytest.param(TENT, 20, 0, id="at a corner"),
        pytest.param(TENT, 30, 33, id="rising by 100 over 30: 33.3 is cut"),
        pytest.param(TENT, 50, 100, id="at the top"),
        pytest.param(TENT, 60, 83, id="falling by 70 over 40: -17.5 is cut toward zero"),
        pytest.param(TENT, 95, 30, id="beyond the last corner"),
        pytest.param(HILL, 0, 20, id="flat before a first corner that scores"),
        pytest.param(HILL, 11, 20, id="a rise of half a point is cut"),
        pytest.param(HILL, 71, 49, id="a fall of 1.3 points is cut toward zero"),
        pytest.param(HILL, 100, 10, id="flat after the last corner"),
    ],
)
def test_a_shape_is_linear_between_its_corners(corners: Sequence[ShapePoint], percent: int, want: int) -> None:
    assert want == at_utilization(corners, percent)
    assert want == score_of_percent(corners)[percent]
