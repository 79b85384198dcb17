"""Objects as rows of the table that kubectl prints.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/response.go, asTable (v1.36.4).
"""

from dataclasses import dataclass
from typing import Any

from stowplan.apiserver.conversion import to_spoken
from stowplan.apiserver.forms.partial import partial_object
from stowplan.apiserver.forms.whole import list_head
from stowplan.apiserver.printing.columns import Printer
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import Entry, encode_json
from stowplan.clock import Clock


@dataclass(frozen=True, slots=True)
class TableForm:
    """meta.k8s.io Table."""

    resource: Resource
    version: str
    included: str
    printer: Printer
    clock: Clock

    @property
    def key(self) -> str:
        """Equal for forms that encode alike."""
        return f"table/{self.version}/{self.included}/{self.resource.api_version}"

    @property
    def content_type(self) -> str:
        """What the answer calls itself."""
        return "application/json"

    def head(self, version: int, token: str, rest: int) -> bytes:
        """Everything before the first row."""
        start = list_head("Table", f"meta.k8s.io/{self.version}", version, token, rest)
        return start + b',"columnDefinitions":' + encode_json(self.printer.definitions()) + b',"rows":['

    def item(self, entry: Entry) -> bytes:
        """One row."""
        value = entry.decoded()
        row: dict[str, Any] = {"cells": self.printer.row(value, self.clock.now())}
        if self.included == "Object":
            row["object"] = to_spoken(self.resource, value)
        elif self.included == "Metadata":
            row["object"] = partial_object(value, self.version)
        return encode_json(row)

    def object(self, entry: Entry) -> bytes:
        """One object as a table of one row."""
        return self.head(entry.version, "", 0) + self.item(entry) + b"]}"

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """A table without rows that carries a version."""
        _ = initial_end
        return self.head(version, "", 0) + b"]}"
