"""The metadata of objects alone."""

from dataclasses import dataclass
from typing import Any

from stowplan.apiserver.forms.whole import INITIAL_END, list_head
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import Entry, encode_json


def partial_object(value: dict[str, Any], version: str) -> dict[str, Any]:
    """The metadata of one object, as an object."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"meta.k8s.io/{version}",
        "metadata": value.get("metadata", {}),
    }


@dataclass(frozen=True, slots=True)
class PartialForm:
    """PartialObjectMetadata."""

    resource: Resource
    version: str

    @property
    def key(self) -> str:
        """Equal for forms that encode alike."""
        return f"partial/{self.version}"

    @property
    def content_type(self) -> str:
        """What the answer calls itself."""
        return f"application/json;as=PartialObjectMetadata;v={self.version};g=meta.k8s.io"

    def object(self, entry: Entry) -> bytes:
        """One object."""
        return encode_json(partial_object(entry.decoded(), self.version))

    def item(self, entry: Entry) -> bytes:
        """One item of a list."""
        return self.object(entry)

    def head(self, version: int, token: str, rest: int) -> bytes:
        """Everything before the first item."""
        api_version = f"meta.k8s.io/{self.version}"
        return list_head("PartialObjectMetadataList", api_version, version, token, rest) + b',"items":['

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """An empty object that carries a version."""
        meta: dict[str, object] = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {INITIAL_END: "true"}
        return encode_json(partial_object({"metadata": meta}, self.version))
