"""PATCH in all its formats.

Upstream: staging/src/k8s.io/apiserver/pkg/endpoints/handlers/patch.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.body import check_depth, check_kind, parse_json, parse_yaml, typed
from stowplan.apiserver.context import Api
from stowplan.apiserver.conversion import to_spoken, to_stored
from stowplan.apiserver.errors import ApiError, bad_request, not_found, unsupported_media_type
from stowplan.apiserver.metadata import object_metadata
from stowplan.apiserver.patch.apply import apply_configuration
from stowplan.apiserver.patch.json_patch import apply_json_patch
from stowplan.apiserver.patch.merge import apply_merge_patch
from stowplan.apiserver.patch.ownership import merge_type
from stowplan.apiserver.patch.strategic import apply_strategic_patch
from stowplan.apiserver.request import Call, Reply, boolean_parameter
from stowplan.apiserver.storage.entry import Entry
from stowplan.apiserver.verbs.create import create_object
from stowplan.apiserver.verbs.update import replace

Json = dict[str, Any]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_YAML = "application/apply-patch+yaml"
FORMATS = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_YAML)


def patch(api: Api, call: Call) -> Reply:
    """Change an object by parts."""
    kind = call.content_type.partition(";")[0].strip().lower()
    if kind not in FORMATS or (kind == STRATEGIC_PATCH and call.resource.custom is not None):
        offered = FORMATS if call.resource.custom is None else (JSON_PATCH, MERGE_PATCH, APPLY_YAML)
        raise unsupported_media_type(offered)
    if kind == APPLY_YAML:
        return _apply(api, call)
    if boolean_parameter(call.query, "force"):
        raise ApiError(422, "force: Forbidden: may not be specified for non-apply patch")
    entry = api.table(call.resource).get(call.namespace, call.name)
    if entry is None:
        raise not_found(call.resource.subject(call.name))
    change = parse_json(call.body)
    check_depth(change)
    old = to_spoken(call.resource, entry.decoded())
    if kind == JSON_PATCH:
        value = apply_json_patch(old, change)
    elif kind == MERGE_PATCH:
        if not isinstance(change, dict):
            raise bad_request("error decoding patch: a merge patch is an object")
        value = apply_merge_patch(old, change)
    else:
        value = apply_strategic_patch(old, change, api.type_of(call.resource))
    return _store(api, call, entry, value)


def _store(api: Api, call: Call, entry: Entry, value: Any, *, applied: bool = False) -> Reply:
    if not isinstance(value, dict):
        raise bad_request("the patch does not leave an object")
    check_kind(value, call.resource)
    check_depth(value)
    warnings: list[str] = []
    value = typed(api, call, value, warnings)
    meta = object_metadata(value)
    meta.setdefault("name", call.name)
    reply = replace(api, call, entry, to_stored(call.resource, value), applied=applied)
    reply.warnings = warnings
    return reply


def _apply(api: Api, call: Call) -> Reply:
    manager = call.query.get("fieldManager", "")
    if not manager:
        raise ApiError(
            422, 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
        )
    config = parse_yaml(call.body)
    if not isinstance(config, dict):
        raise bad_request("error decoding YAML: an applied configuration is an object")
    check_depth(config)
    if not config.get("apiVersion") or not config.get("kind"):
        raise bad_request("apiVersion and kind must be set in an applied configuration")
    check_kind(config, call.resource)
    warnings: list[str] = []
    config = typed(api, call, config, warnings)
    meta = object_metadata(config)
    if meta.setdefault("name", call.name) != call.name:
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    if meta.pop("managedFields", None):
        raise bad_request("metadata.managedFields must be nil")
    entry = api.table(call.resource).get(call.namespace, call.name)
    live = to_spoken(call.resource, entry.decoded()) if entry is not None else None
    if entry is None and call.subresource:
        raise not_found(call.resource.subject(call.name))
    merged = apply_configuration(
        live,
        config,
        merge_type(api, call),
        manager=manager,
        api_version=call.resource.api_version,
        subresource=call.subresource,
        now=api.now(),
        force=boolean_parameter(call.query, "force"),
    )
    if "resourceVersion" not in meta:
        merged["metadata"].pop("resourceVersion", None)
    if entry is None:
        reply = create_object(api, call, merged, applied=True)
    else:
        merged["metadata"]["namespace"] = entry.namespace
        if not entry.namespace:
            merged["metadata"].pop("namespace")
        reply = _store(api, call, entry, merged, applied=True)
    reply.warnings += [text for text in warnings if text not in reply.warnings]
    return reply
