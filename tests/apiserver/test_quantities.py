"""Quantities: what is one, how much it is, how it is written."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.apiserver.quantities import BadQuantityError, amount, canonical


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("0", "0"), ("1", "1"), ("0.1", "100m"), ("100m", "100m"), ("1000m", "1"), ("1000", "1k"), ("1500", "1500"),
        ("1024Mi", "1Gi"), ("1Gi", "1Gi"), ("1.5Gi", "1536Mi"), ("0.5Gi", "512Mi"), ("1023Ki", "1023Ki"),
        ("1Ki", "1Ki"), ("0.5Ki", "512"), ("1e3", "1e3"), ("12e6", "12e6"), ("1M", "1M"), ("1000k", "1M"),
        ("-1", "-1"), ("+1", "1"), (".5", "500m"), ("5.", "5"), ("0.0000000001", "1n"), ("0Mi", "0"),
        ("123456789123456789", "123456789123456789"),
    ],
)  # fmt: skip
def test_the_one_form(text: str, want: str) -> None:
    assert want == canonical(text)


@pytest.mark.parametrize("text", ["", "a", "1x", "1 Gi", "1GiB", "--1", "1e", "m", "1mi", "٣", "1e3Ki", "1" * 200])
def test_no_quantity(text: str) -> None:
    with pytest.raises(BadQuantityError, match="quantities must match the regular expression"):
        canonical(text)


@given(
    st.integers(0, 10**12),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "u", "n"]),
)
def test_the_one_form_is_the_same_amount_and_stays(number: int, suffix: str) -> None:
    text = f"{number}{suffix}"

    assert amount(text) == amount(canonical(text))
    assert canonical(text) == canonical(canonical(text))


@given(st.text(alphabet="0123456789.eE+-mkMGTPKinu", max_size=12))
def test_a_text_is_a_quantity_or_refused(text: str) -> None:
    try:
        assert isinstance(amount(text), Decimal)
    except BadQuantityError:
        return
