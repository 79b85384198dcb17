"""Reads quantities and writes them back in the one form the API stores.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource/quantity.go (v1.36.4).
"""

import re
from collections.abc import Sequence
from decimal import ROUND_UP, Decimal
from functools import lru_cache

PATTERN = re.compile(r"^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+|n|u|m|k|M|G|T|P|E)?$", re.ASCII)
BAD_FORM = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # text is API
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
SUFFIX_BY_POWER = {power: suffix for suffix, power in DECIMAL.items()}
NANO = Decimal("1e-9")
MILLI = Decimal("1e-3")
LARGEST = Decimal(2**63 - 1)
MAX_EXPONENT = 64
"""Beyond this an exponent is cut to the largest number anyway."""


class BadQuantityError(ValueError):
    """Raised when a text is not a quantity."""


@lru_cache(maxsize=4096)
def amount(text: str) -> Decimal:
    """The exact number that a quantity stands for."""
    number, _ = _parse(text)
    return number


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The form in which the API stores this quantity."""
    number, suffix = _parse(text)
    if suffix in BINARY and number == number.to_integral_value() and abs(number) >= 1024:
        return _binary(int(number))
    exponent_form = bool(suffix) and suffix[0] in "eE" and suffix not in DECIMAL
    return _decimal(number, exponent_form=exponent_form)


def thousandths(text: str) -> str:
    """The quantity rounded up to thousandths."""
    return _decimal(amount(text).quantize(MILLI, rounding=ROUND_UP), exponent_form=False)


def total(texts: Sequence[str]) -> str:
    """The sum of quantities, in the form of the first."""
    number = sum((amount(text) for text in texts), Decimal(0))
    if texts[0].endswith("i") and number == number.to_integral_value():
        return _binary(int(number))
    return _decimal(number, exponent_form=False)


def _parse(text: str) -> tuple[Decimal, str]:
    match = PATTERN.match(text)
    if match is None or len(text) > 128:
        raise BadQuantityError(BAD_FORM)
    sign, digits, suffix = match[1], match[2], match[3] or ""
    number = Decimal(digits)
    if suffix in BINARY:
        number *= 2 ** BINARY[suffix]
    elif suffix in DECIMAL:
        number = number.scaleb(DECIMAL[suffix])
    else:
        power = int(suffix[1:])
        number = number.scaleb(max(-MAX_EXPONENT, min(MAX_EXPONENT, power)))
    number = min(number, LARGEST)
    # parity: smaller than a billionth is rounded away from zero (quantity.go ParseQuantity)
    if number != number.quantize(Decimal(1)):
        number = number.quantize(NANO, rounding=ROUND_UP)
    return (-number if sign == "-" else number), suffix


def _binary(number: int) -> str:
    for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
        if number % (1 << BINARY[suffix]) == 0:
            return f"{number >> BINARY[suffix]}{suffix}"
    return str(number)


def _decimal(number: Decimal, *, exponent_form: bool) -> str:
    if not number:
        return "0"
    scaled, power = number, 0
    while scaled != scaled.to_integral_value() and power > -9:
        scaled, power = scaled.scaleb(3), power - 3
    whole = int(scaled)
    while whole % 1000 == 0 and power < 18:
        whole, power = whole // 1000, power + 3
    if exponent_form:
        return f"{whole}e{power}" if power else str(whole)
    return f"{whole}{SUFFIX_BY_POWER[power]}"
