"""Sums over topology domains: one number per value of a label key.

Arrays per domain run along the value codes of a label column and have one slot more: the last, where the code -1 points
to, stands for the nodes without the label. So `sums_d[codes_n]` needs no mask.
"""

import numpy as np
from numpy.typing import NDArray

from stowplan.goarith import BoolN, IntN, to_int


def domain_sums(codes_n: NDArray[np.int32], values_n: IntN, domains: int) -> IntN:
    """Per domain the sum of the values on its rows."""
    # perf: bincount refuses negative codes; shifting them costs 2 µs at 5000 rows, masking 10 µs
    sums_d = np.bincount(codes_n + 1, weights=values_n, minlength=domains + 1)
    return _last_first(to_int(np.asarray(sums_d, np.float64)))


def domain_members(codes_n: NDArray[np.int32], domains: int) -> IntN:
    """Per domain the number of its rows."""
    return _last_first(np.bincount(codes_n + 1, minlength=domains + 1))


def only_where(mask_n: BoolN | None, codes_n: NDArray[np.int32]) -> NDArray[np.int32]:
    """The codes where the mask is set, -1 elsewhere; None sets all."""
    return codes_n if mask_n is None else np.where(mask_n, codes_n, np.int32(-1))


def _last_first(shifted_d: NDArray[np.int64]) -> IntN:
    return np.concatenate((shifted_d[1:], shifted_d[:1]))
