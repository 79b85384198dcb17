"""The paths of a resource, as far as clients look for them: which verbs, which parameters, which formats."""

from typing import Any

from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.verbs.patching import APPLY_YAML, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH

Json = dict[str, Any]

METHODS = {
    "create": "post", "get": "get", "list": "get", "update": "put", "patch": "patch", "delete": "delete",
    "deletecollection": "delete",
}  # fmt: skip
ACTIONS = {"create": "post", "update": "put"}
TEXTS = {
    "dryRun": "All: the request is checked and answered, but nothing is kept.",
    "fieldManager": "The name under which the fields that this request sets are owned.",
    "fieldValidation": "Ignore, Warn or Strict: what happens to unknown and repeated fields.",
    "force": "Take over fields that other managers own.",
    "labelSelector": "Only objects with these labels.",
    "fieldSelector": "Only objects with these fields.",
    "limit": "So many objects at most.",
    "continue": "Where the next page begins.",
    "watch": "Stay and tell of changes.",
    "resourceVersion": "The version of the collection.",
}
WRITE = ("dryRun", "fieldManager", "fieldValidation")
PARAMETERS = {
    "create": WRITE,
    "update": WRITE,
    "patch": (*WRITE, "force"),
    "list": ("labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"),
    "delete": ("dryRun",),
    "deletecollection": ("dryRun", "labelSelector", "fieldSelector"),
}
FLAGS = frozenset({"force", "watch"})


def collection_path(resource: Resource) -> str:
    """Where the collection is."""
    root = f"/apis/{resource.group}/{resource.version}" if resource.group else f"/api/{resource.version}"
    return f"{root}/namespaces/{{namespace}}/{resource.plural}" if resource.namespaced else f"{root}/{resource.plural}"


def resource_verbs(resource: Resource) -> dict[str, list[tuple[str, str]]]:
    """Paths with their (verb, subresource) pairs."""
    base = collection_path(resource)
    found: dict[str, list[tuple[str, str]]] = {}
    for verb in resource.verbs:
        if verb == "watch":
            continue
        path = base if verb in ("create", "list", "deletecollection") else f"{base}/{{name}}"
        found.setdefault(path, []).append((verb, ""))
    for below in resource.subresources.values():
        for verb in below.verbs:
            found.setdefault(f"{base}/{{name}}/{below.name}", []).append((verb, below.name))
    return found


def patch_formats(resource: Resource) -> list[str]:
    """The formats of PATCH."""
    formats = [JSON_PATCH, MERGE_PATCH, APPLY_YAML]
    return formats if resource.custom is not None else [*formats, STRATEGIC_PATCH]


def query_parameters(verb: str) -> list[tuple[str, str, str]]:
    """Name, type and text of the parameters of a verb."""
    return [
        (name, "boolean" if name in FLAGS else "integer" if name == "limit" else "string", TEXTS[name])
        for name in PARAMETERS.get(verb, ())
    ]


def path_parameters(path: str) -> list[tuple[str, str]]:
    """Name and text of the parameters of a path."""
    named = {"{namespace}": "The namespace.", "{name}": "The name of the object."}
    return [(mark[1:-1], text) for mark, text in named.items() if mark in path]


def operation_id(resource: Resource, verb: str, subresource: str) -> str:
    """A name for the operation that no other has."""
    group = "".join(part.capitalize() for part in (resource.group or "core").split(".")[:1])
    scope = "Namespaced" if resource.namespaced else ""
    return f"{verb}{group}{resource.version.capitalize()}{scope}{resource.kind}{subresource.capitalize()}"


def action(verb: str) -> str:
    """How OpenAPI documents of the API call a verb."""
    return ACTIONS.get(verb, verb)
