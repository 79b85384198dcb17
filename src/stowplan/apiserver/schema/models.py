"""Reads the model library: one ObjectType per model, made when first asked for."""

import importlib
import re
from collections.abc import Mapping
from typing import Any, final

from stowplan.apiserver.schema import maps, merging
from stowplan.apiserver.schema.types import Field, ObjectType, Shape, TypeRef

MODELS = "lightkube.models"

SCALARS: Mapping[str, Shape] = {
    "str": Shape.STRING,
    "int": Shape.INTEGER,
    "float": Shape.NUMBER,
    "bool": Shape.BOOLEAN,
    "Any": Shape.FREE,
    "Quantity": Shape.QUANTITY,
    "Time": Shape.TIME,
    "MicroTime": Shape.MICROTIME,
    "IntOrString": Shape.INT_OR_STRING,
}

PACKAGES: Mapping[str, str] = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    "runtime": "io.k8s.apimachinery.pkg",
}

OPTIONAL = re.compile(r"^Optional\[(.*)\]$")
LIST = re.compile(r"^List\[(.*)\]$")


@final
class Models:
    """All types of the built-in API, by module and name."""

    def __init__(self) -> None:
        self._types: dict[tuple[str, str], ObjectType] = {}

    def get(self, module: str, name: str) -> ObjectType:
        """The type `name` of the models' file `module` (`core_v1`)."""
        known = self._types.get((module, name))
        if known is not None:
            return known
        model = getattr(importlib.import_module(f"{MODELS}.{module}"), name)
        room, _, version = module.partition("_")
        owner = f"{room}.{name}"
        made = ObjectType(
            name=f"{PACKAGES.get(room, f'io.k8s.api.{room}')}.{version}.{name}",
            short=name,
            module=module,
            atomic=owner in merging.ATOMIC_TYPES,
        )
        self._types[module, name] = made
        wire_names = dict(zip(model.__struct_fields__, model.__struct_encode_fields__, strict=True))
        for attribute, annotation in model.__annotations__.items():
            wire = wire_names[attribute]
            made.fields[wire] = self._field(module, owner, wire, str(annotation))
        return made

    def _field(self, module: str, owner: str, name: str, annotation: str) -> Field:
        optional = OPTIONAL.match(annotation)
        ref = self._ref(module, f"{owner}.{name}", optional[1] if optional else annotation)
        path = f"{owner}.{name}"
        return Field(
            name=name,
            type=ref,
            required=optional is None,
            list_rule=merging.list_rule(owner, name),
            atomic_map=path in merging.ATOMIC_MAPS
            or (
                ref.shape is Shape.OBJECT
                and ref.target is not None
                and ref.target.atomic
                and path not in merging.GRANULAR_FIELDS
            ),
            retain_keys=path in merging.RETAIN_KEYS_FIELDS,
            replace=path in merging.REPLACED_FIELDS,
        )

    def _ref(self, module: str, path: str, annotation: str) -> TypeRef:
        listed = LIST.match(annotation)
        if listed:
            return TypeRef(Shape.LIST, self._ref(module, path, listed[1]))
        if annotation == "dict":
            return TypeRef(Shape.MAP, self._map_value(module, path))
        home, _, name = annotation.rpartition(".")
        home = home or module
        shape = SCALARS.get(name)
        if shape is not None:
            return TypeRef(shape)
        model: Any = getattr(importlib.import_module(f"{MODELS}.{home}"), name)
        if not hasattr(model, "__struct_fields__"):
            return TypeRef(Shape.FREE)
        return TypeRef(Shape.OBJECT, target=self.get(home, name))

    def _map_value(self, module: str, path: str) -> TypeRef:
        if path in maps.QUANTITY_MAPS:
            return TypeRef(Shape.QUANTITY)
        if path in maps.TIME_MAPS:
            return TypeRef(Shape.TIME)
        if path in maps.STRING_LIST_MAPS:
            return TypeRef(Shape.LIST, TypeRef(Shape.STRING))
        named = maps.OBJECT_MAPS.get(path)
        if named is None:
            return TypeRef(Shape.STRING)
        return TypeRef(Shape.OBJECT, target=self.get(module, named)) if named else TypeRef(Shape.FREE)
