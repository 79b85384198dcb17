"""Objects as they are stored: no decoding, no encoding."""

from dataclasses import dataclass

from stowplan.apiserver.conversion import spoken_body
from stowplan.apiserver.request import JSON
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import Entry, encode_json

INITIAL_END = "k8s.io/initial-events-end"


@dataclass(frozen=True, slots=True)
class WholeForm:
    """The plain JSON form."""

    resource: Resource

    @property
    def key(self) -> str:
        """Equal for forms that encode alike."""
        return f"whole/{self.resource.api_version}"

    @property
    def content_type(self) -> str:
        """What the answer calls itself."""
        return JSON

    def object(self, entry: Entry) -> bytes:
        """One object."""
        return spoken_body(self.resource, entry)

    def item(self, entry: Entry) -> bytes:
        """One item of a list."""
        return spoken_body(self.resource, entry)

    def head(self, version: int, token: str, rest: int) -> bytes:
        """Everything before the first item."""
        kind, api_version = self.resource.list_kind, self.resource.api_version
        return list_head(kind, api_version, version, token, rest) + b',"items":['

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """An empty object that carries a version."""
        meta: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {INITIAL_END: "true"}
        return encode_json({"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": meta})


def list_head(kind: str, api_version: str, version: int, token: str, rest: int) -> bytes:
    """The members of a list before its items, without the closing brace."""
    meta: dict[str, object] = {"resourceVersion": str(version)}
    if token:
        meta["continue"] = token
        if rest:
            meta["remainingItemCount"] = rest
    return encode_json({"kind": kind, "apiVersion": api_version, "metadata": meta})[:-1]
