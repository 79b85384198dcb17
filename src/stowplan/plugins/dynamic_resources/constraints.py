"""Constraints over the devices of a claim: an attribute they must share, or must not.

Upstream: constraint.go and matchAttributeConstraint in allocator_incubating.go of
staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating (v1.36.4).
"""

from typing import Protocol

from stowplan.api.resource import DeviceAttribute, DeviceConstraint
from stowplan.plugins.dynamic_resources.pools import Candidate

AttributeValue = tuple[str, object]


class Constraint(Protocol):
    """Takes devices in, and refuses those that would break it."""

    def add(self, request: str, sub_request: str, candidate: Candidate) -> bool:
        """Whether the device may join."""

    def remove(self, request: str, sub_request: str) -> None:
        """Undo the last `add` for the request."""


def attribute_of(candidate: Candidate, name: str) -> DeviceAttribute | None:
    """Return an attribute by its full name; the driver's own may be written without domain."""
    attributes = candidate.device.attributes
    if name in attributes:
        return attributes[name]
    domain, slash, identifier = name.partition("/")
    return attributes.get(identifier) if slash and domain == candidate.id[0] else None


def value_of(attribute: DeviceAttribute) -> AttributeValue | None:
    """Return the value with its kind; None for kinds that cannot be compared."""
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return None


class _Scoped:
    """A constraint that is about some requests, or about all of them."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute
        self._count = 0

    def _applies(self, request: str, sub_request: str) -> bool:
        return (
            not self._requests
            or request in self._requests
            or (bool(sub_request) and f"{request}/{sub_request}" in self._requests)
        )


class MatchAttribute(_Scoped):
    """All devices have the same value."""

    _shared: AttributeValue | None = None

    def add(self, request: str, sub_request: str, candidate: Candidate) -> bool:
        """The first device sets the value, the others must have it."""
        if not self._applies(request, sub_request):
            return True
        attribute = attribute_of(candidate, self._attribute)
        if attribute is None:
            return False
        value = value_of(attribute)
        if self._count == 0:
            self._shared = value
        elif value is None or value != self._shared:
            return False
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """One device less."""
        if self._applies(request, sub_request):
            self._count -= 1


class DistinctAttribute(_Scoped):
    """No device has the value of another."""

    def __init__(self, requests: tuple[str, ...], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: dict[str, AttributeValue | None] = {}

    def add(self, request: str, sub_request: str, candidate: Candidate) -> bool:
        """The device's value must be new."""
        if not self._applies(request, sub_request):
            return True
        attribute = attribute_of(candidate, self._attribute)
        if attribute is None:
            return False
        value = value_of(attribute)
        if self._count and ((value is None and self._values) or value in self._values.values()):
            return False
        # parity: one value is kept per request, so devices of one request are compared with the last of it only
        self._values[request] = value
        self._count += 1
        return True

    def remove(self, request: str, sub_request: str) -> None:
        """One device less."""
        if self._applies(request, sub_request):
            self._values.pop(request, None)
            self._count -= 1


def make_constraint(constraint: DeviceConstraint) -> Constraint | None:
    """Return the constraint ready to take in devices; None when its kind is not known."""
    if constraint.match_attribute is not None:
        return MatchAttribute(constraint.requests, constraint.match_attribute)
    if constraint.distinct_attribute is not None:
        return DistinctAttribute(constraint.requests, constraint.distinct_attribute)
    return None
