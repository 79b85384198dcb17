"""Namespaces live in phases, and go only when nothing is in them.

Upstream: pkg/registry/core/namespace/{strategy.go,storage/storage.go} (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import Api

Json = dict[str, Any]

FINALIZER = "kubernetes"


def prepare_namespace(_api: Api, namespace: Json) -> None:
    """A new namespace is active, and held by the one who empties it."""
    namespace["status"] = {"phase": "Active"}
    spec = namespace.setdefault("spec", {})
    finalizers = spec.setdefault("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers.append(FINALIZER)


def keep_namespace(_api: Api, namespace: Json, old: Json) -> None:
    """The finalizers of the specification change at /finalize only."""
    namespace["spec"] = old.get("spec", {})
