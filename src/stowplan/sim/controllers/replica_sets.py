"""ReplicaSets and ReplicationControllers: as many pods as asked for.

Upstream: pkg/controller/replicaset/replica_set.go, replica_set_utils.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

from stowplan.api.meta import time_text
from stowplan.api.selectors import Selector, selector_from_labels
from stowplan.client.errors import ApiError, ClientError
from stowplan.clock import Clock
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.inventory import BY_OWNER, Inventory
from stowplan.sim.cluster.objects import (
    controller_uid,
    find_condition,
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
from stowplan.sim.controllers.availability import count_available
from stowplan.sim.controllers.batches import all_at_once, slow_start
from stowplan.sim.controllers.concerned import owners_of, takers_of
from stowplan.sim.controllers.ownership import claim_pods, newest_ready_first, pod_of_template
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]

MOST_AT_ONCE = 500
# perf: many pods change within this time when many start; one look at the set is enough for all of them
GATHER = 0.03


@final
class ReplicaSets:
    """One of the two kinds, which differ in how they write their selector."""

    workers = 8

    def __init__(
        self, inventory: Inventory, replicated: Collection[Json], told: Told, *, name: str, clock: Clock
    ) -> None:
        self.name = name
        self.queue = WorkQueue()
        self._pods = inventory.pods
        self._sets = replicated
        self._told = told
        self._clock = clock
        self._kind = replicated.resource.kind
        replicated.listen(self._set_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Make what is missing, delete what is too much, say how many there are."""
        found = self._sets.get(key)
        if found is None:
            return None
        selector = self._selector(found)
        if selector.is_nothing or selector.is_everything:
            return None
        owned = await claim_pods(self._pods, found, self._sets.resource, selector)
        active = [pod for pod in owned if pod.active]
        wanted = spec_of(found).get("replicas", 1)
        error = None
        if not is_deleting(found):
            if len(active) < wanted:
                error = await self._make(found, min(wanted - len(active), MOST_AT_ONCE))
            elif len(active) > wanted:
                error = await self._reduce(found, active, min(len(active) - wanted, MOST_AT_ONCE))
        present = [pod for pod in self._pods.indexed(BY_OWNER, uid_of(found)) if pod.active]
        again = await self._report(found, present, terminating=len(owned) - len(active), error=error)
        if error is not None:
            raise error
        return again

    async def _make(self, found: Json, count: int) -> ClientError | None:
        pod = pod_of_template(spec_of(found).get("template") or {}, found, self._sets.resource)
        pod["metadata"]["generateName"] = f"{name_of(found)}-"

        async def create(_number: int) -> None:
            await self._pods.create(namespace_of(found), pod)

        error = await slow_start(range(count), create)
        if isinstance(error, ApiError) and error.namespace_is_going:
            return None
        if error is not None:
            self._told.warning(found, self._sets.resource, "FailedCreate", f"Error creating: {error.message}")
        return error

    async def _reduce(self, found: Json, active: Sequence[SimPod], count: int) -> ClientError | None:
        related = list(active)
        owner = controller_uid(found)
        for other in self._sets.indexed(BY_OWNER, owner) if owner else ():
            if uid_of(other) != uid_of(found):
                related += self._pods.indexed(BY_OWNER, uid_of(other))
        return await all_at_once(newest_ready_first(active, related)[:count], self._pods.delete)

    async def _report(
        self, found: Json, active: Sequence[SimPod], *, terminating: int, error: ClientError | None
    ) -> float | None:
        spec, known = spec_of(found), status_of(found)
        now = self._clock.now()
        template_labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        available, again = count_available(active, spec.get("minReadySeconds") or 0, now)
        wanted = {
            "replicas": len(active),
            "fullyLabeledReplicas": sum(template_labels.items() <= pod.metadata.labels.items() for pod in active),
            "readyReplicas": sum(pod.ready for pod in active),
            "availableReplicas": available,
            "observedGeneration": generation_of(found),
        }
        if self._kind == "ReplicaSet":
            wanted["terminatingReplicas"] = terminating
        conditions = self._conditions(found, len(active), error, now)
        if conditions == (known.get("conditions") or []) and all(
            known.get(name, 0) == number for name, number in wanted.items()
        ):
            return again
        status: Json = {name: number for name, number in wanted.items() if number or name == "replicas"}
        if self._kind == "ReplicaSet":
            status["terminatingReplicas"] = terminating
        if conditions:
            status["conditions"] = conditions
        await self._sets.update(namespace_of(found), name_of(found), {**found, "status": status}, subresource="status")
        return again

    def _conditions(self, found: Json, active: int, error: ClientError | None, now: float) -> list[Json]:
        known = status_of(found).get("conditions") or []
        if error is None:
            return [condition for condition in known if condition.get("type") != "ReplicaFailure"]
        if find_condition(known, "ReplicaFailure") is not None:
            return list(known)
        short = active < spec_of(found).get("replicas", 1)
        return [
            *known,
            {
                "type": "ReplicaFailure",
                "status": "True",
                "reason": "FailedCreate" if short else "FailedDelete",
                "message": error.message,
                "lastTransitionTime": time_text(now),
            },
        ]

    def _selector(self, found: Json) -> Selector:
        selector = spec_of(found).get("selector")
        if self._kind == "ReplicationController":
            return selector_from_labels(selector or {})
        return selector_of(selector)

    def _set_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        for key in owners_of(self._kind, old, new):
            self.queue.add_after(key, GATHER)
        for key in takers_of(new, self._sets, self._selector):
            self.queue.add(key)
