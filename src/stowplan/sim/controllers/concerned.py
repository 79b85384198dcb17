"""Whom a change of a pod concerns: the owner it has or had, and those who could take an orphan on."""

from collections.abc import Callable
from typing import Any

from stowplan.api.selectors import Selector
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import BY_NAMESPACE
from stowplan.sim.cluster.objects import key_of, selector_of, spec_of
from stowplan.sim.cluster.records import SimPod

Json = dict[str, Any]


def owners_of(kind: str, old: SimPod | None, new: SimPod | None) -> set[str]:
    """The keys of the objects of a kind that control the pod now or did before."""
    owned = [(pod.namespace, pod.controller) for pod in (old, new) if pod is not None]
    return {f"{namespace}/{owner.name}" for namespace, owner in owned if owner is not None and owner.kind == kind}


def selector_in_spec(found: Json) -> Selector:
    """The label selector by which an owner knows its pods."""
    return selector_of(spec_of(found).get("selector"))


def takers_of(
    new: SimPod | None, owners: Collection[Json], selector: Callable[[Json], Selector] = selector_in_spec
) -> list[str]:
    """The keys of the objects that could adopt a pod; none for one that is owned, ended or gone."""
    if new is None or new.controller is not None or not new.active:
        return []
    candidates = owners.indexed(BY_NAMESPACE, new.namespace)
    return [key_of(found) for found in candidates if selector(found).matches(new.metadata.labels)]
