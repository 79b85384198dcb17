"""Go's duration texts ("1h2m3.5s") to nanoseconds and back, exactly."""

import re
from typing import Final

from stowplan.api.gotext import quote

_UNIT_NS: Final = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5
    "μs": 1_000,  # U+03BC
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "m": 60_000_000_000,
    "h": 3_600_000_000_000,
}
_LIMIT: Final = 1 << 63
_TERM: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")


def parse_duration(text: str) -> int:
    """Nanoseconds of a duration; ValueError with Go's wording otherwise."""
    invalid = ValueError(f"time: invalid duration {quote(text)}")
    negative = text.startswith("-")
    rest = text[1:] if text[:1] in ("-", "+") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        match = _TERM.match(rest)
        assert match is not None, "the pattern matches any text"
        whole, fraction, unit = match.group(1), match.group(2) or "", match.group(3)
        if not whole and not fraction:
            raise invalid
        if not unit:
            raise ValueError(f"time: missing unit in duration {quote(text)}")
        if unit not in _UNIT_NS:
            raise ValueError(f"time: unknown unit {quote(unit)} in duration {quote(text)}")
        total += int(whole or "0") * _UNIT_NS[unit]
        if fraction:
            # parity: Go takes the fraction in floating point and truncates
            total += int(int(fraction) * (_UNIT_NS[unit] / 10.0 ** len(fraction)))
        if total > _LIMIT:
            raise invalid
        rest = rest[match.end() :]
    if not negative and total == _LIMIT:
        raise invalid
    return -total if negative else total


def format_duration(nanoseconds: int) -> str:
    """The text Go prints for a duration: "1m30s", "500ms", "0s"."""
    sign, rest = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if rest == 0:
        return "0s"
    for unit, size in (("ns", 1), ("µs", 1_000), ("ms", 1_000_000)):
        if rest < size * 1_000:
            return f"{sign}{_decimal(rest, size)}{unit}"
    minutes, within = divmod(rest, _UNIT_NS["m"])
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(within, _UNIT_NS['s'])}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    if hours:
        text = f"{hours}h{text}"
    return sign + text


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    if not rest:
        return str(whole)
    digits = len(str(size)) - 1
    return f"{whole}.{str(rest).zfill(digits).rstrip('0')}"
