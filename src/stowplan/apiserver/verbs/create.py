"""POST on a collection.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go, Create (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.admission.namespaces import admit_create
from stowplan.apiserver.admission.pods import admit_pod
from stowplan.apiserver.admission.storage import admit_claim
from stowplan.apiserver.body import check_kind, read_object, typed
from stowplan.apiserver.context import Api
from stowplan.apiserver.conversion import spoken_body, to_spoken, to_stored
from stowplan.apiserver.custom.instances import check_instance
from stowplan.apiserver.defaulting.table import DEFAULTERS
from stowplan.apiserver.errors import already_exists, bad_request, invalid
from stowplan.apiserver.metadata import fill_new, generated_name, object_metadata
from stowplan.apiserver.names import metadata_faults
from stowplan.apiserver.patch.ownership import own_created
from stowplan.apiserver.request import Call, Reply
from stowplan.apiserver.storage.entry import encode_json
from stowplan.apiserver.strategy.table import strategy_for
from stowplan.apiserver.validation.table import validate_new
from stowplan.apiserver.verbs.after import settle

MAX_NAME_ATTEMPTS = 8


def create(api: Api, call: Call) -> Reply:
    """Store a new object."""
    value = read_object(api, call)
    check_kind(value, call.resource)
    warnings: list[str] = []
    value = typed(api, call, value, warnings)
    if object_metadata(value).get("resourceVersion"):
        # such an object was read somewhere, not made
        raise bad_request("resourceVersion should not be set on objects to be created")
    reply = create_object(api, call, value)
    reply.warnings = warnings
    return reply


def create_object(api: Api, call: Call, value: dict[str, Any], *, applied: bool = False) -> Reply:
    """Complete, check and store an object that has the right types."""
    resource = call.resource
    meta = object_metadata(value)
    named = bool(meta.get("name"))
    admit_create(api, call, meta.get("name") or meta.get("generateName") or "")
    fill_new(api, call, value)
    complete_new(api, call, value)
    table = api.table(resource)
    name = meta.get("name", "")
    known = table.get(meta.get("namespace", ""), name)
    if known is not None:
        if named:
            raise already_exists(resource.subject(name), leaving="deletionTimestamp" in known.decoded()["metadata"])
        meta["name"] = _other_name(api, call, meta["generateName"])
    if not applied:
        own_created(api, call, value)
    if call.dry_run:
        return Reply(code=201, body=encode_json(to_spoken(resource, value)), name=meta["name"])
    entry = api.store.write(resource.storage, value, previous=None)
    settle(api, resource)
    return Reply(code=201, body=spoken_body(resource, entry), name=entry.name)


def complete_new(api: Api, call: Call, value: dict[str, Any]) -> None:
    """Defaults, admission, the strategy of the kind, validation: in this order. Works on the stored form."""
    resource = call.resource
    stored = to_stored(resource, value)
    if stored is not value:
        value.clear()
        value.update(stored)
    if resource.custom is not None:
        check_instance(resource, value, None)
    default = DEFAULTERS.get(resource.storage)
    if default is not None:
        default(value)
    if resource.storage == "pods":
        admit_pod(api, call, value)
    elif resource.storage == "persistentvolumeclaims":
        admit_claim(api, value)
    strategy_for(resource).create(api, value)
    name = value["metadata"].get("name", "")
    causes = [*metadata_faults(resource.storage, value["metadata"]), *validate_new(resource.storage, value)]
    if causes:
        raise invalid(resource.kind_subject(name), causes)


def _other_name(api: Api, call: Call, prefix: str) -> str:
    table = api.table(call.resource)
    for _ in range(MAX_NAME_ATTEMPTS):
        name = generated_name(prefix)
        if table.get(call.namespace, name) is None:
            return name
    raise already_exists(call.resource.subject(prefix))
