"""Upstream's error texts: quoted values, field errors, aggregates, label syntax.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field, util/errors and api/validate/content (v1.36.4).
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_LABEL_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_LABEL_NAME_RE = re.compile(_LABEL_NAME)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
_ESCAPES |= {"\f": "\\f", "\v": "\\v"}

_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_NAME_TEXT = (
    f"{_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_LABEL_NAME}')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_LABEL_NAME})?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)


def quote(text: str) -> str:
    """The text as Go's %q writes it."""
    return '"' + "".join(_ESCAPES.get(char) or _printable(char) for char in text) + '"'


def invalid(path: str, value: str | Sequence[str], detail: str) -> str:
    """An `Invalid value` field error; a list without items reads as Go's nil."""
    if isinstance(value, str):
        shown = quote(value)
    else:
        shown = json.dumps(list(value), separators=(",", ":"), ensure_ascii=False) if value else "null"
        shown = shown.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f"{path}: Invalid value: {shown}: {detail}"


def not_supported(path: str, value: str, supported: Sequence[str]) -> str:
    """An `Unsupported value` field error."""
    return f"{path}: Unsupported value: {quote(value)}: supported values: " + ", ".join(map(quote, supported))


def aggregate(messages: Iterable[str]) -> str:
    """Several errors in one text: each once, in brackets when there is more than one."""
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else "[" + ", ".join(distinct) + "]"


@lru_cache(maxsize=16384)
def label_key_errors(key: str) -> tuple[str, ...]:
    """What is wrong with a label key; nothing when it is valid."""
    errors: list[str] = []
    parts = key.split("/")
    if len(parts) > 2:
        return (
            f"a valid label key {_NAME_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    name = parts[-1]
    if len(parts) == 2 and not parts[0]:
        errors.append("prefix part must be non-empty")
    elif len(parts) == 2:
        errors.extend(f"prefix part {text}" for text in subdomain_errors(parts[0]))
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        errors.append("name part must be no more than 63 bytes")
    if not _LABEL_NAME_RE.fullmatch(name):
        errors.append(f"name part {_NAME_TEXT}")
    return tuple(errors)


@lru_cache(maxsize=16384)
def label_value_errors(value: str) -> tuple[str, ...]:
    """What is wrong with a label value; nothing when it is valid."""
    errors: list[str] = []
    if len(value.encode()) > 63:
        errors.append("must be no more than 63 bytes")
    if value and not _LABEL_NAME_RE.fullmatch(value):
        errors.append(_VALUE_TEXT)
    return tuple(errors)


def subdomain_errors(text: str) -> tuple[str, ...]:
    """What is wrong with a DNS subdomain; nothing when it is valid."""
    errors: list[str] = []
    if len(text.encode()) > 253:
        errors.append("must be no more than 253 bytes")
    if not _SUBDOMAIN_RE.fullmatch(text):
        errors.append(_SUBDOMAIN_TEXT)
    return tuple(errors)


def _printable(char: str) -> str:
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
