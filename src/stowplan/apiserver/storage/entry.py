"""One stored object, and one change of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

decode_json = msgspec.json.Decoder().decode
encode_json = msgspec.json.Encoder().encode

Key = tuple[str, str]
"""Namespace (empty for cluster-wide kinds) and name."""

NO_LABELS: dict[str, str] = {}


@dataclass(slots=True, eq=False)
class Entry:
    """An object as it is stored: its JSON, and what selectors look at."""

    namespace: str
    name: str
    uid: str
    version: int
    body: bytes
    labels: dict[str, str]
    fields: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """Where the object stands in its table."""
        return (self.namespace, self.name)

    def decoded(self) -> dict[str, Any]:
        """A fresh copy of the object."""
        value: dict[str, Any] = decode_json(self.body)
        return value


class Change(StrEnum):
    """What happened to an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(slots=True, eq=False)
class Event:
    """One change: the object after it (for a deletion: its last state) and before it."""

    version: int
    change: Change
    entry: Entry
    previous: Entry | None
