"""GET, PUT and PATCH of NAME/scale: how many replicas, without the rest of the object.

Upstream: pkg/registry/apps/deployment/storage/storage.go, ScaleREST (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.body import check_depth, check_kind, parse_json, read_object
from stowplan.apiserver.context import Api
from stowplan.apiserver.errors import bad_request, invalid, not_found, stale, unsupported_media_type
from stowplan.apiserver.names import invalid_value
from stowplan.apiserver.patch.json_patch import apply_json_patch
from stowplan.apiserver.patch.merge import apply_merge_patch
from stowplan.apiserver.printing.columns import NONE, joined, selector_text
from stowplan.apiserver.request import Call, Reply, reply_json
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.schema.decode import DecodeError, decode
from stowplan.apiserver.storage.entry import Entry
from stowplan.apiserver.verbs.patching import FORMATS, JSON_PATCH
from stowplan.apiserver.verbs.update import replace

Json = dict[str, Any]

SCALE_VERSION = "autoscaling/v1"


def scale(api: Api, call: Call) -> Reply:
    """Read or write the number of replicas."""
    entry = api.table(call.resource).get(call.namespace, call.name)
    if entry is None:
        raise not_found(call.resource.subject(call.name))
    present = scale_of(call.resource, entry.decoded())
    if call.verb == "get":
        return reply_json(present)
    wanted = read_object(api, call) if call.verb == "update" else _patched(call, present)
    check_kind(wanted, call.resource, kind="Scale", api_version=SCALE_VERSION)
    try:
        wanted = decode(api.models.get("autoscaling_v1", "Scale"), wanted).value
    except DecodeError as error:
        raise bad_request(f'Scale in version "v1" cannot be handled as a Scale: {error}') from None
    return _write(api, call, entry, wanted)


def _patched(call: Call, present: Json) -> Json:
    kind = call.content_type.partition(";")[0].strip().lower()
    if kind not in FORMATS[:3]:
        raise unsupported_media_type(FORMATS[:3])
    change = parse_json(call.body)
    check_depth(change)
    value = apply_json_patch(present, change) if kind == JSON_PATCH else apply_merge_patch(present, change)
    if not isinstance(value, dict):
        raise bad_request("the patch does not leave an object")
    return value


def _write(api: Api, call: Call, entry: Entry, wanted: Json) -> Reply:
    meta = wanted.get("metadata") or {}
    if meta.get("name") not in (None, "", call.name):
        raise bad_request(f"the name of the object ({meta['name']}) does not match the name on the URL ({call.name})")
    version = meta.get("resourceVersion")
    if version and version != str(entry.version):
        raise stale(call.resource.subject(call.name))
    replicas = (wanted.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid(call.resource.kind_subject(call.name), [cause])
    value = entry.decoded()
    _put(value, _paths(call.resource)[0], replicas)
    main = Call(
        user=call.user, verb=call.verb, resource=call.resource, namespace=call.namespace, name=call.name,
        subresource="", query=call.query, accept=call.accept, content_type=call.content_type, body=call.body,
        agent=call.agent,
    )  # fmt: skip
    replace(api, main, entry, value)
    stored = api.table(call.resource).get(call.namespace, call.name) or entry
    return reply_json(scale_of(call.resource, value if call.dry_run else stored.decoded()))


def scale_of(resource: Resource, value: Json) -> Json:
    """The Scale of an object."""
    wanted, found, selector = _paths(resource)
    meta = value["metadata"]
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Json = {"replicas": _get(value, found) or 0}
    text = _selector(_get(value, selector)) if selector else ""
    if text:
        status["selector"] = text
    return {
        "kind": "Scale",
        "apiVersion": SCALE_VERSION,
        "metadata": {name: meta[name] for name in kept if name in meta},
        "spec": {"replicas": _get(value, wanted) or 0},
        "status": status,
    }


def _paths(resource: Resource) -> tuple[list[str], list[str], list[str]]:
    if resource.custom is None or resource.custom.scale is None:
        return ["spec", "replicas"], ["status", "replicas"], ["spec", "selector"]
    found = resource.custom.scale
    texts = [found.get(name, "") for name in ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")]
    wanted, seen, selector = ([part for part in text.split(".") if part] for text in texts)
    return wanted, seen, selector


def _selector(selector: Any) -> str:
    if isinstance(selector, str):
        return selector
    if not isinstance(selector, dict):
        return ""
    plain = not ({"matchLabels", "matchExpressions"} & selector.keys())
    text = joined(selector) if plain else selector_text(selector)
    return "" if text == NONE else text


def _get(value: Any, path: list[str]) -> Any:
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _put(value: Json, path: list[str], member: Any) -> None:
    for part in path[:-1]:
        value = value.setdefault(part, {})
    value[path[-1]] = member
