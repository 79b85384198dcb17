"""Scoring strategies: what the used shares of a node's resources are worth.

Upstream: least_allocated.go, most_allocated.go, requested_to_capacity_ratio.go in
pkg/scheduler/framework/plugins/noderesources (v1.36.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.columns.rows import FEW_ROWS
from stowplan.framework.plugin_args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    REQUESTED_TO_CAPACITY_RATIO,
    ScoringStrategy,
    ShapePoint,
)
from stowplan.framework.shape import FULL, score_of_percent
from stowplan.goarith import IntN, round_half_away, to_int, trunc_div, trunc_div_scalar, wrap_int64


@final
@dataclass(frozen=True, slots=True)
class Part:
    """One resource over the rows: used with the pod on board, capacity, and what it counts."""

    used_n: IntN
    capacity_n: IntN
    weight: int


Strategy = Callable[[Sequence[Part]], IntN]


def least_allocated(parts: Sequence[Part]) -> IntN:
    """The emptier the better: the weighted mean of the free shares."""
    if len(parts[0].used_n) <= FEW_ROWS:
        return weighted_mean_of_few(parts, lambda used, there: 0 if used > there else wrap_int64(there - used))
    return weighted_mean(parts, _free)


def _free(part: Part) -> IntN:
    free_n = part.capacity_n - part.used_n
    free_n[part.used_n > part.capacity_n] = 0
    return free_n


def most_allocated(parts: Sequence[Part]) -> IntN:
    """The fuller the better: the weighted mean of the used shares."""
    if len(parts[0].used_n) <= FEW_ROWS:
        return weighted_mean_of_few(parts, min)
    return weighted_mean(parts, lambda part: np.minimum(part.used_n, part.capacity_n))


@final
class RequestedToCapacityRatio:
    """The used share, in per cent, through a piecewise linear function; what scores 0 does not count."""

    __slots__ = ("_score_of",)

    def __init__(self, shape: Sequence[ShapePoint]) -> None:
        self._score_of = score_of_percent(shape)

    def __call__(self, parts: Sequence[Part]) -> IntN:
        """The rounded weighted mean over the resources that score."""
        total_n: IntN = np.zeros(len(parts[0].used_n), np.int64)
        weight_n: IntN = np.zeros(len(total_n), np.int64)
        for part in parts:
            # parity: a node with more used than it has is full
            percent_n = percent(np.minimum(part.used_n, part.capacity_n), part.capacity_n)
            score_n = np.where(part.capacity_n != 0, self._score_of[percent_n], 0)
            total_n += score_n * part.weight
            weight_n += (score_n > 0) * part.weight
        return to_int(round_half_away(total_n / np.maximum(weight_n, 1)))


def weighted_mean(parts: Sequence[Part], amount_of: Callable[[Part], IntN]) -> IntN:
    """The mean by weight of amounts in per cent of capacity, over the resources that a node has; 0 without any."""
    total_n: IntN = np.zeros(len(parts[0].used_n), np.int64)
    if all(part.capacity_n.all() for part in parts):
        for part in parts:
            score_n = _quotient(amount_of(part) * FULL, part.capacity_n)
            total_n += score_n if part.weight == 1 else score_n * part.weight
        return _quotient(total_n, sum(part.weight for part in parts))
    weight_n: IntN = np.zeros(len(total_n), np.int64)
    for part in parts:
        there_n = (part.capacity_n != 0) * part.weight
        total_n += percent(amount_of(part), part.capacity_n) * there_n
        weight_n += there_n
    return _quotient(total_n, np.maximum(weight_n, 1))


def weighted_mean_of_few(parts: Sequence[Part], amount_of: Callable[[int, int], int]) -> IntN:
    """The same in plain numbers; `amount_of` gets what is used and the capacity."""
    columns = [(part.used_n.tolist(), part.capacity_n.tolist(), part.weight) for part in parts]
    means = []
    for i in range(len(parts[0].used_n)):
        total = weights = 0
        for used, capacity, weight in columns:
            if capacity[i]:
                total += trunc_div_scalar(wrap_int64(amount_of(used[i], capacity[i]) * FULL), capacity[i]) * weight
                weights += weight
        means.append(trunc_div_scalar(total, weights) if weights else 0)
    return np.array(means, np.int64)


def percent(part_n: IntN, whole_n: IntN) -> IntN:
    """A part of a whole in per cent; 0 where there is no whole, for there is no part then."""
    return _quotient(part_n * FULL, np.maximum(whole_n, 1))


def _quotient(part_n: IntN, whole_n: IntN | int) -> IntN:
    # perf: flooring takes a third of truncating; they differ below zero, where only amounts beyond int64 lead
    return part_n // whole_n if part_n.min(initial=0) >= 0 else trunc_div(part_n, whole_n)


STRATEGIES: Final[Mapping[str, Callable[[ScoringStrategy], Strategy]]] = {
    LEAST_ALLOCATED: lambda _: least_allocated,
    MOST_ALLOCATED: lambda _: most_allocated,
    REQUESTED_TO_CAPACITY_RATIO: lambda args: RequestedToCapacityRatio(_shape(args)),
}


def strategy_of(args: ScoringStrategy) -> Strategy:
    """The strategy that the arguments name."""
    return STRATEGIES[args.type](args)


def _shape(args: ScoringStrategy) -> Sequence[ShapePoint]:
    assert args.requested_to_capacity_ratio is not None, "validated: this strategy has a shape"
    return args.requested_to_capacity_ratio.shape
