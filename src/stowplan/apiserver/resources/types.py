"""What the server knows about one served resource."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stowplan.apiserver.errors import Subject

ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """One address below an object, and the kind that it speaks."""

    name: str
    verbs: tuple[str, ...]
    kind: str
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomKind:
    """What a CustomResourceDefinition says about one of its versions."""

    schema: Mapping[str, Any]
    columns: tuple[Mapping[str, Any], ...]
    status: bool
    scale: Mapping[str, Any] | None
    selectable: tuple[str, ...]
    definition: str
    versions: int
    """How many versions of the kind are served."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Resource:
    """One kind in one version. `storage` is shared by all versions of a kind."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    storage: str
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    model: tuple[str, str] | None = None
    custom: CustomKind | None = None

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def subject(self, name: str = "") -> Subject:
        """This resource as the subject of an answer."""
        return Subject(self.group, self.plural, name)

    def kind_subject(self, name: str = "") -> Subject:
        """This kind as the subject of an answer about the content of an object."""
        return Subject(self.group, self.kind, name)
