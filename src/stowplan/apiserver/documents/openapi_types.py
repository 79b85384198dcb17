"""The types of the API as OpenAPI schemas."""

from typing import Any

from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.schema.describe import describe
from stowplan.apiserver.schema.types import Field, ObjectType, Shape, TypeRef

Json = dict[str, Any]

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
SCALARS: dict[Shape, Json] = {
    Shape.STRING: {"type": "string"},
    Shape.INTEGER: {"type": "integer", "format": "int64"},
    Shape.NUMBER: {"type": "number", "format": "double"},
    Shape.BOOLEAN: {"type": "boolean"},
    Shape.TIME: {"type": "string", "format": "date-time"},
    Shape.MICROTIME: {"type": "string", "format": "date-time"},
    Shape.FREE: {},
}


class Schemas:
    """Collects the schemas that a document needs; `prefix` is where it keeps them."""

    def __init__(self, prefix: str, *, wrapped: bool) -> None:
        self.found: dict[str, Json] = {}
        self._prefix = prefix
        self._wrapped = wrapped

    def ref(self, kind: ObjectType) -> str:
        """The address of a type's schema, which is collected on the way."""
        if kind.name not in self.found:
            self.found[kind.name] = {}
            self.found[kind.name] = self._schema(kind)
        return self._prefix + kind.name

    def resource(self, resource: Resource, kind: ObjectType) -> str:
        """The address of a resource's schema, marked with its kind."""
        address = self.ref(kind)
        marks = self.found[kind.name].setdefault("x-kubernetes-group-version-kind", [])
        mark = {"group": resource.group, "version": resource.version, "kind": resource.kind}
        if mark not in marks:
            marks.append(mark)
        return address

    def _schema(self, kind: ObjectType) -> Json:
        texts = describe(kind)
        schema: Json = {"type": "object", "properties": {}}
        if texts.text:
            schema["description"] = texts.text
        if kind.atomic:
            schema["x-kubernetes-map-type"] = "atomic"
        required = []
        for known in kind.fields.values():
            text = texts.fields.get(known.name, "")
            schema["properties"][known.name] = self._property(known, text)
            if known.required:
                required.append(known.name)
        if required:
            schema["required"] = required
        return schema

    def _property(self, known: Field, text: str) -> Json:
        made = self._type(known.type)
        if "$ref" in made and self._wrapped:
            made = {"allOf": [made], "default": {}} if known.required else {"allOf": [made]}
        if text:
            made["description"] = text
        rule = known.list_rule
        if known.type.shape is Shape.LIST:
            made["x-kubernetes-list-type"] = rule.type
            if rule.keys:
                made["x-kubernetes-list-map-keys"] = list(rule.keys)
            if rule.merge:
                made["x-kubernetes-patch-strategy"] = "merge,retainKeys" if rule.retain_keys else "merge"
                if rule.patch_key:
                    made["x-kubernetes-patch-merge-key"] = rule.patch_key
        if known.retain_keys:
            made["x-kubernetes-patch-strategy"] = "retainKeys"
        if known.replace:
            made["x-kubernetes-patch-strategy"] = "replace"
        if known.type.shape is Shape.MAP and known.atomic_map:
            made["x-kubernetes-map-type"] = "atomic"
        return made

    def _type(self, ref: TypeRef) -> Json:
        if ref.shape is Shape.OBJECT:
            assert ref.target is not None
            return {"$ref": self.ref(ref.target)}
        if ref.shape in (Shape.LIST, Shape.MAP):
            assert ref.item is not None
            inner = self._type(ref.item)
            if "$ref" in inner and self._wrapped:
                inner = {"allOf": [inner], "default": {}}
            if ref.shape is Shape.LIST:
                return {"type": "array", "items": inner}
            return {"type": "object", "additionalProperties": inner}
        if ref.shape is Shape.QUANTITY:
            return self._named("io.k8s.apimachinery.pkg.api.resource.Quantity", _either("string", "number"))
        if ref.shape is Shape.INT_OR_STRING:
            return self._named("io.k8s.apimachinery.pkg.util.intstr.IntOrString", _either("integer", "string"))
        return dict(SCALARS[ref.shape])

    def _named(self, name: str, schema: Json) -> Json:
        if not self._wrapped:
            schema = {"type": "string"} if "oneOf" in schema else schema
            if name.endswith("IntOrString"):
                schema["format"] = "int-or-string"
        self.found.setdefault(name, schema)
        return {"$ref": self._prefix + name}


def _either(first: str, second: str) -> Json:
    return {"oneOf": [{"type": first}, {"type": second}]}


def list_schema(item: str, kind: str, list_meta: str) -> Json:
    """The schema of a collection."""
    return {
        "type": "object",
        "description": f"{kind} is a list of objects.",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": item}},
            "metadata": {"$ref": list_meta},
        },
    }
