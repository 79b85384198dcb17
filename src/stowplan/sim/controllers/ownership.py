"""Whose pods are whose: adopting those that fit and belong to nobody, releasing those that no longer fit.

Upstream: pkg/controller/controller_ref_manager.go, pkg/controller/controller_utils.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any

from stowplan.api.selectors import Selector
from stowplan.client.errors import Invalid, NotFound
from stowplan.client.paths import Resource
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import BY_NAMESPACE, BY_OWNER, ORPHANS
from stowplan.sim.cluster.objects import (
    controller_of,
    is_deleting,
    labels_of,
    name_of,
    namespace_of,
    uid_of,
)
from stowplan.sim.cluster.records import SimPod

Json = dict[str, Any]


def owner_reference(owner: Json, resource: Resource) -> Json:
    """The reference by which an object says who controls it."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": name_of(owner),
        "uid": uid_of(owner),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_of_template(template: Json, owner: Json, resource: Resource) -> Json:
    """A pod that a controller makes, without a name."""
    meta = template.get("metadata") or {}
    made: Json = {"namespace": namespace_of(owner), "ownerReferences": [owner_reference(owner, resource)]}
    for part in ("labels", "annotations", "finalizers"):
        if meta.get(part):
            made[part] = meta[part].copy()
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": dict(template.get("spec") or {})}


async def claim_pods(pods: Collection[SimPod], owner: Json, resource: Resource, selector: Selector) -> list[SimPod]:
    """The pods that an owner controls, after taking on and letting go."""
    owned = []
    for pod in pods.indexed(BY_OWNER, uid_of(owner)):
        if selector.matches(pod.metadata.labels):
            owned.append(pod)
        elif not is_deleting(owner) and not pod.deleting:
            await _release(pods, pod.namespace, pod.name, pod.uid, uid_of(owner))
    if is_deleting(owner):
        return owned
    for pod in pods.indexed(ORPHANS, namespace_of(owner)):
        if pod.active and selector.matches(pod.metadata.labels):
            adopted = await _adopt(pods, pod.namespace, pod.name, pod.uid, owner_reference(owner, resource))
            owned += adopted
    return owned


async def claim_objects(objects: Collection[Json], owner: Json, resource: Resource, selector: Selector) -> list[Json]:
    """The same for plain objects, such as the ReplicaSets of a Deployment."""
    owned = []
    for obj in objects.indexed(BY_OWNER, uid_of(owner)):
        if selector.matches(labels_of(obj)):
            owned.append(obj)
        elif not is_deleting(owner) and not is_deleting(obj):
            await _release(objects, namespace_of(obj), name_of(obj), uid_of(obj), uid_of(owner))
    if is_deleting(owner):
        return owned
    for obj in objects.indexed(BY_NAMESPACE, namespace_of(owner)):
        if controller_of(obj) is None and not is_deleting(obj) and selector.matches(labels_of(obj)):
            reference = owner_reference(owner, resource)
            owned += await _adopt(objects, namespace_of(obj), name_of(obj), uid_of(obj), reference)
    return owned


def newest_ready_first(pods: Sequence[SimPod], related: Sequence[SimPod]) -> list[SimPod]:
    """Pods in the order in which a controller with too many of them lets them go.

    Not assigned, not running, not ready, cheap to delete, on a node with more of its like, youngest: these go first.
    """
    # parity: controller_utils.go ActivePodsWithRanks
    ready_on: dict[str, int] = {}
    for pod in related:
        if pod.active and pod.ready:
            ready_on[pod.spec.node_name] = ready_on.get(pod.spec.node_name, 0) + 1
    phases = {"Pending": 0, "Unknown": 1, "Running": 2}

    def rank(pod: SimPod) -> tuple[bool, int, bool, int, int]:
        return (
            bool(pod.spec.node_name),
            phases.get(pod.status.phase, 0),
            pod.ready,
            _deletion_cost(pod),
            -ready_on.get(pod.spec.node_name, 0),
        )

    youngest = sorted(pods, key=lambda pod: pod.metadata.creation_timestamp or "", reverse=True)
    restarting = sorted(youngest, key=lambda pod: -pod.restarts)
    latest = sorted(restarting, key=_ready_since, reverse=True)
    return sorted(latest, key=rank)


def _ready_since(pod: SimPod) -> str:
    condition = pod.condition("Ready")
    return (condition.last_transition_time or "") if condition is not None and condition.status == "True" else ""


def _deletion_cost(pod: SimPod) -> int:
    text = pod.metadata.annotations.get("controller.kubernetes.io/pod-deletion-cost", "0")
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 10 else 0


async def _adopt(collection: Collection[Any], namespace: str, name: str, uid: str, reference: Json) -> list[Any]:
    change = {"metadata": {"uid": uid, "ownerReferences": [reference]}}
    try:
        return [await collection.patch(namespace, name, change)]
    except (NotFound, Invalid):
        return []  # gone, or somebody was faster


async def _release(collection: Collection[Any], namespace: str, name: str, uid: str, owner_uid: str) -> None:
    change = {"metadata": {"uid": uid, "ownerReferences": [{"$patch": "delete", "uid": owner_uid}]}}
    try:
        await collection.patch(namespace, name, change)
    except NotFound:
        return
