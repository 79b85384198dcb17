"""Kinds that are spoken in two versions and stored in one: events.

Upstream: pkg/apis/events/v1/conversion.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Any

from stowplan.apiserver.resources.types import Resource
from stowplan.apiserver.storage.entry import Entry, encode_json

Json = dict[str, Any]

EVENTS_GROUP = "events.k8s.io"

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


def converts(resource: Resource) -> bool:
    """True when objects of this resource are stored under other names."""
    return resource.group == EVENTS_GROUP


def to_stored(resource: Resource, value: Json) -> Json:
    """The object as it is stored."""
    if not converts(resource):
        return value
    stored = {STORED_NAMES.get(name, name): member for name, member in value.items()}
    stored["apiVersion"] = "v1"
    return stored


def to_spoken(resource: Resource, value: Json) -> Json:
    """The object as this resource's version speaks it."""
    if resource.custom is not None:
        value["apiVersion"] = resource.api_version
        return value
    if not converts(resource):
        return value
    spoken = {SPOKEN_NAMES.get(name, name): member for name, member in value.items()}
    spoken["apiVersion"] = resource.api_version
    return spoken


def spoken_body(resource: Resource, entry: Entry) -> bytes:
    """The encoded object as this resource's version speaks it."""
    if converts(resource):
        return encode_json(to_spoken(resource, entry.decoded()))
    if resource.custom is not None and resource.custom.versions > 1:
        return encode_json(to_spoken(resource, entry.decoded()))
    return entry.body
