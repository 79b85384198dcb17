"""Shapes: scores that are a piecewise linear function of a used share.

Upstream: pkg/scheduler/framework/plugins/helper/shape_score.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from stowplan.framework.plugin import MAX_SCORE
from stowplan.framework.plugin_args import MAX_SHAPE_SCORE, ShapePoint
from stowplan.goarith import IntN, trunc_div_scalar

FULL: Final = 100
"""A used share is a whole number of per cent."""


def score_of_percent(shape: Sequence[ShapePoint]) -> IntN:
    """The score at every share from 0 to 100 per cent."""
    return np.array([at_utilization(shape, percent) for percent in range(FULL + 1)], np.int64)


def at_utilization(shape: Sequence[ShapePoint], percent: int) -> int:
    """The score at a used share, scaled from 0..10 to 0..MAX_SCORE; flat beyond the ends of the shape."""
    scale = MAX_SCORE // MAX_SHAPE_SCORE
    before: ShapePoint | None = None
    for point in shape:
        if percent <= point.utilization:
            if before is None:
                return point.score * scale
            rise = (point.score - before.score) * scale
            run = point.utilization - before.utilization
            return before.score * scale + trunc_div_scalar(rise * (percent - before.utilization), run)
        before = point
    assert before is not None, "validated: a shape has points"
    return before.score * scale
