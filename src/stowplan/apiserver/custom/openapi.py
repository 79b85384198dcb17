"""The schema of a custom kind, as OpenAPI documents show it."""

from typing import Any

from stowplan.apiserver.resources.types import Resource

Json = dict[str, Any]


def custom_schema(resource: Resource, object_meta: str) -> Json:
    """The definition's schema with the members that every object has."""
    assert resource.custom is not None
    schema: Json = {**resource.custom.schema}
    schema["type"] = "object"
    schema["properties"] = {
        **(schema.get("properties") or {}),
        "apiVersion": {"type": "string", "description": "The version of the schema of this object."},
        "kind": {"type": "string", "description": "The kind of this object."},
        "metadata": {"allOf": [{"$ref": object_meta}], "description": "The metadata of this object."},
    }
    schema["x-kubernetes-group-version-kind"] = [
        {"group": resource.group, "version": resource.version, "kind": resource.kind}
    ]
    return schema
