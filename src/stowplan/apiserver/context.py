"""What every verb works with: the served kinds, their types, the store, the clock. Assembled in embedded.py."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from stowplan.apiserver.options import ServerOptions
from stowplan.apiserver.resources.registry import Registry
from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.schema.models import Models
from stowplan.apiserver.schema.types import ObjectType
from stowplan.apiserver.selecting.fields import FieldIndex
from stowplan.apiserver.storage.store import Store
from stowplan.apiserver.storage.table import Table
from stowplan.apiserver.watch.hub import Hub
from stowplan.clock import Clock

PODS = "pods"
NODES = "nodes"
NAMESPACES = "namespaces"
SERVICES = "services"
EVENTS = "events"
CUSTOM_DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
DISRUPTION_BUDGETS = "poddisruptionbudgets.policy"
PRIORITY_CLASSES = "priorityclasses.scheduling.k8s.io"
RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"
STORAGE_CLASSES = "storageclasses.storage.k8s.io"


@dataclass(slots=True, kw_only=True, eq=False)
class Api:
    """The parts of one server."""

    options: ServerOptions
    clock: Clock
    registry: Registry
    models: Models
    store: Store
    hub: Hub
    fields: FieldIndex
    document_cache: dict[str, Any] = field(default_factory=dict)
    """Discovery and OpenAPI documents, by address, of one generation of the registry."""
    document_generation: int = -1

    def table(self, resource: Resource) -> Table:
        """Where the objects of a resource are."""
        return self.store.table(resource.storage)

    def type_of(self, resource: Resource) -> ObjectType | None:
        """The type of a built-in resource; custom ones have none."""
        if resource.model is None:
            return None
        return self.models.get(*resource.model)

    def now(self) -> str:
        """The time, as objects carry it."""
        return timestamp(self.clock.now())

    def cached(self, address: str) -> Any:
        """A document made earlier, if the registry is still the same."""
        if self.document_generation != self.registry.generation:
            self.document_cache.clear()
            self.document_generation = self.registry.generation
        return self.document_cache.get(address)


def timestamp(seconds: float) -> str:
    """A moment to the second."""
    return _second(int(seconds))


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    # perf: thousands of objects are written in one second
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_uid() -> str:
    """A fresh identity."""
    return str(uuid.uuid4())
