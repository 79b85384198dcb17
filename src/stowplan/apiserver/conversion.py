"""Kinds that are spoken in two versions and stored in one: events, and horizontal autoscalers.

Upstream: pkg/apis/events/v1/conversion.go, pkg/apis/autoscaling/v1/conversion.go (v1.36.4).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import Entry, encode_json

Json = dict[str, Any]

STORED_NAMES: Mapping[str, str] = {
    "note": "message",
    "regarding": "involvedObject",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
SPOKEN_NAMES = {stored: spoken for spoken, stored in STORED_NAMES.items()}
CPU_SHARE = "targetCPUUtilizationPercentage"


@dataclass(frozen=True, slots=True)
class Conversion:
    """How one spoken version becomes the stored one, and back."""

    to_stored: Callable[[Json], Json]
    to_spoken: Callable[[Json], Json]


def _event_to_stored(event: Json) -> Json:
    return {STORED_NAMES.get(name, name): member for name, member in event.items()} | {"apiVersion": "v1"}


def _event_to_spoken(event: Json) -> Json:
    spoken = {SPOKEN_NAMES.get(name, name): member for name, member in event.items()}
    return spoken | {"apiVersion": "events.k8s.io/v1"}


def _autoscaler_to_stored(autoscaler: Json) -> Json:
    spec = dict(autoscaler.get("spec") or {})
    share = spec.pop(CPU_SHARE, None)
    if share is not None:
        target = {"type": "Utilization", "averageUtilization": share}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    status = {
        name: member
        for name, member in (autoscaler.get("status") or {}).items()
        if name != "currentCPUUtilizationPercentage"
    }
    return autoscaler | {"apiVersion": "autoscaling/v2", "spec": spec, "status": status}


def _autoscaler_to_spoken(autoscaler: Json) -> Json:
    spec = dict(autoscaler.get("spec") or {})
    for metric in spec.pop("metrics", ()):
        resource = metric.get("resource") or {}
        share = (resource.get("target") or {}).get("averageUtilization")
        if resource.get("name") == "cpu" and share is not None:
            spec[CPU_SHARE] = share
    spec.pop("behavior", None)
    kept = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
    status = {name: member for name, member in (autoscaler.get("status") or {}).items() if name in kept}
    return autoscaler | {"apiVersion": "autoscaling/v1", "spec": spec, "status": status}


CONVERSIONS: Mapping[tuple[str, str, str], Conversion] = {
    ("events.k8s.io", "v1", "events"): Conversion(_event_to_stored, _event_to_spoken),
    ("autoscaling", "v1", "horizontalpodautoscalers"): Conversion(_autoscaler_to_stored, _autoscaler_to_spoken),
}


def conversion_of(resource: Resource) -> Conversion | None:
    """The conversion of a resource whose objects are stored in another version."""
    return CONVERSIONS.get((resource.group, resource.version, resource.plural))


def to_stored(resource: Resource, value: Json) -> Json:
    """The object as it is stored."""
    conversion = conversion_of(resource)
    return value if conversion is None else conversion.to_stored(value)


def to_spoken(resource: Resource, value: Json) -> Json:
    """The object as this resource's version speaks it."""
    if resource.custom is not None:
        value["apiVersion"] = resource.api_version
        return value
    conversion = conversion_of(resource)
    return value if conversion is None else conversion.to_spoken(value)


def spoken_body(resource: Resource, entry: Entry) -> bytes:
    """The encoded object as this resource's version speaks it."""
    several = resource.custom is not None and resource.custom.versions > 1
    if several or conversion_of(resource) is not None:
        return encode_json(to_spoken(resource, entry.decoded()))
    return entry.body
