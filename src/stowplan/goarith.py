"""Go's arithmetic on arrays: the only place that rounds, truncates or divides what may be negative."""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

IntN: TypeAlias = NDArray[np.int64]
FloatN: TypeAlias = NDArray[np.float64]
BoolN: TypeAlias = NDArray[np.bool_]

# The minimax polynomial of fdlibm's logarithm, and ln 2 in two parts.
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10


def round_half_away(x_n: FloatN) -> FloatN:
    """Round as Go's math.Round: ties leave zero (np.rint sends them to even)."""
    whole_n = np.trunc(x_n)
    with np.errstate(invalid="ignore"):  # infinity less itself
        tie_or_more_n = np.abs(x_n - whole_n) >= 0.5
    return np.where(tie_or_more_n, whole_n + np.copysign(1.0, x_n), whole_n)


def trunc_div(numerator_n: IntN, denominator_n: IntN | int) -> IntN:
    """Divide integers as Go does, toward zero; the denominator is never zero."""
    quotient_n = numerator_n // denominator_n
    inexact_n = quotient_n * denominator_n != numerator_n
    return np.asarray(quotient_n + (inexact_n & (quotient_n < 0)), dtype=np.int64)


def wrap_int64(number: int) -> int:
    """An integer as Go's int64 holds it: what is too much wraps around."""
    return number if -(2**63) <= number < 2**63 else (number + 2**63) % 2**64 - 2**63


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


def log(x: float) -> float:
    """math.Log of a positive number, to the bit: the C library's answer differs in the last place now and then."""
    fraction, exponent = math.frexp(x)
    if fraction < math.sqrt(0.5):
        fraction, exponent = fraction * 2, exponent - 1
    f = fraction - 1
    s = f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s2 * (_LOG[0] + s4 * (_LOG[2] + s4 * (_LOG[4] + s4 * _LOG[6])))
    even = s4 * (_LOG[1] + s4 * (_LOG[3] + s4 * _LOG[5]))
    half = 0.5 * f * f
    return exponent * _LN2_HIGH - ((half - (s * (half + (odd + even)) + exponent * _LN2_LOW)) - f)


def round_scalar(x: float) -> float:
    """math.Round of one number."""
    if not math.isfinite(x):
        return x
    whole = math.copysign(math.floor(abs(x)), x)
    return math.copysign(abs(whole) + 1, x) if abs(x - whole) >= 0.5 else whole


def trunc_div_scalar(numerator: int, denominator: int) -> int:
    """Go's integer division of one number by another that is not zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def to_int_scalar(x: float) -> int:
    """Go's int64(x) of one number."""
    return math.trunc(x)
