"""The schema of a custom kind as an ObjectType, so that patches treat it like a built-in one."""

from typing import Any

from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.schema.models import Models
from stowplan.apiserver.schema.types import ATOMIC, Field, ListRule, ObjectType, Shape, TypeRef

SCALARS = {
    "string": Shape.STRING,
    "integer": Shape.INTEGER,
    "number": Shape.NUMBER,
    "boolean": Shape.BOOLEAN,
}


def custom_type(models: Models, resource: Resource) -> ObjectType:
    """The type of the instances of a custom kind."""
    assert resource.custom is not None
    made = _object(resource.custom.schema, resource.kind)
    meta = TypeRef(Shape.OBJECT, target=models.get("meta_v1", "ObjectMeta"))
    made.fields["metadata"] = Field(name="metadata", type=meta, required=False)
    return made


def _object(schema: Any, name: str) -> ObjectType:
    made = ObjectType(
        name=name,
        short=name,
        module="custom_v1",
        atomic=schema.get("x-kubernetes-map-type") == "atomic",
        preserve_unknown=True,
    )
    for member, part in (schema.get("properties") or {}).items():
        if isinstance(part, dict):
            made.fields[member] = Field(
                name=member,
                type=_ref(part, member),
                required=False,
                list_rule=_list_rule(part),
                atomic_map=part.get("x-kubernetes-map-type") == "atomic",
            )
    return made


def _ref(schema: Any, name: str) -> TypeRef:
    kind = schema.get("type")
    if kind == "array" and isinstance(schema.get("items"), dict):
        return TypeRef(Shape.LIST, _ref(schema["items"], name))
    if kind == "object" and schema.get("properties"):
        return TypeRef(Shape.OBJECT, target=_object(schema, name))
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return TypeRef(Shape.MAP, _ref(schema["additionalProperties"], name))
    return TypeRef(SCALARS.get(kind, Shape.FREE))


def _list_rule(schema: Any) -> ListRule:
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        return ListRule(type="map", keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()))
    return ListRule(type="set") if kind == "set" else ATOMIC
