"""Reads and writes metadata.managedFields: who owns which fields.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/managedfields (v1.36.4).
"""

from dataclasses import dataclass, field
from typing import Any

from stowplan.apiserver.patch.fieldset import Path, from_tree, to_tree

Json = dict[str, Any]

APPLY = "Apply"
UPDATE = "Update"


@dataclass(slots=True)
class Manager:
    """One owner; `subresource` tells apart writers of the status."""

    name: str
    operation: str
    api_version: str
    time: str
    subresource: str = ""
    paths: set[Path] = field(default_factory=set)

    @property
    def identity(self) -> tuple[str, str, str]:
        """Two entries of the same identity are one."""
        return (self.name, self.operation, self.subresource)


def read_managers(value: Json) -> list[Manager]:
    """The owners that an object names."""
    return [
        Manager(
            str(entry.get("manager", "")),
            str(entry.get("operation", "")),
            str(entry.get("apiVersion", "")),
            str(entry.get("time", "")),
            str(entry.get("subresource", "")),
            from_tree(entry.get("fieldsV1")),
        )
        for entry in value["metadata"].get("managedFields") or ()
        if isinstance(entry, dict)
    ]


def write_managers(value: Json, managers: list[Manager]) -> None:
    """Name the owners that own something."""
    entries = []
    for manager in sorted(managers, key=lambda known: (known.operation != APPLY, known.time, known.name)):
        if not manager.paths:
            continue
        entry: Json = {
            "manager": manager.name,
            "operation": manager.operation,
            "apiVersion": manager.api_version,
            "time": manager.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": to_tree(manager.paths),
        }
        if manager.subresource:
            entry["subresource"] = manager.subresource
        entries.append(entry)
    if entries:
        value["metadata"]["managedFields"] = entries
    else:
        value["metadata"].pop("managedFields", None)
