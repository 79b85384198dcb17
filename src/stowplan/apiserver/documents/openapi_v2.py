"""OpenAPI v2: one document for everything, for clients that do not read v3."""

from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.custom.openapi import custom_schema
from stowplan.apiserver.documents import openapi_paths as paths
from stowplan.apiserver.documents.openapi_types import Schemas
from stowplan.apiserver.documents.openapi_v3 import custom_name
from stowplan.apiserver.documents.version import GIT_VERSION
from stowplan.apiserver.resources.types import Resource

Json = dict[str, Any]

PREFIX = "#/definitions/"


def document(api: Api) -> Json:
    """The whole API."""
    schemas = Schemas(PREFIX, wrapped=False)
    meta = schemas.ref(api.models.get("meta_v1", "ObjectMeta"))
    found: Json = {}
    for resource in api.registry:
        kind = api.type_of(resource)
        if kind is not None:
            item = schemas.resource(resource, kind)
        else:
            item = PREFIX + custom_name(resource)
            schemas.found[custom_name(resource)] = custom_schema(resource, meta)
        for path, verbs in paths.resource_verbs(resource).items():
            described = found.setdefault(path, {})
            described["parameters"] = [
                {"name": name, "in": "path", "required": True, "type": "string", "description": text}
                for name, text in paths.path_parameters(path)
            ]
            for verb, subresource in verbs:
                described[paths.METHODS[verb]] = _operation(resource, verb, subresource, item)
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": GIT_VERSION},
        "paths": found,
        "definitions": schemas.found,
    }


def _operation(resource: Resource, verb: str, subresource: str, item: str) -> Json:
    parameters: list[Json] = [
        {"name": name, "in": "query", "type": kind, "description": text, "uniqueItems": True}
        for name, kind, text in paths.query_parameters(verb)
    ]
    made: Json = {
        "operationId": paths.operation_id(resource, verb, subresource),
        "produces": ["application/json"],
        "responses": {"200": {"description": "OK", "schema": {"$ref": item}}},
        "x-kubernetes-action": paths.action(verb),
        "x-kubernetes-group-version-kind": {
            "group": resource.group, "version": resource.version, "kind": resource.kind,
        },
    }  # fmt: skip
    if verb == "patch":
        made["consumes"] = paths.patch_formats(resource)
        parameters.append({"name": "body", "in": "body", "required": True, "schema": {"type": "object"}})
    elif verb in ("create", "update"):
        made["consumes"] = ["*/*"]
        parameters.append({"name": "body", "in": "body", "required": True, "schema": {"$ref": item}})
    made["parameters"] = parameters
    return made
