"""Every kernel of Go's arithmetic agrees with its scalar twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.goarith import (
    IntN,
    log,
    round_half_away,
    round_scalar,
    scaled_by_max,
    to_int,
    to_int_scalar,
    trunc_div,
    trunc_div_scalar,
    wrap_int64,
)

numbers = st.integers(-(2**62), 2**62)
floats = st.floats(-(2.0**52), 2.0**52)


@pytest.mark.parametrize(
    ("number", "want"),
    [
        pytest.param(0.5, 1.0, id="half goes up"),
        pytest.param(-0.5, -1.0, id="minus half goes down"),
        pytest.param(2.5, 3.0, id="an even tie leaves zero too"),
        pytest.param(0.49999999999999994, 0.0, id="just below half stays"),
        pytest.param(4503599627370497.5, 4503599627370498.0, id="the greatest tie there is"),
        pytest.param(9007199254740993.0, 9007199254740993.0, id="beyond fractions nothing changes"),
        pytest.param(math.inf, math.inf, id="infinity"),
    ],
)
def test_round(number: float, want: float) -> None:
    assert want == round_half_away(np.array([number]))[0]
    assert want == round_scalar(number)


def test_rounding_nothing_that_is_a_number_gives_nothing_that_is_a_number() -> None:
    assert math.isnan(round_half_away(np.array([math.nan]))[0])
    assert math.isnan(round_scalar(math.nan))


@given(st.lists(floats | st.integers(-(10**6), 10**6).map(lambda half: half / 2)))
def test_round_agrees_with_its_twin(xs: list[float]) -> None:
    assert [round_scalar(x) for x in xs] == round_half_away(np.array(xs)).tolist()


@pytest.mark.parametrize(
    ("numerator", "denominator", "want"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (-8, 2, -4), (-1, 2, 0), (1, -2, 0), (0, -5, 0)],
    ids=str,
)
def test_trunc_div_goes_toward_zero(numerator: int, denominator: int, want: int) -> None:
    assert want == trunc_div(np.array([numerator]), denominator)[0]
    assert want == trunc_div_scalar(numerator, denominator)


@given(st.lists(st.tuples(numbers, numbers.filter(bool))))
def test_trunc_div_agrees_with_its_twin(pairs: list[tuple[int, int]]) -> None:
    top_n = np.array([top for top, _ in pairs], dtype=np.int64)
    bottom_n = np.array([bottom for _, bottom in pairs], dtype=np.int64)

    assert [trunc_div_scalar(top, bottom) for top, bottom in pairs] == trunc_div(top_n, bottom_n).tolist()


@given(st.integers(-(2**65), 2**65))
def test_wrapped_numbers_keep_their_low_64_bits(number: int) -> None:
    wrapped = wrap_int64(number)

    assert -(2**63) <= wrapped < 2**63
    assert 0 == (number - wrapped) % 2**64


@given(st.lists(floats))
def test_to_int_agrees_with_its_twin(xs: list[float]) -> None:
    assert [to_int_scalar(x) for x in xs] == to_int(np.array(xs)).tolist()


def normalized_twin(scores: list[int], top: int, *, reverse: bool) -> list[int]:
    highest = max(scores, default=0)
    if highest <= 0:
        return [top for _ in scores] if reverse else scores
    return [top - top * score // highest if reverse else top * score // highest for score in scores]


@given(st.lists(st.integers(0, 10**12)), st.booleans())
def test_scaled_by_max_agrees_with_its_twin(scores: list[int], reverse: bool) -> None:
    raw_n: IntN = np.array(scores, dtype=np.int64)

    assert normalized_twin(scores, 100, reverse=reverse) == scaled_by_max(raw_n, 100, reverse=reverse).tolist()


@pytest.mark.parametrize(
    ("number", "want"),
    [(2.0, "0x1.62e42fefa39efp-1"), (3.0, "0x1.193ea7aad030ap+0"), (14.0, "0x1.51cca16d7bba8p+1"), (1.0, "0x0.0p+0")],
    ids=str,
)
def test_log_is_what_go_computes_to_the_bit(number: float, want: str) -> None:
    assert want == log(number).hex()


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_log_is_within_a_place_of_the_true_one(x: float) -> None:
    assert math.isclose(math.log(x), log(x), rel_tol=1e-15, abs_tol=1e-15)
