"""POST pods/NAME/binding: a pod gets its node, once.

Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.body import check_kind, read_object
from stowplan.apiserver.context import PODS, Api
from stowplan.apiserver.errors import Subject, bad_request, conflict, invalid, not_found, success
from stowplan.apiserver.metadata import object_metadata
from stowplan.apiserver.names import required, unsupported
from stowplan.apiserver.patch.ownership import own_changed
from stowplan.apiserver.request import Call, Reply, reply_json
from stowplan.apiserver.schema.decode import DecodeError, decode
from stowplan.apiserver.storage.entry import Entry

Json = dict[str, Any]


def bind(api: Api, call: Call) -> Reply:
    """Assign a pod to the node that a Binding names."""
    binding = read_object(api, call)
    check_kind(binding, call.resource, kind="Binding", api_version="v1")
    try:
        binding = decode(api.models.get("core_v1", "Binding"), binding).value
    except DecodeError as error:
        raise bad_request(f'Binding in version "v1" cannot be handled as a Binding: {error}') from None
    meta, target = object_metadata(binding), binding.get("target") or {}
    name = call.name or meta.get("name", "")
    if meta.setdefault("name", name) != name:
        raise bad_request("name in URL does not match name in Binding object")
    if meta.get("namespace") and meta["namespace"] != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
    causes = []
    if target.get("kind") not in (None, "", "Node"):
        causes.append(unsupported("target.kind", target["kind"], ("Node", "<empty>")))
    if not target.get("name"):
        causes.append(required("target.name"))
    if causes:
        raise invalid(Subject("", "Binding", name), causes)
    entry = api.store.table(PODS).get(call.namespace, name)
    if entry is None:
        raise not_found(Subject("", "pods", name))
    _check_preconditions(entry, meta)
    old = entry.decoded()
    pod = _assigned(api, old, meta, target["name"])
    own_changed(api, call, pod, old)
    if not call.dry_run:
        api.store.write(PODS, pod, previous=entry)
    return Reply(code=201, body=reply_json(success()).body, name=name)


def _check_preconditions(entry: Entry, meta: Json) -> None:
    subject = Subject("", "pods", entry.name)
    if meta.get("uid") and meta["uid"] != entry.uid:
        raise conflict(
            subject, f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {entry.uid}"
        )
    wanted = meta.get("resourceVersion")
    if wanted and wanted != str(entry.version):
        raise conflict(
            subject,
            f"Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: "
            f"{entry.version}",
        )


def _assigned(api: Api, old: Json, meta: Json, node: str) -> Json:
    name = old["metadata"]["name"]
    subject = Subject("", "pods/binding", name)
    if "deletionTimestamp" in old["metadata"]:
        raise conflict(subject, f"pod {name} is being deleted, cannot be assigned to a host")
    spec = old.get("spec") or {}
    if spec.get("nodeName"):
        raise conflict(subject, f'pod {name} is already assigned to node "{spec["nodeName"]}"')
    if spec.get("schedulingGates"):
        raise conflict(subject, f"pod {name} has non-empty .spec.schedulingGates")
    status = {key: member for key, member in (old.get("status") or {}).items() if key != "nominatedNodeName"}
    status["conditions"] = with_condition(
        status.get("conditions") or [], {"type": "PodScheduled", "status": "True"}, api.now()
    )
    metadata = dict(old["metadata"])
    for part in ("annotations", "labels"):
        if meta.get(part):
            metadata[part] = {**(metadata.get(part) or {}), **meta[part]}
    return {**old, "metadata": metadata, "spec": {**spec, "nodeName": node}, "status": status}


def with_condition(conditions: list[Json], wanted: Json, now: str) -> list[Json]:
    """The conditions with one set; its time changes when its status does."""
    before = next((known for known in conditions if known.get("type") == wanted["type"]), None)
    same = before is not None and before.get("status") == wanted["status"]
    since = before.get("lastTransitionTime", now) if same and before is not None else now
    made = {
        "type": wanted["type"],
        "status": wanted["status"],
        "lastProbeTime": None,
        "lastTransitionTime": since,
        **{name: member for name, member in wanted.items() if name not in ("type", "status")},
    }
    if before is None:
        return [*conditions, made]
    return [made if known is before else known for known in conditions]
