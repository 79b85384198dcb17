"""DELETE of one object and of a collection: grace, finalizers, preconditions, propagation.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/{rest/delete.go,generic/registry/store.go} (v1.36.4).
"""

from calendar import timegm
from dataclasses import dataclass
from time import strptime
from typing import Any

import msgspec

from stowplan.apiserver.admission.namespaces import PROTECTED
from stowplan.apiserver.body import read_object
from stowplan.apiserver.context import NAMESPACES, PODS, Api, timestamp
from stowplan.apiserver.conversion import to_spoken
from stowplan.apiserver.errors import ApiError, bad_request, conflict, forbidden, not_found, success
from stowplan.apiserver.request import Call, Reply, check_dry_run, integer_parameter, reply_json
from stowplan.apiserver.storage.entry import Entry, encode_json
from stowplan.apiserver.verbs.after import settle
from stowplan.apiserver.verbs.listing import select

Json = dict[str, Any]

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"
POLICIES = ("Background", "Foreground", "Orphan")
RETURNS_OBJECT = frozenset(
    {"pods", "services", "serviceaccounts", "persistentvolumeclaims", "persistentvolumes", "podtemplates",
     "resourcequotas"}
)  # fmt: skip
"""Kinds whose deletion answers with the last state of the object."""


class Preconditions(msgspec.Struct):
    """What must be true of the object for the deletion to happen."""

    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815 (wire name)


class DeleteOptions(msgspec.Struct):
    """The body of a deletion."""

    kind: str | None = None
    apiVersion: str | None = None  # noqa: N815 (wire name)
    gracePeriodSeconds: int | None = None  # noqa: N815 (wire name)
    preconditions: Preconditions | None = None
    propagationPolicy: str | None = None  # noqa: N815 (wire name)
    orphanDependents: bool | None = None  # noqa: N815 (wire name)
    dryRun: list[str] | None = None  # noqa: N815 (wire name)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a deletion left: the object's last or present state, and whether it is gone."""

    value: Json
    gone: bool


def delete(api: Api, call: Call) -> Reply:
    """Delete one object, now or in due time."""
    options = read_options(api, call)
    entry = api.table(call.resource).get(call.namespace, call.name)
    if entry is None:
        raise not_found(call.resource.subject(call.name))
    outcome = delete_entry(api, call, entry, options)
    if not outcome.gone or call.resource.storage in RETURNS_OBJECT:
        return reply_json(to_spoken(call.resource, outcome.value))
    return reply_json(success(call.resource.subject(entry.name), entry.uid))


def delete_collection(api: Api, call: Call) -> Reply:
    """Delete all objects that a selector picks."""
    options = read_options(api, call)
    chosen = list(select(api, call))
    items = [
        to_spoken(call.resource, delete_entry(api, call, entry, options).value)
        for entry in chosen
        if api.table(call.resource).get(entry.namespace, entry.name) is entry
    ]
    body = {
        "kind": call.resource.list_kind,
        "apiVersion": call.resource.api_version,
        "metadata": {"resourceVersion": str(api.store.version)},
        "items": items,
    }
    return Reply(body=encode_json(body))


def read_options(api: Api, call: Call) -> DeleteOptions:
    """Options of the body, or of the query when there is no body."""
    options = DeleteOptions()
    if call.body.strip():
        try:
            options = msgspec.convert(read_object(api, call), DeleteOptions)
        except msgspec.ValidationError as error:
            raise bad_request(f"DeleteOptions: {error}") from None
    grace = integer_parameter(call.query, "gracePeriodSeconds")
    if options.gracePeriodSeconds is None:
        options.gracePeriodSeconds = grace
    if options.propagationPolicy is None:
        options.propagationPolicy = call.query.get("propagationPolicy") or None
    if options.orphanDependents is None and call.query.get("orphanDependents"):
        options.orphanDependents = call.query["orphanDependents"].lower() in ("true", "1")
    check_options(options)
    return options


def check_options(options: DeleteOptions) -> None:
    """Refuse options that contradict themselves."""
    if options.kind not in (None, "DeleteOptions"):
        raise bad_request(f"the kind in the data ({options.kind}) does not match the expected kind (DeleteOptions)")
    check_dry_run({"dryRun": (options.dryRun or [""])[0]})
    policy = options.propagationPolicy
    if policy is not None and policy not in POLICIES:
        raise ApiError(
            422,
            f'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "{policy}": '
            'supported values: "Background", "Foreground", "Orphan"',
        )
    if policy is not None and options.orphanDependents is not None:
        raise ApiError(
            422,
            'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "'
            f'{policy}": orphanDependents and deletionPropagation cannot be both set',
        )
    if options.gracePeriodSeconds is not None and abs(options.gracePeriodSeconds) > 2**31:
        raise bad_request("gracePeriodSeconds: out of range")


def delete_entry(api: Api, call: Call, entry: Entry, options: DeleteOptions) -> Outcome:
    """Delete one stored object by the rules of its kind."""
    storage = call.resource.storage
    if storage == NAMESPACES and entry.name in PROTECTED:
        raise forbidden(call.resource.subject(entry.name), "this namespace may not be deleted")
    _check_preconditions(call, entry, options)
    value = entry.decoded()
    meta = value["metadata"]
    before = encode_json(value)
    _set_propagation(meta, options)
    grace = _grace(api, storage, value, options)
    if storage == NAMESPACES:
        _begin_termination(api, value)
        held = bool(meta.get("finalizers") or value["spec"].get("finalizers"))
    else:
        held = bool(meta.get("finalizers")) or grace > 0
    if call.dry_run or options.dryRun:
        return Outcome(value, gone=not held)
    if not held:
        if storage == PODS:
            meta.setdefault("deletionTimestamp", api.now())
            meta["deletionGracePeriodSeconds"] = 0
        api.store.delete(storage, entry, value)
        settle(api, call.resource)
        return Outcome(value, gone=True)
    _mark(api, value, grace)
    if encode_json(value) != before:
        api.store.write(storage, value, previous=entry)
    return Outcome(value, gone=False)


def _check_preconditions(call: Call, entry: Entry, options: DeleteOptions) -> None:
    wanted = options.preconditions
    if wanted is None:
        return
    subject = call.resource.subject(entry.name)
    if wanted.uid is not None and wanted.uid != entry.uid:
        raise conflict(
            subject,
            f"the UID in the precondition ({wanted.uid}) does not match the UID in record ({entry.uid}). "
            "The object might have been deleted and then recreated",
        )
    if wanted.resourceVersion is not None and wanted.resourceVersion != str(entry.version):
        raise conflict(
            subject,
            f"the ResourceVersion in the precondition ({wanted.resourceVersion}) does not match the ResourceVersion "
            f"in record ({entry.version}). The object might have been modified",
        )


def _set_propagation(meta: Json, options: DeleteOptions) -> None:
    policy = options.propagationPolicy
    if policy is None and options.orphanDependents is not None:
        policy = "Orphan" if options.orphanDependents else "Background"
    if policy is None:
        return
    finalizers = [name for name in meta.get("finalizers", ()) if name not in (FOREGROUND, ORPHAN)]
    if policy == "Foreground":
        finalizers.append(FOREGROUND)
    elif policy == "Orphan":
        finalizers.append(ORPHAN)
    if finalizers:
        meta["finalizers"] = finalizers
    else:
        meta.pop("finalizers", None)


def _grace(api: Api, storage: str, value: Json, options: DeleteOptions) -> int:
    """Seconds that the object still has; zero: it may go at once."""
    if storage != PODS:
        return 0
    asked = options.gracePeriodSeconds
    if asked is not None and asked < 0:
        asked = 1
    meta = value["metadata"]
    if "deletionTimestamp" in meta:
        pending: int = meta.get("deletionGracePeriodSeconds", 0)
        if not pending or asked is None or asked >= pending:
            return pending
        # parity: a grace period can only become shorter; the deadline moves with it, but not into the past
        deadline = timegm(strptime(meta["deletionTimestamp"], "%Y-%m-%dT%H:%M:%SZ")) - pending + asked
        if deadline < api.clock.now():
            deadline, asked = int(api.clock.now()), min(asked, 1)
        meta["deletionTimestamp"] = timestamp(deadline)
        meta["deletionGracePeriodSeconds"] = asked
        return asked
    spec = value.get("spec", {})
    if not spec.get("nodeName") or value.get("status", {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    grace = spec.get("terminationGracePeriodSeconds", 0) if asked is None else asked
    return max(grace, 0) if grace >= 0 else 1


def _mark(api: Api, value: Json, grace: int) -> None:
    meta = value["metadata"]
    if "deletionTimestamp" in meta:
        return
    meta["deletionTimestamp"] = timestamp(api.clock.now() + grace)
    meta["deletionGracePeriodSeconds"] = grace
    if meta.get("generation"):
        meta["generation"] += 1


def _begin_termination(api: Api, namespace: Json) -> None:
    meta = namespace["metadata"]
    if "deletionTimestamp" not in meta:
        meta["deletionTimestamp"] = api.now()
    namespace.setdefault("status", {})["phase"] = "Terminating"
    namespace.setdefault("spec", {})
