"""Quantities, exact: parsing, rounding, comparing, adding and writing them as resource.Quantity does.

Upstream: staging/src/k8s.io/apimachinery/pkg/api/resource (v1.36.4).
"""

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import final

from stowplan.api.errors import QuantityError
from stowplan.api.meta import RawQuantity

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)

_SCALES = {"": 0, "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_SHIFTS = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {scale: suffix for suffix, scale in _SCALES.items()}
_BINARY_SUFFIX = {0: "", **{shift // 10: suffix for suffix, shift in _SHIFTS.items()}}

_FORM = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_WRONG_FORM = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"  # text is API
)
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"

# A power of ten beyond this is the same as infinity to every comparison, and 10**2147483647 is not worth computing.
_FAR = 1000
_WRAPPING_POWERS = frozenset({1, 2, 3, 6, 9})


class Format(Enum):
    """How a quantity was written, and will be written again."""

    DECIMAL_SI = "DecimalSI"
    BINARY_SI = "BinarySI"
    DECIMAL_EXPONENT = "DecimalExponent"


@final
@dataclass(frozen=True, slots=True)
class Quantity:
    """`unscaled * 10**scale`; `big` amounts are upstream's arbitrary-precision ones and overflow differently."""

    unscaled: int
    scale: int = 0
    format: Format = Format.DECIMAL_SI
    big: bool = False

    def __str__(self) -> str:
        return canonical(self)


ZERO = Quantity(0)


def of_milli(amount: int) -> Quantity:
    """The quantity of that many thousandths."""
    return Quantity(amount, -3)


def of(amount: int) -> Quantity:
    """The quantity of that many units."""
    return Quantity(amount)


def parse(raw: RawQuantity) -> Quantity:
    """Parse a quantity as it stands in JSON; QuantityError with upstream's text when it is malformed."""
    if isinstance(raw, bool):
        raise QuantityError(_WRONG_FORM)
    return _parse(raw.strip() if isinstance(raw, str) else _number_text(raw))


def value(raw: RawQuantity) -> int:
    """The amount in units, rounded away from zero."""
    return _value(raw) if type(raw) is str else scaled_value(parse(raw), 0)


def milli_value(raw: RawQuantity) -> int:
    """The amount in thousandths, rounded away from zero."""
    return _milli_value(raw) if type(raw) is str else scaled_value(parse(raw), -3)


def nano_value(raw: RawQuantity) -> int:
    """The exact amount in billionths: no quantity is finer."""
    return nanos(parse(raw))


def nanos(quantity: Quantity) -> int:
    """The exact amount in billionths: no quantity is finer."""
    power = min(quantity.scale + 9, _FAR)
    factor: int = 10 ** abs(power)
    return quantity.unscaled * factor if power >= 0 else quantity.unscaled // factor


def compare(left: Quantity, right: Quantity) -> int:
    """-1, 0 or 1, exactly."""
    if left.scale == right.scale:
        return (left.unscaled > right.unscaled) - (left.unscaled < right.unscaled)
    low, high = nanos(left), nanos(right)
    return (low > high) - (low < high)


def add(left: Quantity, right: Quantity) -> Quantity:
    """The sum, as upstream's Add: int64 while it fits, arbitrary precision from then on."""
    format_ = right.format if left.unscaled == 0 else left.format
    if not left.big and not right.big:
        if right.unscaled == 0:
            return Quantity(left.unscaled, left.scale, format_)
        if left.unscaled == 0:
            return Quantity(right.unscaled, right.scale, format_)
        total, scale, fits = _add_int64(left, right)
        if fits:
            return Quantity(total, scale, format_)
    scale = min(left.scale, right.scale)
    total = left.unscaled * 10 ** min(left.scale - scale, _FAR) + right.unscaled * 10 ** min(right.scale - scale, _FAR)
    return Quantity(total, scale, format_, big=True)


def scaled_value(quantity: Quantity, scale: int) -> int:
    """The amount in units of `10**scale`, rounded away from zero; beyond int64 what Go's code gives."""
    if quantity.big:
        return _scaled_big(quantity, scale)
    if quantity.scale >= scale:
        return _scale_up(quantity.unscaled, quantity.scale - scale)
    return _round_away(quantity.unscaled, 10 ** min(scale - quantity.scale, 40))


def canonical(quantity: Quantity) -> str:
    """The text that upstream's String gives a quantity it computed."""
    if quantity.unscaled == 0:
        return "0"
    if quantity.format is Format.BINARY_SI and _is_binary(quantity):
        amount, power = _without_factors(nanos(quantity) // 10**9, 1024)
        if power not in _BINARY_SUFFIX:
            return str(amount)
        return f"{amount}{_BINARY_SUFFIX[power]}"
    amount, times = _without_factors(quantity.unscaled, 10)
    exponent = quantity.scale + times
    amount *= 10 ** (exponent % 3)
    exponent -= exponent % 3
    if quantity.format is Format.DECIMAL_EXPONENT:
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX.get(exponent, '')}"


@lru_cache(maxsize=65536)
def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(_WRONG_FORM)
    match = _FORM.fullmatch(text)
    if match is None:
        raise QuantityError(_WRONG_FORM)
    sign, whole, fraction, suffix = match.groups()
    fraction = fraction or ""
    whole = whole.lstrip("0")
    if not whole and not fraction and not suffix:
        return ZERO
    digits = whole + fraction
    minus = -1 if sign == "-" else 1
    if suffix in _SHIFTS:
        return _parse_binary(minus, whole, fraction, _SHIFTS[suffix], bare=not match[2] and not match[3])
    scale, format_ = _decimal_suffix(suffix)
    length = max(len(whole), 1) + len(fraction)
    if length <= 18 and scale - len(fraction) >= -9:
        return Quantity(minus * int(digits or "0"), scale - len(fraction), format_)
    if not match[2] and not match[3]:
        raise QuantityError(_WRONG_NUMBER)
    unscaled, exponent = _at_least_nano(int(digits or "0"), scale - len(fraction))
    return Quantity(minus * unscaled, exponent, format_, big=True)


def _decimal_suffix(suffix: str) -> tuple[int, Format]:
    if suffix in _SCALES:
        return _SCALES[suffix], Format.DECIMAL_SI
    if suffix[0] in "eE":
        try:
            exponent = int(suffix[1:])
        except ValueError:
            raise QuantityError(_WRONG_SUFFIX) from None
        if MIN_INT64 <= exponent <= MAX_INT64:
            return (exponent + 2**31) % 2**32 - 2**31, Format.DECIMAL_EXPONENT
    raise QuantityError(_WRONG_SUFFIX)


def _parse_binary(minus: int, whole: str, fraction: str, shift: int, *, bare: bool) -> Quantity:
    if not fraction and 15 - max(len(whole), 1) - shift * 3 // 10 - 1 >= 0:
        return Quantity(minus * (int(whole or "0") << shift), 0, Format.BINARY_SI)
    if bare:
        raise QuantityError(_WRONG_NUMBER)
    unscaled, scale = _at_least_nano(int((whole + fraction) or "0") << shift, -len(fraction))
    format_ = Format.BINARY_SI
    if unscaled > MAX_INT64 * 10**-scale:
        unscaled, scale = MAX_INT64, 0
    elif 0 < unscaled < 10**-scale:
        format_ = Format.DECIMAL_SI
    return Quantity(minus * unscaled, scale, format_, big=True)


def _at_least_nano(unscaled: int, scale: int) -> tuple[int, int]:
    if unscaled == 0:
        return 0, scale
    if scale >= -9:
        return unscaled * 10 ** min(scale + 9, _FAR), -9
    return _round_away(unscaled, 10 ** min(-9 - scale, len(str(unscaled)) + 1)), -9


def _add_int64(left: Quantity, right: Quantity) -> tuple[int, int, bool]:
    scale = min(left.scale, right.scale)
    apart = abs(left.scale - right.scale)
    if apart > 18:
        return 0, 0, False
    scaled = (left if left.scale > right.scale else right).unscaled * 10**apart
    other = (right if left.scale > right.scale else left).unscaled
    total = scaled + other
    fits = all(MIN_INT64 <= number <= MAX_INT64 for number in (scaled, total))
    return total, scale, fits


def _scaled_big(quantity: Quantity, scale: int) -> int:
    apart = quantity.scale - scale
    if apart >= 0:
        # parity: Go keeps the low 64 bits of the product (scale_int.go)
        return _low_64(_low_64(quantity.unscaled) * (10**apart if apart <= 18 else MIN_INT64))
    divisor: int = 10 ** min(-apart, 4 * _FAR)
    if quantity.unscaled < 0 and -apart < 19:
        # parity: below zero the low 64 bits are cut toward zero before one is added (scale_int.go)
        low = _low_64(quantity.unscaled)
        cut = abs(low) // divisor * (1 if low >= 0 else -1)
        return cut + (low % divisor != 0)
    return _low_64(-(-quantity.unscaled // divisor))


def _scale_up(amount: int, power: int) -> int:
    """Multiply as Go does: the usual powers wrap around, the others read as zero when they do not fit."""
    if power == 0 or amount == 0:
        return amount
    if power in _WRAPPING_POWERS:
        return _low_64(amount * 10**power) if amount != MIN_INT64 else 0
    result: int = amount * 10 ** min(power, 19)
    return result if MIN_INT64 <= result <= MAX_INT64 else 0


def _low_64(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _round_away(amount: int, divisor: int) -> int:
    return -(-amount // divisor) if amount >= 0 else amount // divisor


def _is_binary(quantity: Quantity) -> bool:
    amount = nanos(quantity)
    return abs(amount) >= 1024 * 10**9 and amount % 10**9 == 0


def _without_factors(amount: int, factor: int) -> tuple[int, int]:
    times = 0
    while amount and amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times


def _number_text(raw: float) -> str:
    return repr(raw).replace("e+", "e") if isinstance(raw, float) else str(raw)


@lru_cache(maxsize=65536)
def _value(text: str) -> int:
    return scaled_value(_parse(text.strip()), 0)


@lru_cache(maxsize=65536)
def _milli_value(text: str) -> int:
    return scaled_value(_parse(text.strip()), -3)
