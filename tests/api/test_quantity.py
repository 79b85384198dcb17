"""Quantities parse, round, compare, add and print as resource.Quantity does."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stowplan.api.errors import QuantityError
from stowplan.api.quantity import MAX_INT64, add, canonical, compare, milli_value, nano_value, nanos, of, parse, value

FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
NUMBER = "unable to parse numeric part of quantity"
SUFFIX = "unable to parse quantity's suffix"

# From here on upstream has no suffix and leaves it out: the text no longer says the amount.
BEYOND_EXA = 10 ** (21 + 9)
UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


@pytest.mark.parametrize(
    ("raw", "units", "thousandths"),
    [
        pytest.param("100m", 1, 100, id="a fraction of a unit rounds up to one"),
        pytest.param("1500m", 2, 1500, id="one and a half rounds up to two"),
        pytest.param("1n", 1, 1, id="the least amount is one of everything"),
        pytest.param("0.1n", 1, 1, id="less than the least amount is the least amount"),
        pytest.param("1.5Gi", 1610612736, 1610612736000, id="a binary fraction is exact"),
        pytest.param("-1500m", -2, -1500, id="below zero rounds away from zero too"),
        pytest.param("1e3", 1000, 1_000_000, id="an exponent scales"),
        pytest.param("1E3", 1000, 1_000_000, id="a capital exponent scales"),
        pytest.param("2E", 2 * 10**18, 0, id="E alone is exa; its thousandths do not fit and read as zero, as in Go"),
        pytest.param(".5", 1, 500, id="no digit before the point"),
        pytest.param("5.", 5, 5000, id="no digit after the point"),
        pytest.param("+7", 7, 7000, id="a plus sign"),
        pytest.param(" 7 ", 7, 7000, id="blanks around it"),
        pytest.param("-", 0, 0, id="a lone sign is zero"),
        pytest.param("Ki", 0, 0, id="a lone suffix is zero"),
        pytest.param("10Ei", MAX_INT64, -1000, id="binary amounts are capped; their thousandths wrap as in Go"),
        pytest.param("10E", 0, 0, id="a decimal amount beyond int64 reads as zero, as in Go"),
        pytest.param(7, 7, 7000, id="a JSON integer"),
        pytest.param(0.25, 1, 250, id="a JSON fraction"),
        pytest.param(1e30, 0, 0, id="a JSON number beyond int64"),
    ],
)
def test_values(raw: str | float, units: int, thousandths: int) -> None:
    assert (units, thousandths) == (value(raw), milli_value(raw))


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        pytest.param("", FORM, id="nothing"),
        pytest.param("one", FORM, id="a word"),
        pytest.param("1 Gi", FORM, id="a blank inside"),
        pytest.param("1.2.3", FORM, id="two points"),
        pytest.param("1KiB", FORM, id="an unknown letter"),
        pytest.param("1K", SUFFIX, id="a capital K alone"),
        pytest.param("1mi", SUFFIX, id="a small binary suffix"),
        pytest.param("1e", SUFFIX, id="an exponent without digits"),
        pytest.param("1e99999999999999999999", SUFFIX, id="an exponent beyond int64"),
        pytest.param("e-12", NUMBER, id="an exponent without a number"),
        pytest.param("Ei", NUMBER, id="a suffix too great for a missing number"),
        pytest.param(True, FORM, id="a boolean"),
    ],
)
def test_malformed(raw: str, text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse(raw)

    assert text == str(caught.value)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        pytest.param("1.5", "1500m", id="a fraction takes a smaller suffix"),
        pytest.param("1.5Gi", "1536Mi", id="a binary fraction takes a smaller suffix"),
        pytest.param("1024Ki", "1Mi", id="a binary amount takes the greatest suffix"),
        pytest.param("512Ki", "512Ki", id="a binary amount that no greater suffix divides"),
        pytest.param("0.5Ki", "512", id="a small binary amount has no suffix"),
        pytest.param("1500k", "1500k", id="a thousand and a half thousands"),
        pytest.param("3000000", "3M", id="a plain number takes a suffix"),
        pytest.param("0.0001", "100u", id="micro"),
        pytest.param("12e6", "12e6", id="an exponent stays one"),
        pytest.param("120e5", "12e6", id="an exponent goes to a multiple of three"),
        pytest.param("-2Mi", "-2Mi", id="below zero"),
        pytest.param("5000E", "5", id="beyond exa the suffix is missing, as in Go"),
        pytest.param("000", "0", id="zero"),
        pytest.param("0Ki", "0", id="binary zero"),
    ],
)
def test_canonical_text(raw: str, want: str) -> None:
    assert want == canonical(parse(raw)) == str(parse(raw))


def test_sums_keep_the_form_of_the_first_that_is_not_zero() -> None:
    assert "1536Mi" == str(add(parse("0"), parse("1.5Gi")))
    assert "1Gi" == str(add(parse("512Mi"), parse("536870912")))
    assert "1500m" == str(add(parse("1"), parse("0.5")))


def test_a_sum_that_leaves_int64_stays_exact() -> None:
    total = add(parse("9E"), parse("1Ei"))

    assert "10152921504606846976" == str(total)
    assert 1 == compare(total, parse("9E"))


def test_an_absurd_exponent_costs_nothing() -> None:
    assert 1 == compare(parse("1e2147483647"), of(1))
    assert -1 == compare(of(1), parse("12345678901234567890e2147483647"))


amounts = st.builds(
    lambda sign, whole, fraction, unit: (
        sign,
        whole,
        fraction,
        unit,
        f"{sign}{whole}{fraction and '.' + fraction}{unit}",
    ),
    st.sampled_from(["", "-"]),
    st.integers(0, 10**15).map(str),
    st.text("0123456789", max_size=9),
    st.sampled_from(sorted(UNITS)),
)


@given(amounts)
def test_no_amount_loses_more_than_its_nanos(parts: tuple[str, str, str, str, str]) -> None:
    sign, whole, fraction, unit, text = parts
    digits, power = int(whole + fraction), UNITS[unit] - len(fraction) + 9
    exact = digits * 10**power if power >= 0 else -(-digits // 10**-power)

    assert (-exact if sign else exact) == nano_value(text)


@given(amounts)
def test_canonical_text_reads_back_as_the_same_amount(parts: tuple[str, str, str, str, str]) -> None:
    quantity = parse(parts[-1])
    assume(abs(nanos(quantity)) < BEYOND_EXA)

    assert 0 == compare(quantity, parse(canonical(quantity)))


@given(amounts, amounts)
def test_order_and_sum_agree_with_exact_arithmetic(
    left: tuple[str, str, str, str, str], right: tuple[str, str, str, str, str]
) -> None:
    low, high = nano_value(left[-1]), nano_value(right[-1])

    assert (low > high) - (low < high) == compare(parse(left[-1]), parse(right[-1]))
    total = add(parse(left[-1]), parse(right[-1]))
    assert low + high == nanos(total)
