"""Claims that name no class get the default one.

Upstream: plugin/pkg/admission/storage/storageclass/setdefault (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import STORAGE_CLASSES, Api

DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


def admit_claim(api: Api, claim: dict[str, Any]) -> None:
    """Name the newest default class in a new claim."""
    spec = claim["spec"]
    if "storageClassName" in spec or CLASS_ANNOTATION in (claim["metadata"].get("annotations") or {}):
        return
    found = default_class(api)
    if found is not None:
        spec["storageClassName"] = found


def default_class(api: Api) -> str | None:
    """The class that claims get that name none: the newest of those marked."""
    marked = []
    for entry in api.store.table(STORAGE_CLASSES).entries.values():
        meta = entry.decoded()["metadata"]
        annotations = meta.get("annotations") or {}
        if any(annotations.get(mark) == "true" for mark in DEFAULT_MARKS):
            marked.append((meta.get("creationTimestamp", ""), meta["name"]))
    if not marked:
        return None
    newest = max(created for created, _ in marked)
    names: list[str] = [name for created, name in marked if created == newest]
    return min(names)
