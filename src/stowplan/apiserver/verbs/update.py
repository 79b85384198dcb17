"""PUT of one object or of its status, and what every change goes through.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/{rest/update.go,generic/registry/store.go} (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.admission.pods import tolerate_failing_nodes
from stowplan.apiserver.body import check_kind, read_object, typed
from stowplan.apiserver.context import PODS, Api
from stowplan.apiserver.conversion import spoken_body, to_spoken, to_stored
from stowplan.apiserver.custom.instances import check_instance
from stowplan.apiserver.defaulting.table import DEFAULTERS
from stowplan.apiserver.errors import Subject, bad_request, invalid, not_found, stale
from stowplan.apiserver.metadata import bump_generation, keep_identity, object_metadata, parse_version
from stowplan.apiserver.names import invalid_value, metadata_faults
from stowplan.apiserver.patch.ownership import own_changed
from stowplan.apiserver.request import Call, Reply
from stowplan.apiserver.storage.entry import Entry, encode_json
from stowplan.apiserver.strategy.table import strategy_for
from stowplan.apiserver.validation.table import validate_change
from stowplan.apiserver.verbs.after import settle
from stowplan.apiserver.verbs.create import create_object

Json = dict[str, Any]

VERSION_REQUIRED = frozenset({"leases.coordination.k8s.io"})
"""Kinds whose writers must say which version they have seen; custom kinds too."""

SPEC_WRITERS = frozenset({"resize", "ephemeralcontainers", "approval", "finalize"})


def update(api: Api, call: Call) -> Reply:
    """Replace an object by what the body says."""
    value = read_object(api, call)
    check_kind(value, call.resource)
    warnings: list[str] = []
    value = typed(api, call, value, warnings)
    meta = object_metadata(value)
    if meta.setdefault("name", call.name) != call.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    entry = api.table(call.resource).get(call.namespace, call.name)
    if entry is None:
        strategy = strategy_for(call.resource)
        if strategy.create_on_update and not call.subresource:
            reply = create_object(api, call, value)
        else:
            raise not_found(call.resource.subject(call.name))
    else:
        _require_version(call, meta)
        reply = replace(api, call, entry, to_stored(call.resource, value))
    reply.warnings = warnings
    return reply


def replace(api: Api, call: Call, entry: Entry, value: Json, *, applied: bool = False) -> Reply:
    """Complete, check and store a new state of a known object; `value` is in the stored form."""
    old = entry.decoded()
    value = change(api, call, entry, old, value)
    if not applied:
        own_changed(api, call, value, old)
    resource = call.resource
    value["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    if value == old:
        # parity: a write that changes nothing makes no new version
        return Reply(body=encode_json(to_spoken(resource, value)))
    if call.dry_run:
        return Reply(body=encode_json(to_spoken(resource, value)))
    written = store_change(api, call, entry, value)
    return Reply(body=spoken_body(resource, written))


def store_change(api: Api, call: Call, entry: Entry, value: Json) -> Entry:
    """Store a changed object, or let it go when nothing holds it any longer."""
    resource = call.resource
    meta = value["metadata"]
    released = "deletionTimestamp" in meta and not meta.get("finalizers")
    if released and not _still_ending(resource.storage, value):
        written = api.store.delete(resource.storage, entry, value)
    else:
        written = api.store.write(resource.storage, value, previous=entry)
    settle(api, resource)
    return written


def _still_ending(storage: str, value: Json) -> bool:
    if storage == "namespaces":
        return bool((value.get("spec") or {}).get("finalizers"))
    return bool(value["metadata"].get("deletionGracePeriodSeconds"))


def change(api: Api, call: Call, entry: Entry, old: Json, value: Json) -> Json:
    """The new state of an object: the parts that this address may write, completed and checked."""
    resource, meta = call.resource, object_metadata(value)
    version = meta.get("resourceVersion")
    if version and parse_version(version, "metadata.resourceVersion") != entry.version:
        raise stale(resource.subject(entry.name))
    keep_identity(call, value, entry, old)
    value = _allowed_part(call, value, old)
    strategy = strategy_for(resource)
    if resource.custom is not None:
        check_instance(resource, value, old)
    if call.subresource == "status":
        strategy.update_status(api, value, old)
    elif call.subresource not in SPEC_WRITERS:
        default = DEFAULTERS.get(resource.storage)
        if default is not None:
            default(value)
        strategy.update(api, value, old)
        if resource.storage == PODS and not call.subresource:
            tolerate_failing_nodes(value["spec"])
    causes = [*metadata_faults(resource.storage, value["metadata"])]
    causes += validate_change(resource.storage, value, old, call.subresource)
    if causes:
        raise invalid(resource.kind_subject(entry.name), causes)
    bump_generation(call, value, old)
    return value


def _allowed_part(call: Call, value: Json, old: Json) -> Json:
    """What may be written here: not the status at the main address, only the status at /status."""
    if call.subresource == "status":
        kept = {name: member for name, member in old.items() if name not in ("metadata", "status")}
        kept["metadata"] = value["metadata"]
        if call.resource.custom is not None:
            kept["metadata"] = dict(old["metadata"])
        if "status" in value:
            kept["status"] = value["status"]
        elif call.resource.custom is None and "status" in old:
            kept["status"] = {}
        return kept
    if call.subresource == "":
        if "status" not in call.resource.subresources:
            return value
        value = {name: member for name, member in value.items() if name != "status"}
        if "status" in old:
            value["status"] = old["status"]
        return value
    return _subresource_part(call.subresource, value, old)


def _subresource_part(subresource: str, value: Json, old: Json) -> Json:
    kept = {name: member for name, member in old.items() if name != "metadata"}
    kept["metadata"] = dict(old["metadata"])
    spec, written = dict(old.get("spec") or {}), value.get("spec") or {}
    if subresource == "ephemeralcontainers":
        if "ephemeralContainers" in written:
            spec["ephemeralContainers"] = written["ephemeralContainers"]
    elif subresource == "resize":
        spec = {**written, **{name: spec[name] for name in spec if name not in ("containers", "initContainers")}}
    elif subresource == "finalize":
        spec["finalizers"] = written.get("finalizers", [])
    elif subresource == "approval":
        kept["status"] = {**(old.get("status") or {}), **(value.get("status") or {})}
        return kept
    kept["spec"] = spec
    return kept


def _require_version(call: Call, meta: Json) -> None:
    needed = call.resource.custom is not None or call.resource.storage in VERSION_REQUIRED
    if needed and not meta.get("resourceVersion"):
        cause = invalid_value("metadata.resourceVersion", "0x0", "must be specified for an update")
        subject = Subject(call.resource.group, call.resource.kind, call.name)
        raise invalid(subject, [cause])
