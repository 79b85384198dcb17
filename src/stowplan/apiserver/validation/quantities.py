"""Amounts: not below zero, and requests not above limits.

Upstream: pkg/apis/core/validation/validation.go, ValidateResourceRequirements (v1.36.4).
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import invalid_value, qualified_faults
from stowplan.apiserver.quantities import amount

Json = dict[str, Any]

NATIVE_PREFIXES = ("hugepages-",)
NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "storage"})


def amounts_faults(amounts: Json, path: str) -> Iterator[Cause]:
    """Each amount alone."""
    for name, text in amounts.items():
        where = f"{path}[{name}]"
        for why in qualified_faults(name):
            yield invalid_value(where, name, why)
        number = amount(text)
        if number < 0:
            yield invalid_value(where, text, "must be greater than or equal to 0")
        if name not in NATIVE and number != int(number):
            yield invalid_value(where, text, "must be an integer")


def resource_faults(resources: Json, path: str) -> Iterator[Cause]:
    """Requests and limits together."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    yield from amounts_faults(limits, f"{path}.limits")
    yield from amounts_faults(requests, f"{path}.requests")
    for name, asked in requests.items():
        bound = limits.get(name)
        overcommit = name in NATIVE and not name.startswith(NATIVE_PREFIXES)
        if bound is None:
            if not overcommit and "/" in name and not name.startswith("kubernetes.io/"):
                text = "Required value: Limit must be set for non overcommitable resources"
                yield Cause("FieldValueRequired", text, f"{path}.limits")
        elif amount(asked) > amount(bound):
            yield invalid_value(f"{path}.requests", asked, f"must be less than or equal to {name} limit of {bound}")
        elif not overcommit and amount(asked) != amount(bound):
            yield invalid_value(f"{path}.requests", asked, f"must be equal to {name} limit of {bound}")
