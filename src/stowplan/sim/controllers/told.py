"""Events that controllers write about their objects."""

from typing import Any, final

from stowplan.api.meta import ObjectReference
from stowplan.client.events import EventRecorder, EventType
from stowplan.client.paths import Resource
from stowplan.sim.cluster.objects import name_of, namespace_of, uid_of

Json = dict[str, Any]

LONGEST_ACTION = 128


@final
class Told:
    """What one controller has to say."""

    def __init__(self, recorder: EventRecorder, controller: str) -> None:
        self._recorder = recorder
        self._controller = controller

    def normal(self, obj: Json, resource: Resource, reason: str, note: str) -> None:
        """Something went as it should."""
        self._tell("Normal", obj, resource, reason, note)

    def warning(self, obj: Json, resource: Resource, reason: str, note: str) -> None:
        """Something did not."""
        self._tell("Warning", obj, resource, reason, note)

    def _tell(self, type_: EventType, obj: Json, resource: Resource, reason: str, note: str) -> None:
        regarding = ObjectReference(
            kind=resource.kind,
            namespace=namespace_of(obj),
            name=name_of(obj),
            uid=uid_of(obj),
            api_version=resource.api_version,
            resource_version=obj["metadata"].get("resourceVersion", ""),
        )
        # The recorder takes events for repeats whatever their note says; what was done tells ours apart.
        action = note[:LONGEST_ACTION]
        self._recorder.tell(
            regarding, controller=self._controller, type_=type_, reason=reason, action=action, note=note
        )
