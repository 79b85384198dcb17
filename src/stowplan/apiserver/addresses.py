"""Reads the path of a request: which resource, which object, which part of it.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go (v1.36.4).
"""

from dataclasses import dataclass
from urllib.parse import unquote

NAMESPACE_PARTS = frozenset({"status", "finalize"})
MAX_PARTS = 32


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of a path below /api or /apis."""

    group: str
    version: str
    plural: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watch: bool = False


def read_address(path: str) -> Address | None:
    """The address of a path; None when it is not one of resources."""
    parts = [unquote(part) for part in path.strip("/").split("/", MAX_PARTS)]
    if parts[0] == "api" and len(parts) >= 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watch = bool(rest) and rest[0] == "watch"
    if watch:
        rest = rest[1:]
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in NAMESPACE_PARTS:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = [*rest, "", "", ""][:3]
    return Address(group, version, plural, namespace, name, "/".join(rest[2:]) if len(rest) > 3 else subresource, watch)
