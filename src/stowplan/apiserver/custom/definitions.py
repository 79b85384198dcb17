"""CustomResourceDefinitions: what they may say, and what is served because of them.

Upstream: staging/src/k8s.io/apiextensions-apiserver (v1.36.4).
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.context import CUSTOM_DEFINITIONS, Api
from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import LABEL_1035, LABEL_1035_TEXT, SUBDOMAIN, invalid_value, required, unsupported
from stowplan.apiserver.resources.types import ALL_VERBS, CustomKind, Resource, Subresource

Json = dict[str, Any]

SCOPES = ("Cluster", "Namespaced")
NEW_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"


def validate_definition(definition: Json) -> Iterator[Cause]:
    """A CustomResourceDefinition."""
    spec = definition.get("spec") or {}
    names, group = spec.get("names") or {}, spec.get("group", "")
    plural = names.get("plural", "")
    if not group:
        yield required("spec.group")
    elif "." not in group or not SUBDOMAIN.match(group):
        yield invalid_value("spec.group", group, "should be a domain with at least one dot")
    for name in ("plural", "kind"):
        if not names.get(name):
            yield required(f"spec.names.{name}")
    for name in ("plural", "singular"):
        if names.get(name) and not LABEL_1035.match(names[name]):
            yield invalid_value(f"spec.names.{name}", names[name], LABEL_1035_TEXT)
    if plural and group and definition["metadata"].get("name") != f"{plural}.{group}":
        yield invalid_value(
            "metadata.name", definition["metadata"].get("name", ""), 'must be spec.names.plural+"."+spec.group'
        )
    if spec.get("scope") not in SCOPES:
        yield unsupported("spec.scope", spec.get("scope", ""), SCOPES)
    versions = spec.get("versions") or ()
    if not versions:
        yield required("spec.versions", "must have at least one version")
    elif sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        yield Cause("FieldValueInvalid", f"Invalid value: {text}", "spec.versions")
    for index, version in enumerate(versions):
        where = f"spec.versions[{index}]"
        if not LABEL_1035.match(version.get("name", "")):
            yield invalid_value(f"{where}.name", version.get("name", ""), LABEL_1035_TEXT)
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            yield required(f"{where}.schema.openAPIV3Schema", "schemas are required")
        for column, found in enumerate(version.get("additionalPrinterColumns") or ()):
            if not found.get("jsonPath", "").startswith("."):
                text = "must be a simple json path starting with ."
                yield invalid_value(f"{where}.additionalPrinterColumns[{column}].jsonPath",
                                    found.get("jsonPath", ""), text)  # fmt: skip


def establish_all(api: Api) -> None:
    """Serve what the stored definitions say, no more and no less."""
    table = api.store.table(CUSTOM_DEFINITIONS)
    present = {entry.name for entry in table.entries.values()}
    served = {known.custom.definition: known.storage for known in api.registry if known.custom is not None}
    for name, storage in served.items():
        if name not in present:
            _withdraw(api, name, storage)
    for entry in list(table.entries.values()):
        definition = entry.decoded()
        taken = _taken_by(api, definition)
        if taken == "":
            resources = tuple(custom_resources(definition))
            api.registry.replace_custom(entry.name, resources)
            for resource in resources:
                assert resource.custom is not None
                api.fields.define(resource.storage, resource.custom.selectable)
        status = _status(api, definition, taken)
        if definition.get("status") != status:
            definition["status"] = status
            api.store.write(CUSTOM_DEFINITIONS, definition, previous=entry)


def _withdraw(api: Api, name: str, storage: str) -> None:
    for entry in list(api.store.table(storage).entries.values()):
        value = entry.decoded()
        value["metadata"].pop("finalizers", None)
        api.store.delete(storage, entry, value)
    api.registry.replace_custom(name, ())
    api.hub.end_kind(storage)


def custom_resources(definition: Json) -> Iterator[Resource]:
    """One resource per served version."""
    spec = definition["spec"]
    names, group = spec["names"], spec["group"]
    versions = spec["versions"]
    for version in versions:
        if not version.get("served"):
            continue
        below = version.get("subresources") or {}
        subresources = {}
        spoken = ("get", "patch", "update")
        if "status" in below:
            subresources["status"] = Subresource(name="status", verbs=spoken, kind=names["kind"])
        if "scale" in below:
            subresources["scale"] = Subresource(
                name="scale", verbs=spoken, kind="Scale", group="autoscaling", version="v1"
            )
        schema = version["schema"]["openAPIV3Schema"]
        yield Resource(
            group=group,
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            singular=names.get("singular", names["kind"].lower()),
            namespaced=spec["scope"] == "Namespaced",
            storage=f"{names['plural']}.{group}",
            list_kind=names.get("listKind", f"{names['kind']}List"),
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            verbs=ALL_VERBS,
            subresources=subresources,
            custom=CustomKind(
                schema=schema,
                columns=tuple(version.get("additionalPrinterColumns") or ()),
                status="status" in below,
                scale=below.get("scale"),
                selectable=tuple(
                    found.get("jsonPath", "").lstrip(".") for found in version.get("selectableFields") or ()
                ),
                definition=definition["metadata"]["name"],
                versions=len(versions),
            ),
        )


def _taken_by(api: Api, definition: Json) -> str:
    """The resource that already has this address; empty when the names are free."""
    spec, own = definition["spec"], definition["metadata"]["name"]
    for known in api.registry:
        if known.group != spec["group"] or (known.custom is not None and known.custom.definition == own):
            continue
        if known.plural == spec["names"]["plural"] or known.kind == spec["names"]["kind"]:
            return known.plural
    return ""


def _status(api: Api, definition: Json, taken: str) -> Json:
    spec, old = definition["spec"], definition.get("status") or {}
    accepted = not taken
    known = {condition.get("type"): condition for condition in old.get("conditions") or ()}
    conditions = []
    for kind, reason, message in (
        ("NamesAccepted", "NoConflicts" if accepted else "PluralConflict",
         "no conflicts found" if accepted else f'"{taken}" is already in use'),
        ("Established", "InitialNamesAccepted" if accepted else "NotAccepted",
         "the initial names have been accepted" if accepted else "not all names are accepted"),
    ):  # fmt: skip
        state = "True" if accepted else "False"
        before = known.pop(kind, None)
        same = before is not None and before.get("status") == state
        since = before["lastTransitionTime"] if same and before else api.now()
        conditions.append(
            {"type": kind, "status": state, "lastTransitionTime": since, "reason": reason, "message": message}
        )
    stored = list(old.get("storedVersions") or ())
    storage = next((version["name"] for version in spec["versions"] if version.get("storage")), "")
    if storage and storage not in stored:
        stored.append(storage)
    return {
        "conditions": [*conditions, *known.values()],
        "acceptedNames": dict(spec["names"]) if accepted else {"plural": "", "kind": ""},
        "storedVersions": stored,
    }
