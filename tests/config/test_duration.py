"""Go's durations, read and written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.config.duration import format_duration, parse_duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("5s", 5 * SECOND, id="whole seconds"),
        pytest.param("1h2m3.5s", 3_723_500_000_000, id="units add up"),
        pytest.param("1.5h", 5400 * SECOND, id="a fraction of any unit"),
        pytest.param("100ms", SECOND // 10, id="milliseconds are not minutes"),
        pytest.param("7us", 7_000, id="microseconds in ASCII"),
        pytest.param("7µs", 7_000, id="microseconds with the micro sign"),
        pytest.param("3ns", 3, id="nanoseconds"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("-1m", -60 * SECOND, id="a sign applies to the whole"),
        pytest.param("+1m", 60 * SECOND, id="a plus sign is allowed"),
        pytest.param(".5s", SECOND // 2, id="digits may stand after the point only"),
        pytest.param("5.s", 5 * SECOND, id="digits may stand before the point only"),
        pytest.param("0.0000000019s", 1, id="what is below a nanosecond is cut off"),
        pytest.param("-9223372036854775808ns", -(2**63), id="the smallest duration"),
    ],
)
def test_parse(text: str, want: int) -> None:
    assert want == parse_duration(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", 'time: invalid duration ""', id="nothing is no duration"),
        pytest.param("-", 'time: invalid duration "-"', id="a sign alone is no duration"),
        pytest.param(".s", 'time: invalid duration ".s"', id="a point alone is no number"),
        pytest.param("s", 'time: invalid duration "s"', id="a unit alone is no duration"),
        pytest.param("5", 'time: missing unit in duration "5"', id="a number needs a unit"),
        pytest.param("1e3s", 'time: unknown unit "e" in duration "1e3s"', id="exponents are not known"),
        pytest.param("2d", 'time: unknown unit "d" in duration "2d"', id="days are not known"),
        pytest.param("9223372037s", 'time: invalid duration "9223372037s"', id="292 years are the limit"),
        pytest.param("9223372036854775808ns", 'time: invalid duration "9223372036854775808ns"', id="one too many"),
        pytest.param("5 s", 'time: unknown unit " s" in duration "5 s"', id="spaces belong to the unit"),
    ],
)
def test_malformed(text: str, want: str) -> None:
    with pytest.raises(ValueError, match="time:") as raised:
        parse_duration(text)

    assert want == str(raised.value)


@pytest.mark.parametrize(
    ("nanoseconds", "want"),
    [
        pytest.param(0, "0s", id="zero"),
        pytest.param(600 * SECOND, "10m0s", id="whole minutes show their seconds"),
        pytest.param(5400 * SECOND, "1h30m0s", id="hours show their minutes"),
        pytest.param(SECOND // 2, "500ms", id="below a second in milliseconds"),
        pytest.param(1_500, "1.5µs", id="below a millisecond in microseconds"),
        pytest.param(999, "999ns", id="below a microsecond in nanoseconds"),
        pytest.param(-5 * SECOND, "-5s", id="a negative one"),
        pytest.param(3600 * SECOND + 1, "1h0m0.000000001s", id="nothing is rounded away"),
    ],
)
def test_format(nanoseconds: int, want: str) -> None:
    assert want == format_duration(nanoseconds)


@settings(deadline=None)
@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_what_is_written_reads_back(nanoseconds: int) -> None:
    assert nanoseconds == parse_duration(format_duration(nanoseconds))
