"""Deployments: one ReplicaSet per template, and the way from the old ones to the new one.

Upstream: pkg/controller/deployment/deployment_controller.go, sync.go, rolling.go, recreate.go (v1.36.4).
"""

from collections.abc import Sequence
from typing import Any, final

from stowplan.client.errors import AlreadyExists, ClientError
from stowplan.client.paths import DEPLOYMENTS
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_NAMESPACE, BY_OWNER, Inventory
from stowplan.sim.cluster.objects import (
    controller_of,
    created_of,
    generation_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
    uid_of,
)
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.deployment_status import (
    Progress,
    deployment_status,
    is_complete,
    progress_check,
    with_failed_create,
)
from stowplan.sim.controllers.ownership import claim_objects, owner_reference
from stowplan.sim.controllers.revisions import (
    DESIRED,
    MAXIMUM,
    REVISION,
    deployment_annotations,
    number_of,
    revision_of,
    size_annotations,
)
from stowplan.sim.controllers.rollout import Part, Sizes, Wish, initial_size, is_scaled, roll, scale
from stowplan.sim.controllers.templates import HASH_LABEL, same_template, template_hash
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]

ENDLESS = 2**31 - 1


@final
class Deployments:
    """Looks at one Deployment and all its ReplicaSets at a time."""

    name = "deployments"
    workers = 8

    def __init__(self, inventory: Inventory, told: Told, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._deployments = inventory.deployments
        self._sets = inventory.replica_sets
        self._pods = inventory.pods
        self._told = told
        self._clock = clock
        inventory.deployments.listen(self._deployment_changed)
        inventory.replica_sets.listen(self._set_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """One step of the rollout, and the status after it."""
        found = self._deployments.get(key)
        if found is None:
            return None
        selector = selector_of(spec_of(found).get("selector"))
        if selector.is_nothing or selector.is_everything:
            return None
        owned = await claim_objects(self._sets, found, DEPLOYMENTS, selector)
        template = spec_of(found).get("template") or {}
        same = [obj for obj in owned if same_template(spec_of(obj).get("template") or {}, template)]
        new = min(same, key=lambda obj: (created_of(obj), name_of(obj)), default=None)
        olds = [obj for obj in owned if obj is not new]
        created = ""
        if not is_deleting(found):
            if new is not None:
                new = await self._sync_new(found, new, olds)
            new, created = await self._step(found, new, olds)
        return await self._report(found, new, olds, created)

    async def _step(self, found: Json, new: Json | None, olds: Sequence[Json]) -> tuple[Json | None, str]:
        """Create or scale sets; the new set, and how it came to be known."""
        wish = wish_of(found)
        parts = [part_of(obj) for obj in olds]
        new_part = part_of(new) if new is not None else None
        paused = spec_of(found).get("paused")
        if paused or is_scaled(wish, [*parts, *([new_part] if new_part is not None else [])]):
            new = await self._resize(found, new, olds, scale(wish, new_part, parts), force=True)
            if paused:
                await self._clean(found, olds)
            return new, ""
        if not wish.rolling:
            shrunk = {part.name: 0 for part in parts if part.replicas > 0}
            if shrunk or self._old_pods_remain(olds):
                return await self._resize(found, new, olds, shrunk), ""
        created = ""
        if new is None:
            new = await self._create_new(found, wish, olds)
            new_part, created = part_of(new), name_of(new)
        assert new_part is not None, "a new set has a size"
        sizes = roll(wish, new_part, parts) if wish.rolling else {new_part.name: wish.replicas}
        new = await self._resize(found, new, olds, sizes)
        if not sizes and is_complete(found, status_of(found)):
            await self._clean(found, olds)
        return new, created

    async def _sync_new(self, found: Json, new: Json, olds: Sequence[Json]) -> Json:
        revision = max((revision_of(old) for old in olds), default=0) + 1
        annotations = deployment_annotations(found, new, revision)
        min_ready = spec_of(found).get("minReadySeconds") or 0
        known = new["metadata"].get("annotations") or {}
        if annotations == known and (spec_of(new).get("minReadySeconds") or 0) == min_ready:
            return new
        changed = {
            **new,
            "metadata": {**new["metadata"], "annotations": annotations},
            "spec": {**new["spec"], "minReadySeconds": min_ready},
        }
        return await self._sets.update(namespace_of(new), name_of(new), changed)

    async def _create_new(self, found: Json, wish: Wish, olds: Sequence[Json]) -> Json:
        spec = spec_of(found)
        template = spec.get("template") or {}
        collisions: int = status_of(found).get("collisionCount") or 0
        mark = {HASH_LABEL: template_hash(template, collisions)}
        meta = template.get("metadata") or {}
        labels = {**(meta.get("labels") or {}), **mark}
        selector = dict(spec.get("selector") or {})
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), **mark}
        size = initial_size(wish, [part_of(old) for old in olds])
        revision = max((revision_of(old) for old in olds), default=0) + 1
        body: Json = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name_of(found)}-{mark[HASH_LABEL]}",
                "namespace": namespace_of(found),
                "ownerReferences": [owner_reference(found, DEPLOYMENTS)],
                "labels": labels,
            },
            "spec": {
                "replicas": size,
                "minReadySeconds": spec.get("minReadySeconds") or 0,
                "selector": selector,
                "template": {**template, "metadata": {**meta, "labels": labels}},
            },
        }
        annotations = deployment_annotations(found, body, revision) | size_annotations(wish)
        body["metadata"]["annotations"] = annotations
        try:
            made = await self._sets.create(namespace_of(found), body)
        except AlreadyExists:
            # Ours would have been found by its template: this one has another, under the same hash.
            status = {**status_of(found), "collisionCount": collisions + 1}
            await self._write_status(found, status)
            raise
        except ClientError as error:
            note = f'Failed to create new replica set "{body["metadata"]["name"]}": {error.message}'
            self._told.warning(found, DEPLOYMENTS, "ReplicaSetCreateError", note)
            await self._write_status(found, with_failed_create(found, note, self._clock.now()))
            raise
        if size:
            note = f"Scaled up replica set {name_of(made)} from 0 to {size}"
            self._told.normal(found, DEPLOYMENTS, "ScalingReplicaSet", note)
        return made

    async def _resize(
        self, found: Json, new: Json | None, olds: Sequence[Json], sizes: Sizes, *, force: bool = False
    ) -> Json | None:
        """Write new sizes; with `force` also the annotations of sets whose size stays. The new set after that."""
        annotations = size_annotations(wish_of(found))
        for obj in [*olds, *([new] if new is not None else [])]:
            name = name_of(obj)
            before: int = spec_of(obj).get("replicas", 1)
            size = sizes.get(name, before)
            known = obj["metadata"].get("annotations") or {}
            outdated = force and size > 0 and not annotations.items() <= known.items()
            if size == before and not outdated:
                continue
            changed = {
                **obj,
                "metadata": {**obj["metadata"], "annotations": {**known, **annotations}},
                "spec": {**obj["spec"], "replicas": size},
            }
            written = await self._sets.update(namespace_of(obj), name, changed)
            if obj is new:
                new = written
            if size != before:
                way = "up" if size > before else "down"
                note = f"Scaled {way} replica set {name} from {before} to {size}"
                self._told.normal(found, DEPLOYMENTS, "ScalingReplicaSet", note)
        return new

    async def _clean(self, found: Json, olds: Sequence[Json]) -> None:
        """Delete the oldest of the empty sets that are more than the history wants."""
        limit: int = spec_of(found).get("revisionHistoryLimit", ENDLESS)
        if limit == ENDLESS:
            return
        alive = [old for old in olds if not is_deleting(old)]
        alive.sort(key=lambda old: (revision_of(old), created_of(old), name_of(old)))
        for old in alive[: max(len(alive) - limit, 0)]:
            status = status_of(old)
            busy = status.get("replicas") or spec_of(old).get("replicas")
            if not busy and generation_of(old) <= (status.get("observedGeneration") or 0):
                await self._sets.delete(old)

    async def _report(self, found: Json, new: Json | None, olds: Sequence[Json], created: str) -> float | None:
        current = self._deployments.get(key_of(found))
        if current is None or uid_of(current) != uid_of(found):
            return None
        # The sets as they are after our own writes.
        olds = [self._sets.get(key_of(old)) or old for old in olds]
        progress = Progress(new=new, olds=olds, created=created, wish=wish_of(found), now=self._clock.now())
        status = deployment_status(found, progress)
        annotations = dict(current["metadata"].get("annotations") or {})
        if new is not None and not is_deleting(found):
            annotations[REVISION] = (new["metadata"].get("annotations") or {}).get(REVISION, "1")
        if status != status_of(current) or annotations != (current["metadata"].get("annotations") or {}):
            meta = {**current["metadata"], "annotations": annotations}
            await self._write_status({**current, "metadata": meta}, status)
        return progress_check(found, status, self._clock.now())

    async def _write_status(self, found: Json, status: Json) -> None:
        body = {**found, "status": status}
        await self._deployments.update(namespace_of(found), name_of(found), body, subresource="status")

    def _old_pods_remain(self, olds: Sequence[Json]) -> bool:
        return any(
            (status_of(old).get("replicas") or 0) > 0
            or any(not pod.finished for pod in self._pods.indexed(BY_OWNER, uid_of(old)))
            for old in olds
        )

    def _deployment_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    def _set_changed(self, old: Json | None, new: Json | None) -> None:
        obj = new or old
        assert obj is not None, "a change of nothing"
        for state in (old, new):
            owner = controller_of(state) if state is not None else None
            if owner is not None and owner["kind"] == "Deployment":
                self.queue.add(f"{namespace_of(obj)}/{owner['name']}")
        if new is not None and controller_of(new) is None:
            for found in self._deployments.indexed(BY_NAMESPACE, namespace_of(new)):
                if selector_of(spec_of(found).get("selector")).matches(labels_of(new)):
                    self.queue.add(key_of(found))

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        # A Deployment that recreates waits for the end of its last old pod.
        if new is not None or old is None or old.controller is None or old.controller.kind != "ReplicaSet":
            return
        owner = self._sets.get(f"{old.namespace}/{old.controller.name}")
        deployment = controller_of(owner) if owner is not None else None
        if deployment is None:
            return
        found = self._deployments.get(f"{old.namespace}/{deployment['name']}")
        if found is not None and not wish_of(found).rolling:
            self.queue.add(key_of(found))


def wish_of(found: Json) -> Wish:
    """What a Deployment asks for."""
    spec = spec_of(found)
    strategy = spec.get("strategy") or {}
    rolling = strategy.get("rollingUpdate") or {}
    return Wish(
        replicas=spec.get("replicas", 1),
        rolling=strategy.get("type", "RollingUpdate") == "RollingUpdate",
        max_surge=rolling.get("maxSurge"),
        max_unavailable=rolling.get("maxUnavailable"),
        present=status_of(found).get("replicas") or 0,
    )


def part_of(obj: Json) -> Part:
    """A ReplicaSet as the arithmetic sees it."""
    annotations = obj["metadata"].get("annotations") or {}
    return Part(
        name=name_of(obj),
        replicas=spec_of(obj).get("replicas", 1),
        available=status_of(obj).get("availableReplicas") or 0,
        created=created_of(obj),
        desired=number_of(annotations.get(DESIRED)),
        most=number_of(annotations.get(MAXIMUM)),
    )
