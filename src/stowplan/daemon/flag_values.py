"""How Go reads the value of a flag, and what it answers to one it cannot read.

Upstream: vendor/github.com/spf13/pflag (v1.36.4).
"""

import csv
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from stowplan.api.gotext import quote
from stowplan.config.duration import parse_duration

_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})
_GO_INT: Final = re.compile(
    r"[+-]?(0[xX]_?[0-9a-fA-F](_?[0-9a-fA-F])*|0[bB]_?[01](_?[01])*|0[oO]?(_?[0-7])*|[1-9](_?[0-9])*)"
)


def parse_bool(text: str) -> bool:
    """A Go boolean."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueError(f"strconv.ParseBool: parsing {quote(text)}: invalid syntax")


def parse_int(text: str) -> int:
    """A Go int: 64 bits, any base that the prefix names."""
    return _integer(text, 63, "ParseInt")


def parse_int32(text: str) -> int:
    """A Go int32."""
    return _integer(text, 31, "ParseInt")


def parse_level(text: str) -> int:
    """A log verbosity."""
    if not text.isdecimal():
        raise ValueError(f"strconv.ParseUint: parsing {quote(text)}: invalid syntax")
    return _integer(text.lstrip("0") or "0", 31, "ParseUint")


def parse_float32(text: str) -> float:
    """A Go float32."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"strconv.ParseFloat: parsing {quote(text)}: invalid syntax") from None


def parse_string(text: str) -> str:
    """Any text."""
    return text


def parse_ip(text: str) -> str:
    """An address of either family; nothing is nothing."""
    text = text.strip()
    if not text:
        return ""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise ValueError(f"failed to parse IP: {quote(text)}") from None


def parse_strings(text: str) -> tuple[str, ...]:
    """Values separated by commas, quoted as in CSV when they contain one."""
    return tuple(next(csv.reader([text], strict=True))) if text else ()


def parse_int32s(text: str) -> tuple[int, ...]:
    """Numbers separated by commas."""
    return tuple(parse_int32(part) for part in text.split(","))


def parse_pairs(text: str) -> Mapping[str, str]:
    """key=value pairs; a lone pair may contain commas."""
    if not text:
        return {}
    parts = [text] if text.count("=") == 1 else list(parse_strings(text))
    pairs = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"{part} must be formatted as key=value")
        pairs[key] = value.strip('"') if len(parts) == 1 else value
    return pairs


def parse_gates(text: str) -> Mapping[str, bool]:
    """[component:]gate=bool pairs. Only the component kube exists here."""
    gates = {}
    for part in (part.strip() for part in text.split(",")):
        if not part:
            continue
        component, colon, pair = part.partition(":")
        if not colon:
            component, pair = "kube", part
        if component.strip() not in {"kube", ""}:
            raise ValueError(f"component not registered: {component}")
        name, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals:
            raise ValueError(f"missing bool value for {name}")
        try:
            gates[name] = parse_bool(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {name}={value}, err: {error}") from None
    return gates


def parse_patterns(text: str) -> tuple[tuple[str, int], ...]:
    """pattern=N settings for the log."""
    settings = []
    for part in filter(None, text.split(",")):
        pattern, equals, level = part.partition("=")
        if not equals or not pattern:
            raise ValueError(f"{quote(part)} does not have the pattern=N format")
        settings.append((pattern, parse_level(level)))
    return tuple(settings)


def parse_version_flag(text: str) -> str:
    """What --version was asked for: "" (nothing), "plain", "raw", or a version to report."""
    if text == "raw":
        return "raw"
    if text.startswith("v"):
        raise ValueError(f"the reported version cannot be set, got {quote(text)}")
    return "plain" if parse_bool(text) else ""


PARSERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bool": parse_bool,
    "int": parse_int,
    "int32": parse_int32,
    "float32": parse_float32,
    "string": parse_string,
    "ip": parse_ip,
    "strings": parse_strings,
    "int32Slice": parse_int32s,
    "stringToString": parse_pairs,
    "gates": parse_gates,
    "duration": parse_duration,
    "Level": parse_level,
    "pattern=N,...": parse_patterns,
    "quantity": parse_string,
    "namedCertKey": parse_string,
    "module:Class": parse_string,
    "version": parse_version_flag,
}
"""What --help calls a type, and how it is read."""


def _integer(text: str, bits: int, function: str) -> int:
    if _GO_INT.fullmatch(text) is None:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: invalid syntax")
    digits = text.lstrip("+-")
    old_octal = len(digits) > 1 and digits[0] == "0" and digits[1] not in "xXbBoO"
    value = int(digits.replace("_", ""), 8) if old_octal else int(digits, 0)
    value = -value if text.startswith("-") else value
    if not -(1 << bits) <= value < 1 << bits:
        raise ValueError(f"strconv.{function}: parsing {quote(text)}: value out of range")
    return value
