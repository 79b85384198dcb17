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
OF_CONTAINERS = frozenset({"cpu", "memory", "ephemeral-storage"})
STANDARD = NATIVE | {
    "requests.cpu", "requests.memory", "requests.ephemeral-storage", "requests.storage", "limits.cpu",
    "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services", "replicationcontrollers",
    "secrets", "persistentvolumeclaims", "configmaps", "services.nodeports", "services.loadbalancers",
}  # fmt: skip


def amounts_faults(amounts: Json, path: str, *, of_containers: bool = False) -> Iterator[Cause]:
    """Each amount alone."""
    for name, text in amounts.items():
        where = f"{path}[{name}]"
        for why in _name_faults(name) if of_containers else qualified_faults(name):
            yield invalid_value(where, name, why)
        number = amount(text)
        if number < 0:
            yield invalid_value(where, text, "must be greater than or equal to 0")
        if name not in NATIVE and number != int(number):
            yield invalid_value(where, text, "must be an integer")


def _name_faults(name: str) -> Iterator[str]:
    """What is wrong with the name of a resource that a container asks for."""
    if name in OF_CONTAINERS:
        # perf: nearly all are these
        return
    bad = qualified_faults(name)
    yield from bad
    slash = "/" in name
    if not slash and not name.startswith(NATIVE_PREFIXES):
        if not bad and name not in STANDARD:
            yield "must be a standard resource type or fully qualified"
        yield "must be a standard resource for containers"
    elif (
        slash
        and "kubernetes.io/" not in name
        and (name.startswith("requests.") or qualified_faults(f"requests.{name}"))
    ):
        yield "doesn't follow extended resource name standard"


def resource_faults(resources: Json, path: str) -> Iterator[Cause]:
    """Requests and limits together."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    yield from amounts_faults(limits, f"{path}.limits", of_containers=True)
    yield from amounts_faults(requests, f"{path}.requests", of_containers=True)
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
