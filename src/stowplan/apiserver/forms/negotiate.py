"""Picks the form that a request's Accept header asks for.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/negotiation (v1.36.4).
"""

from typing import Protocol

from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import ApiError, not_acceptable
from stowplan.apiserver.forms.partial import PartialForm
from stowplan.apiserver.forms.table import TableForm
from stowplan.apiserver.forms.whole import WholeForm
from stowplan.apiserver.printing.table import printer_for
from stowplan.apiserver.request import Call, Reply
from stowplan.apiserver.storage.entry import Entry

OFFERED = ("application/json",)
META_GROUP = "meta.k8s.io"
META_VERSIONS = ("v1", "v1beta1")
INCLUDED = ("None", "Metadata", "Object")


class ListForm(Protocol):
    """How a collection is answered."""

    @property
    def content_type(self) -> str:
        """What the answer calls itself."""

    def head(self, version: int, token: str, rest: int) -> bytes:
        """Everything before the first item."""

    def item(self, entry: Entry) -> bytes:
        """One item."""


class WatchForm(Protocol):
    """How a watched object is answered."""

    @property
    def key(self) -> str:
        """Equal for forms that encode alike."""

    def object(self, entry: Entry) -> bytes:
        """One object."""

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """An empty object that carries a version."""


AnyForm = WholeForm | PartialForm | TableForm


def choose(api: Api, call: Call) -> AnyForm:
    """The first form of the Accept header that we speak."""
    for accepted in call.accept.split(",") if call.accept else ("*/*",):
        kind, *parameters = (part.strip() for part in accepted.split(";"))
        if kind.lower() not in ("application/json", "application/*", "*/*"):
            continue
        named = dict(part.split("=", 1) for part in parameters if "=" in part)
        wanted = named.get("as", "")
        if not wanted:
            return WholeForm(call.resource)
        if named.get("g") != META_GROUP or named.get("v") not in META_VERSIONS:
            continue
        version = named["v"]
        if wanted == "Table":
            return _table(api, call, version)
        if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return PartialForm(call.resource, version)
    raise not_acceptable(OFFERED)


def _table(api: Api, call: Call, version: str) -> TableForm:
    included = call.query.get("includeObject") or "Metadata"
    if included not in INCLUDED:
        raise ApiError(
            400, f'includeObject: Unsupported value: "{included}": supported values: "Metadata", "None", "Object"'
        )
    return TableForm(call.resource, version, included, printer_for(call.resource), api.clock)


def list_form(api: Api, call: Call) -> ListForm:
    """The form of a collection."""
    return choose(api, call)


def watch_form(api: Api, call: Call) -> WatchForm:
    """The form of a watched object."""
    return choose(api, call)


def single_reply(api: Api, call: Call, entry: Entry) -> Reply:
    """One object in the form asked for."""
    form = choose(api, call)
    return Reply(body=form.object(entry), content_type=form.content_type)
