"""Texts of field errors over any JSON value, beside those in `api.gotext`.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/validation/field (v1.36.4).
"""

import json

from stowplan.api.gotext import quote


def child(path: str, *names: str) -> str:
    """The path of a field within `path`; an empty path is the root."""
    return ".".join(part for part in (path, *names) if part)


def index(path: str, position: int) -> str:
    """The path of an element of a list."""
    return f"{path}[{position}]"


def as_json(value: object) -> str:
    """Compact JSON as Go writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def invalid(path: str, value: object, detail: str) -> str:
    """A value that may not be."""
    return f"{path}: Invalid value: {_shown(value)}: {detail}"


def required(path: str, detail: str = "") -> str:
    """A value that is missing."""
    return f"{path}: Required value" + (f": {detail}" if detail else "")


def duplicate(path: str, value: object) -> str:
    """A value that is there twice."""
    return f"{path}: Duplicate value: {_shown(value)}"


def forbidden(path: str, detail: str) -> str:
    """A field that may not be set here."""
    return f"{path}: Forbidden: {detail}"


def _shown(value: object) -> str:
    return quote(value) if isinstance(value, str) else as_json(value)
