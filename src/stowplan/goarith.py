"""Go's arithmetic on arrays: the only place that rounds, truncates or divides what may be negative."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntN: TypeAlias = NDArray[np.int64]
FloatN: TypeAlias = NDArray[np.float64]
BoolN: TypeAlias = NDArray[np.bool_]


def round_half_away(x_n: FloatN) -> FloatN:
    """Round as Go's math.Round: ties leave zero (np.rint sends them to even)."""
    whole_n = np.trunc(x_n)
    return np.where(np.abs(x_n - whole_n) >= 0.5, whole_n + np.copysign(1.0, x_n), whole_n)


def trunc_div(numerator_n: IntN, denominator_n: IntN | int) -> IntN:
    """Divide integers as Go does, toward zero; the denominator is never zero."""
    quotient_n = numerator_n // denominator_n
    inexact_n = quotient_n * denominator_n != numerator_n
    return np.asarray(quotient_n + (inexact_n & (quotient_n < 0)), dtype=np.int64)


def to_int(x_n: FloatN) -> IntN:
    """Convert as Go's int64(x): toward zero. Values beyond int64 are the caller's mistake, as in Go."""
    return x_n.astype(np.int64)


def scaled_by_max(raw_n: IntN, top: int, *, reverse: bool = False) -> IntN:
    """Spread scores over 0..top by their greatest, as upstream's DefaultNormalizeScore; all-zero stays equal."""
    highest = int(raw_n.max(initial=0))
    if highest == 0:
        return np.full_like(raw_n, top) if reverse else raw_n
    scaled_n = trunc_div(top * raw_n, highest)
    return top - scaled_n if reverse else scaled_n


def round_scalar(x: float) -> float:
    """math.Round of one number."""
    whole = math.trunc(x) if math.isfinite(x) else x
    return math.copysign(abs(whole) + 1, x) if abs(x - whole) >= 0.5 else math.copysign(whole, x)


def trunc_div_scalar(numerator: int, denominator: int) -> int:
    """Go's integer division of one number by another that is not zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def to_int_scalar(x: float) -> int:
    """Go's int64(x) of one number."""
    return math.trunc(x)
