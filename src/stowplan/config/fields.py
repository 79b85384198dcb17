"""Texts of field errors: path, kind of fault, value, detail.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field (v1.36.4).
"""

import json
from collections.abc import Iterable


def quote(text: str) -> str:
    """The text in double quotes with Go's escapes."""
    return json.dumps(text, ensure_ascii=False)


def as_json(value: object) -> str:
    """Compact JSON, as values stand in error texts."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def child(path: str, *names: str) -> str:
    """The path of a field within `path`; an empty path is the root."""
    return ".".join(part for part in (path, *names) if part)


def index(path: str, position: int) -> str:
    """The path of an element of a list."""
    return f"{path}[{position}]"


def invalid(path: str, value: object, detail: str) -> str:
    """A value that may not be."""
    return f"{path}: Invalid value: {as_json(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    """A value that is missing."""
    return f"{path}: Required value" + (f": {detail}" if detail else "")


def duplicate(path: str, value: object) -> str:
    """A value that is there twice."""
    return f"{path}: Duplicate value: {as_json(value)}"


def forbidden(path: str, detail: str) -> str:
    """A field that may not be set here."""
    return f"{path}: Forbidden: {detail}"


def not_supported(path: str, value: str, choices: Iterable[str]) -> str:
    """A value outside a closed set."""
    return f"{path}: Unsupported value: {quote(value)}: supported values: {', '.join(map(quote, choices))}"


def aggregate(errors: Iterable[str]) -> str:
    """Many texts as one: each once, in brackets when there are several."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
