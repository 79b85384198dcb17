"""StatefulSets: pods with numbers, one after the other, each with claims of its own.

Upstream: pkg/controller/statefulset/stateful_set.go, stateful_set_control.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

from stowplan.client.errors import AlreadyExists, NotFound
from stowplan.client.paths import STATEFUL_SETS
from stowplan.client.transport import MERGE_PATCH
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_OWNER, Inventory
from stowplan.sim.cluster.objects import (
    generation_of,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
    uid_of,
)
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.availability import available_after, count_available
from stowplan.sim.controllers.batches import all_at_once, slow_start
from stowplan.sim.controllers.concerned import owners_of, takers_of
from stowplan.sim.controllers.history import REVISION_LABEL, History, template_of
from stowplan.sim.controllers.numbers import scaled
from stowplan.sim.controllers.ordinals import Ordered, Place, next_moves
from stowplan.sim.controllers.ownership import claim_pods
from stowplan.sim.controllers.stateful_pods import claims_for, ordinal_of, retention, stateful_pod
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]

GATHER = 0.02


@final
class StatefulSets:
    """Looks at one set at a time."""

    name = "statefulsets"
    workers = 8

    def __init__(self, inventory: Inventory, told: Told, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._sets = inventory.stateful_sets
        self._pods = inventory.pods
        self._claims = inventory.claims
        self._history = History(inventory.revisions, STATEFUL_SETS)
        self._told = told
        self._clock = clock
        inventory.stateful_sets.listen(self._set_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Create and delete pods in their order, then say how many there are."""
        found = self._sets.get(key)
        if found is None:
            return None
        selector = selector_of(spec_of(found).get("selector"))
        if selector.is_nothing or selector.is_everything:
            return None
        await claim_pods(self._pods, found, STATEFUL_SETS, selector)
        if is_deleting(found):
            return None
        newest = await self._history.current(found)
        revisions = {name_of(one): one for one in self._history.of(found)}
        current = revisions.get(status_of(found).get("currentRevision") or "", newest)
        await self._move(found, current, newest)
        again = await self._report(found, current, newest)
        live = {pod.metadata.labels.get(REVISION_LABEL, "") for pod in self._numbered(found).values()}
        await self._history.trim(found, {*live, name_of(current), name_of(newest)})
        return again

    async def _move(self, found: Json, current: Json, newest: Json) -> None:
        wish = wish_of(found)
        pods = self._numbered(found)
        moves = next_moves(wish, {ordinal: self._place(found, pod, newest) for ordinal, pod in pods.items()})
        for ordinal in wish.range:
            pod = pods.get(ordinal)
            if pod is not None and pod.status.phase == "Pending" and not pod.deleting:
                await self._make_claims(found, ordinal)

        async def create(ordinal: int) -> None:
            await self._make_claims(found, ordinal)
            old = not wish.on_delete and ordinal - wish.start < wish.partition
            revision = current if old else newest
            body = stateful_pod(found, template_of(revision), name_of(revision), ordinal)
            await self._pods.create(namespace_of(found), body)
            note = f"create Pod {body['metadata']['name']} in StatefulSet {name_of(found)} successful"
            self._told.normal(found, STATEFUL_SETS, "SuccessfulCreate", note)

        async def delete(ordinal: int) -> None:
            if ordinal not in wish.range and retention(found)[1] == "Delete":
                await self._leave_claims_to(found, pods[ordinal], ordinal)
            await self._pods.delete(pods[ordinal])
            note = f"delete Pod {pods[ordinal].name} in StatefulSet {name_of(found)} successful"
            self._told.normal(found, STATEFUL_SETS, "SuccessfulDelete", note)

        error = await slow_start(moves.create, create) or await all_at_once(moves.delete, delete)
        if error is not None:
            raise error

    def _numbered(self, found: Json) -> dict[int, SimPod]:
        numbered = {}
        for pod in self._pods.indexed(BY_OWNER, uid_of(found)):
            ordinal = ordinal_of(pod.name, name_of(found))
            if ordinal is not None:
                numbered[ordinal] = pod
        return numbered

    def _place(self, found: Json, pod: SimPod, newest: Json) -> Place:
        min_ready = spec_of(found).get("minReadySeconds") or 0
        return Place(
            available=pod.status.phase == "Running" and available_after(pod, min_ready, self._clock.now()) == 0,
            terminating=pod.deleting,
            finished=pod.finished,
            updated=pod.metadata.labels.get(REVISION_LABEL) == name_of(newest),
        )

    async def _make_claims(self, found: Json, ordinal: int) -> None:
        for body in claims_for(found, ordinal):
            if self._claims.get(key_of(body)) is None:
                try:
                    await self._claims.create(namespace_of(found), body)
                except AlreadyExists:
                    continue

    async def _leave_claims_to(self, found: Json, pod: SimPod, ordinal: int) -> None:
        """The claims of a pod that goes for good go with it."""
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
        for body in claims_for(found, ordinal):
            known = self._claims.get(key_of(body))
            references = (known["metadata"].get("ownerReferences") or []) if known is not None else []
            if known is None or any(reference["uid"] == pod.uid for reference in references):
                continue
            # The set is no owner of theirs any more, else they would stay for its sake.
            kept = [reference for reference in references if reference["uid"] != uid_of(found)]
            version = known["metadata"]["resourceVersion"]
            change = {"metadata": {"resourceVersion": version, "ownerReferences": [*kept, owner]}}
            try:
                await self._claims.patch(namespace_of(known), name_of(known), change, content_type=MERGE_PATCH)
            except NotFound:
                continue

    async def _report(self, found: Json, current: Json, newest: Json) -> float | None:
        pods = list(self._numbered(found).values())
        running = [pod for pod in pods if pod.status.phase == "Running"]
        min_ready = spec_of(found).get("minReadySeconds") or 0
        available, again = count_available(running, min_ready, self._clock.now())
        status: Json = {
            "observedGeneration": generation_of(found),
            "replicas": len(pods),
            "readyReplicas": sum(pod.ready for pod in running),
            "availableReplicas": available,
            "currentReplicas": _count(pods, name_of(current)),
            "updatedReplicas": _count(pods, name_of(newest)),
            "currentRevision": name_of(current),
            "updateRevision": name_of(newest),
            "collisionCount": status_of(found).get("collisionCount") or 0,
        }
        wanted = spec_of(found).get("replicas", 1)
        counts = ("updatedReplicas", "replicas", "readyReplicas")
        if not wish_of(found).on_delete and all(status[name] == wanted for name in counts):
            status |= {"currentRevision": name_of(newest), "currentReplicas": status["updatedReplicas"]}
        kept = ("replicas", "availableReplicas", "collisionCount")
        status = {name: value for name, value in status.items() if value or name in kept}
        if status_of(found).get("conditions"):
            status["conditions"] = status_of(found)["conditions"]
        if status != status_of(found):
            body = {**found, "status": status}
            await self._sets.update(namespace_of(found), name_of(found), body, subresource="status")
        return again

    def _set_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        for key in owners_of("StatefulSet", old, new):
            self.queue.add_after(key, GATHER)
        for key in takers_of(new, self._sets):
            self.queue.add(key)


def wish_of(found: Json) -> Ordered:
    """What a StatefulSet asks for."""
    spec = spec_of(found)
    strategy = spec.get("updateStrategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    replicas: int = spec.get("replicas", 1)
    return Ordered(
        replicas=replicas,
        start=(spec.get("ordinals") or {}).get("start") or 0,
        parallel=spec.get("podManagementPolicy") == "Parallel",
        on_delete=strategy.get("type") == "OnDelete",
        partition=rolling.get("partition") or 0,
        max_unavailable=max(scaled(rolling.get("maxUnavailable"), replicas, up=True, default=1), 1),
    )


def _count(pods: Sequence[SimPod], revision: str) -> int:
    return sum(not pod.deleting and pod.metadata.labels.get(REVISION_LABEL) == revision for pod in pods)
