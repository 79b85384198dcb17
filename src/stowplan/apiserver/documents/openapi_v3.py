"""OpenAPI v3: an index, and a document per group version. kubectl validates, explains and patches by it."""

import hashlib
from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.custom.openapi import custom_schema
from stowplan.apiserver.documents import openapi_paths as paths
from stowplan.apiserver.documents.openapi_types import META, Schemas, list_schema
from stowplan.apiserver.documents.version import GIT_VERSION
from stowplan.apiserver.resources.types import Resource

Json = dict[str, Any]

PREFIX = "#/components/schemas/"


def index(api: Api) -> Json:
    """Which documents there are; an address changes when its document may have."""
    found: dict[str, Json] = {}
    for group, versions in api.registry.groups().items():
        for version in versions:
            root = f"apis/{group}/{version}" if group else f"api/{version}"
            custom = any(known.custom for known in api.registry.in_version(group, version))
            state = f"{GIT_VERSION}/{root}/{api.registry.generation if custom else 0}"
            digest = hashlib.sha256(state.encode()).hexdigest()[:32].upper()
            found[root] = {"serverRelativeURL": f"/openapi/v3/{root}?hash={digest}"}
    return {"paths": found}


def document(api: Api, group: str, version: str) -> Json:
    """The document of one group version."""
    schemas = Schemas(PREFIX, wrapped=True)
    list_meta = schemas.ref(api.models.get("meta_v1", "ListMeta"))
    schemas.ref(api.models.get("meta_v1", "DeleteOptions"))
    schemas.ref(api.models.get("meta_v1", "Status"))
    found: Json = {}
    for resource in api.registry.in_version(group, version):
        item = schema_address(api, schemas, resource)
        listed = f"{item[len(PREFIX) :]}List"
        schemas.found.setdefault(listed, list_schema(item, resource.list_kind, list_meta))
        for path, verbs in paths.resource_verbs(resource).items():
            described = found.setdefault(path, {})
            described["parameters"] = [
                {"name": name, "in": "path", "required": True, "description": text, "schema": {"type": "string"}}
                for name, text in paths.path_parameters(path)
            ]
            for verb, subresource in verbs:
                described[paths.METHODS[verb]] = _operation(resource, verb, subresource, item, PREFIX + listed)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": found,
        "components": {
            "schemas": schemas.found,
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def schema_address(api: Api, schemas: Schemas, resource: Resource) -> str:
    """Where the schema of a resource is; it is collected on the way."""
    kind = api.type_of(resource)
    if kind is not None:
        return schemas.resource(resource, kind)
    name = custom_name(resource)
    meta = schemas.ref(api.models.get("meta_v1", "ObjectMeta"))
    schemas.found[name] = custom_schema(resource, meta)
    return PREFIX + name


def custom_name(resource: Resource) -> str:
    """The name of a custom kind's schema."""
    backwards = ".".join(reversed(resource.group.split(".")))
    return f"{backwards}.{resource.version}.{resource.kind}"


def _operation(resource: Resource, verb: str, subresource: str, item: str, listed: str) -> Json:
    spoken = resource.subresources.get(subresource)
    mark = {
        "group": (spoken.group if spoken and spoken.group else resource.group),
        "version": (spoken.version if spoken and spoken.version else resource.version),
        "kind": spoken.kind if spoken else resource.kind,
    }
    answered = listed if verb == "list" else item
    made: Json = {
        "operationId": paths.operation_id(resource, verb, subresource),
        "tags": [f"{resource.group or 'core'}_{resource.version}"],
        "parameters": [
            {"name": name, "in": "query", "description": text, "schema": {"type": kind, "uniqueItems": True}}
            for name, kind, text in paths.query_parameters(verb)
        ],
        "responses": {
            "200": {"description": "OK", "content": {"application/json": {"schema": {"$ref": answered}}}},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": paths.action(verb),
        "x-kubernetes-group-version-kind": mark,
    }
    if verb == "patch":
        patch = {"schema": {"type": "object", "description": f"A patch. See {META}.Patch."}}
        made["requestBody"] = {"content": dict.fromkeys(paths.patch_formats(resource), patch), "required": True}
    elif verb in ("create", "update"):
        made["requestBody"] = {"content": {"*/*": {"schema": {"$ref": item}}}, "required": True}
    return made
