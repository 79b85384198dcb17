"""Which pods a pod without constraints is spread among: those of its services and of its controller.

Upstream: pkg/scheduler/framework/plugins/helper/spread.go (v1.36.4).
"""

from typing import Final, final

from stowplan.api.errors import SelectorError
from stowplan.api.meta import LabelSelector
from stowplan.api.selectors import Requirement, Selector, compile_label_selector, selector_from_labels, selector_of
from stowplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pods import PodClass

APPS_KINDS: Final[dict[str, type[ReplicaSet] | type[StatefulSet]]] = {
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
}


@final
class DefaultSelectors:
    """Derives default selectors; keeps the services by namespace as long as they do not change."""

    __slots__ = ("_by_namespace", "_generation", "_objects")

    def __init__(self) -> None:
        self._objects: ObjectStore | None = None
        self._generation = 0
        self._by_namespace: dict[str, list[dict[str, str]]] = {}

    def of(self, objects: ObjectStore, cls: PodClass) -> Selector:
        """The selector for pods of a class; it selects everything when neither services nor a controller are known."""
        wanted: dict[str, str] = {}
        for service in self._services(objects).get(cls.namespace, ()):
            if service.items() <= cls.labels.items():
                wanted |= service
        more: tuple[Requirement, ...] = ()
        owner = cls.owner
        if owner is not None:
            key = f"{cls.namespace}/{owner.name}"
            if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
                controller = objects.get(ReplicationController, key)
                wanted |= controller.spec.selector if controller is not None else {}
            elif owner.api_version == "apps/v1" and owner.kind in APPS_KINDS:
                replicas = objects.get(APPS_KINDS[owner.kind], key)
                more = _requirements(replicas.spec.selector if replicas is not None else None)
        return selector_of([*(selector_from_labels(wanted).requirements or ()), *more])

    def _services(self, objects: ObjectStore) -> dict[str, list[dict[str, str]]]:
        generation = objects.generation(Service)
        if self._objects is not objects or self._generation != generation:
            self._objects, self._generation, self._by_namespace = objects, generation, {}
            for service in objects.all(Service).values():
                self._by_namespace.setdefault(service.namespace, []).append(service.spec.selector)
        return self._by_namespace


def _requirements(selector: LabelSelector | None) -> tuple[Requirement, ...]:
    try:
        return compile_label_selector(selector).requirements or ()
    except SelectorError:
        return ()
