"""A scenario: objects, pods to place one after another, and events to follow; one JSON document a line."""

from collections.abc import Iterator
from typing import Final, Literal, final

import msgspec

from stowplan.api.codec import check_quantities, decode_object
from stowplan.api.errors import DecodeError, UnknownKindError
from stowplan.api.meta import KubeObject
from stowplan.api.pod import Pod
from stowplan.sim.operators import unknown_operator

SELECTS: Final = b'"match'
"""Only manifests with this in them can hold a selector with operators."""


class ScenarioError(ValueError):
    """Raised when a line is no scenario: the text says which field is wrong and how."""


class RawEvent(msgspec.Struct, frozen=True):
    """A change, as written."""

    op: Literal["create", "update", "delete"]
    object: msgspec.Raw


class RawScenario(msgspec.Struct, frozen=True):
    """A scenario, as written."""

    id: str
    objects: list[msgspec.Raw]
    pending: list[msgspec.Raw]
    events: list[RawEvent] = []
    config: msgspec.Raw = msgspec.Raw()


@final
class Event(msgspec.Struct, frozen=True):
    """A change of one object."""

    op: str
    object: KubeObject


@final
class Scenario(msgspec.Struct, frozen=True):
    """A scenario with its objects decoded."""

    id: str
    config: bytes | None
    """A KubeSchedulerConfiguration, None for the default one."""
    objects: tuple[KubeObject, ...]
    pending: tuple[Pod, ...]
    events: tuple[Event, ...]


def decode_scenario(line: bytes) -> Scenario:
    """Decode one line. Raises ScenarioError."""
    try:
        raw = msgspec.json.decode(line, type=RawScenario)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"not a scenario: {error}") from error
    except RecursionError as error:
        raise ScenarioError("not a scenario: nested too deeply") from error
    pending = []
    for place, obj in _objects(raw.pending, "pending"):
        if not isinstance(obj, Pod):
            raise ScenarioError(f"{place}: a {obj.kind} is not a pod")
        pending.append(obj)
    events = []
    for i, event in enumerate(raw.events):
        events += [Event(event.op, obj) for _, obj in _objects([event.object], f"events[{i}].object", at=None)]
    return Scenario(
        id=raw.id,
        config=bytes(raw.config) or None,
        objects=tuple(obj for _, obj in _objects(raw.objects, "objects")),
        pending=tuple(pending),
        events=tuple(events),
    )


def _objects(documents: list[msgspec.Raw], where: str, at: int | None = 0) -> Iterator[tuple[str, KubeObject]]:
    """Each object with its place; kinds that scheduling does not read are left out."""
    for i, document in enumerate(documents):
        place = where if at is None else f"{where}[{i}]"
        try:
            obj = decode_object(bytes(document))
            check_quantities(obj)
            fault = unknown_operator(msgspec.json.decode(document)) if SELECTS in bytes(document) else None
            if fault is not None:
                raise ScenarioError(f"{place}: {obj.kind} {obj.key}: {fault}")
            yield place, obj
        except UnknownKindError:
            continue
        except DecodeError as error:
            raise ScenarioError(f"{place}: {error}") from error
