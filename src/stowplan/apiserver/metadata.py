"""What the server itself writes into the metadata of objects, and what writers may not change there.

Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/{create,update,meta}.go (v1.36.4).
"""

import random
from typing import Any

from stowplan.apiserver.context import Api, new_uid
from stowplan.apiserver.errors import Cause, bad_request, conflict, invalid
from stowplan.apiserver.names import immutable, invalid_value
from stowplan.apiserver.request import Call
from stowplan.apiserver.storage.entry import Entry

SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
SUFFIX_LENGTH = 5
LONGEST_PREFIX = 58

WITH_GENERATION = frozenset(
    {
        "pods", "replicationcontrollers", "deployments.apps", "replicasets.apps", "statefulsets.apps",
        "daemonsets.apps", "jobs.batch", "cronjobs.batch", "poddisruptionbudgets.policy",
        "customresourcedefinitions.apiextensions.k8s.io", "ingresses.networking.k8s.io",
        "networkpolicies.networking.k8s.io", "ingressclasses.networking.k8s.io",
        "endpointslices.discovery.k8s.io", "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", "priorityclasses.scheduling.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io", "resourceslices.resource.k8s.io",
        "deviceclasses.resource.k8s.io",
    }
)  # fmt: skip
"""Kinds that count the changes of their specification."""

OUTSIDE_SPEC = frozenset({"metadata", "status", "apiVersion", "kind"})


def counts_generations(call: Call) -> bool:
    """True for kinds that carry metadata.generation."""
    return call.resource.custom is not None or call.resource.storage in WITH_GENERATION


def object_metadata(value: dict[str, Any]) -> dict[str, Any]:
    """The metadata of an object, made when missing."""
    meta = value.get("metadata")
    if meta is None:
        meta = value["metadata"] = {}
    if not isinstance(meta, dict):
        raise bad_request("json: cannot unmarshal value into Go struct field .metadata of type v1.ObjectMeta")
    return meta


def fill_new(api: Api, call: Call, value: dict[str, Any]) -> None:
    """Give a new object its identity."""
    meta = object_metadata(value)
    place(call, meta)
    if not meta.get("name") and meta.get("generateName"):
        meta["name"] = generated_name(meta["generateName"])
    for name in ("resourceVersion", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
        meta.pop(name, None)
    meta["uid"] = new_uid()
    meta["creationTimestamp"] = api.now()
    if counts_generations(call):
        meta["generation"] = 1


def generated_name(prefix: str) -> str:
    """A name that nobody has, most likely."""
    # perf: a suffix is no secret; the system's random source costs twenty times as much
    return prefix[:LONGEST_PREFIX] + "".join(random.choices(SUFFIX_LETTERS, k=SUFFIX_LENGTH))  # noqa: S311


def place(call: Call, meta: dict[str, Any]) -> None:
    """Check that the object's namespace is the one of the address."""
    if not call.resource.namespaced:
        if meta.get("namespace"):
            raise bad_request("namespace must be empty for a cluster-scoped object")
        meta.pop("namespace", None)
        return
    if not meta.get("namespace"):
        meta["namespace"] = call.namespace
    elif meta["namespace"] != call.namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def keep_identity(call: Call, value: dict[str, Any], entry: Entry, old: dict[str, Any]) -> None:
    """Carry over what a writer cannot change, and refuse a writer that tries."""
    meta, kept = object_metadata(value), old["metadata"]
    place(call, meta)
    subject = call.resource.subject(entry.name)
    uid = meta.get("uid")
    if uid and uid != kept["uid"]:
        raise conflict(
            subject,
            f"Precondition failed: UID in precondition: {uid}, UID in object meta: {kept['uid']}",
        )
    causes: list[Cause] = []
    if meta.get("name", entry.name) != entry.name:
        causes.append(immutable("metadata.name", meta["name"]))
    if "deletionTimestamp" in kept:
        added = set(meta.get("finalizers") or ()) - set(kept.get("finalizers") or ())
        if added:
            shown = ", ".join(f'"{name}"' for name in sorted(added))
            causes.append(
                Cause(
                    "FieldValueForbidden",
                    f"Forbidden: no new finalizers can be added if the object is being deleted, found new "
                    f"finalizers []string{{{shown}}}",
                    "metadata.finalizers",
                )
            )
    if meta.get("creationTimestamp", kept.get("creationTimestamp")) != kept.get("creationTimestamp"):
        causes.append(immutable("metadata.creationTimestamp", meta["creationTimestamp"]))
    if causes:
        raise invalid(call.resource.kind_subject(entry.name), causes)
    for name in (
        "uid", "name", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
        "generateName",
    ):  # fmt: skip
        if name in kept:
            meta[name] = kept[name]
        else:
            meta.pop(name, None)
    meta.pop("selfLink", None)


def bump_generation(call: Call, value: dict[str, Any], old: dict[str, Any]) -> None:
    """Count a change of anything but metadata and status."""
    if not counts_generations(call):
        return
    has_status = "status" in call.resource.subresources
    outside = OUTSIDE_SPEC if has_status else OUTSIDE_SPEC - {"status"}
    names = (value.keys() | old.keys()) - outside
    if any(value.get(name) != old.get(name) for name in names):
        value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def parse_version(text: str, field: str = "resourceVersion") -> int:
    """A resource version as a number."""
    if not text.isascii() or not text.isdecimal() or len(text) > 19:
        cause = invalid_value(field, text, f'strconv.ParseUint: parsing "{text}": invalid syntax')
        raise bad_request(f"invalid resource version: {field}: {cause.message}")
    return int(text)
