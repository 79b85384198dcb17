"""Makes the table of built-in resources from the model library's own description of the API."""

import importlib
import pkgutil
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import lightkube.resources
from lightkube.core.resource import NamespacedResource, NamespacedSubResource

from stowplan.apiserver.resources import naming
from stowplan.apiserver.resources.types import ALL_VERBS, Resource, Subresource

VERB = {"post": "create", "put": "update"}


def builtin_resources() -> tuple[Resource, ...]:
    """Every stable kind, with its subresources."""
    modules = [
        importlib.import_module(f"lightkube.resources.{found.name}")
        for found in pkgutil.iter_modules(lightkube.resources.__path__)
    ]
    classes = [found for module in modules for found in _classes(module)]
    below: dict[tuple[str, str, str], dict[str, Subresource]] = defaultdict(dict)
    for found in classes:
        info = found._api_info
        if info.parent is None or f"{info.plural}/{info.action}" in naming.NOT_YET_SUBRESOURCES:
            continue
        parent, spoken = info.parent, info.resource
        same = (spoken.group, spoken.version) == (parent.group, parent.version)
        below[parent.group, parent.version, info.plural][info.action] = Subresource(
            name=info.action,
            verbs=_verbs(info.verbs),
            kind=spoken.kind,
            group="" if same else spoken.group,
            version="" if same else spoken.version,
        )
    made = [
        _resource(found, below[key])
        for found in classes
        if found._api_info.parent is None
        for key in [(found._api_info.resource.group, found._api_info.resource.version, found._api_info.plural)]
        if key[1] in naming.SERVED_VERSIONS and (key[0], key[2]) not in naming.NOT_YET
    ]
    return tuple(sorted(made, key=lambda known: (known.group, known.version, known.plural)))


def _classes(module: ModuleType) -> Iterator[Any]:
    for found in vars(module).values():
        if isinstance(found, type) and found.__module__ == module.__name__ and hasattr(found, "_api_info"):
            yield found


def _verbs(spoken: list[str]) -> tuple[str, ...]:
    named = {VERB.get(verb, verb) for verb in spoken}
    return tuple(verb for verb in ALL_VERBS if verb in named)


def _resource(found: Any, subresources: dict[str, Subresource]) -> Resource:
    info = found._api_info
    group, version, kind = info.resource.group, info.resource.version, info.resource.kind
    plural = info.plural
    model = next(base for base in found.__mro__ if base.__module__.startswith("lightkube.models."))
    below = dict(subresources)
    if group == "":
        for name in naming.REFUSED_SUBRESOURCES.get(plural, ()):
            below[name] = Subresource(name=name, verbs=("create", "get"), kind=f"{kind}{name.title()}Options")
    categories: tuple[str, ...] = ()
    if plural in naming.CATEGORY_ALL:
        categories = ("all",)
    elif plural in naming.CATEGORY_EXTENSIONS:
        categories = ("api-extensions",)
    shared = "" if plural == "events" else group
    return Resource(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        singular=kind.lower(),
        namespaced=issubclass(found, NamespacedResource | NamespacedSubResource),
        storage=f"{plural}.{shared}" if shared else plural,
        list_kind=f"{kind}List",
        short_names=naming.SHORT_NAMES.get(plural, ()),
        categories=categories,
        verbs=_verbs(info.verbs),
        subresources=below,
        model=(model.__module__.rpartition(".")[2], model.__name__),
    )
