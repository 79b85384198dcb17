"""Instances of custom kinds: unknown fields, defaults and checks by the schema of their definition.

Upstream: staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/{schema,validation} (v1.36.4).
CEL rules (x-kubernetes-validations) are not evaluated.
"""

import copy
from typing import Any

from stowplan.apiserver.custom.jsonschema import schema_faults
from stowplan.apiserver.errors import invalid
from stowplan.apiserver.resources.types import Resource

Json = dict[str, Any]

ROOT = frozenset({"apiVersion", "kind", "metadata"})


def prune_instance(resource: Resource, value: Json) -> list[str]:
    """Drop the members that the schema does not know; their paths are returned."""
    assert resource.custom is not None
    dropped: list[str] = []
    _prune(resource.custom.schema, value, "", dropped, ROOT)
    return dropped


def check_instance(resource: Resource, value: Json, _old: Json | None) -> None:
    """Fill in defaults, and refuse what the schema does not allow."""
    assert resource.custom is not None
    schema = resource.custom.schema
    _fill(schema, value)
    causes = list(schema_faults({**schema, "properties": _inner(schema)}, _without_root(value), ""))
    if causes:
        raise invalid(resource.kind_subject(value["metadata"].get("name", "")), causes)


def _inner(schema: Any) -> Json:
    return {name: part for name, part in (schema.get("properties") or {}).items() if name not in ROOT}


def _without_root(value: Json) -> Json:
    return {name: member for name, member in value.items() if name not in ROOT}


def _prune(schema: Any, value: Any, path: str, dropped: list[str], known: frozenset[str] = frozenset()) -> None:
    if not isinstance(schema, dict) or schema.get("x-kubernetes-preserve-unknown-fields"):
        return
    if schema.get("x-kubernetes-embedded-resource"):
        known = known | ROOT
    if isinstance(value, list):
        for index, member in enumerate(value):
            _prune(schema.get("items") or {}, member, f"{path}[{index}]", dropped)
    if not isinstance(value, dict):
        return
    properties, more = schema.get("properties") or {}, schema.get("additionalProperties")
    if more is None and not properties and not path and not schema.get("type"):
        return
    for name in list(value):
        below = f"{path}.{name}" if path else name
        if name in properties:
            if name != "metadata" or path:
                _prune(properties[name], value[name], below, dropped)
        elif isinstance(more, dict):
            _prune(more, value[name], below, dropped)
        elif more is not True and name not in known:
            del value[name]
            dropped.append(below)


def _fill(schema: Any, value: Any) -> None:
    if not isinstance(schema, dict):
        return
    if isinstance(value, list):
        for member in value:
            _fill(schema.get("items"), member)
    if not isinstance(value, dict):
        return
    for name, part in (schema.get("properties") or {}).items():
        if isinstance(part, dict) and "default" in part:
            absent = name not in value or (value[name] is None and not part.get("nullable"))
            if absent:
                value[name] = copy.deepcopy(part["default"])
        if name in value:
            _fill(part, value[name])
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        for name, member in value.items():
            if name not in (schema.get("properties") or {}):
                _fill(more, member)
