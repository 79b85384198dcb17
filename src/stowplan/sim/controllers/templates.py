"""Pod templates: when two are the same, and the short text that tells them apart.

Upstream: pkg/controller/controller_utils.go ComputeHash, pkg/controller/deployment/util EqualIgnoreHash (v1.36.4).
"""

from typing import Any
from zlib import crc32

import msgspec

Json = dict[str, Any]

HASH_LABEL = "pod-template-hash"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_ENCODER = msgspec.json.Encoder(order="deterministic")


def canonical(template: Json) -> bytes:
    """The template as text, without the label that tells templates apart and without empty members."""
    meta = {key: value for key, value in (template.get("metadata") or {}).items() if value}
    labels = {key: value for key, value in (meta.get("labels") or {}).items() if key != HASH_LABEL}
    meta.pop("labels", None)
    if labels:
        meta["labels"] = labels
    return _ENCODER.encode({"metadata": meta, "spec": template.get("spec") or {}})


def same_template(one: Json, other: Json) -> bool:
    """Whether two templates make the same pods."""
    return canonical(one) == canonical(other)


def template_hash(template: Json, collisions: int = 0) -> str:
    """A short text, good as part of a name."""
    text = canonical(template) + (b"/%d" % collisions if collisions else b"")
    return "".join(_ALPHABET[int(digit)] for digit in str(crc32(text)))
