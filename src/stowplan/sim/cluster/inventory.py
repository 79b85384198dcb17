"""Local copies of everything that the simulation looks at, shared by kubelets and controllers."""

import asyncio
import random
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, final

from stowplan.client import paths
from stowplan.client.decoding import DictDecoder, RecordDecoder
from stowplan.client.paths import Resource
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.collection import Collection
from stowplan.sim.cluster.objects import controller_uid, namespace_of
from stowplan.sim.cluster.records import SimPod

Json = dict[str, Any]

CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")

BY_OWNER = "owner"
"""The uid of the controller."""
BY_NODE = "node"
BY_NAMESPACE = "namespace"
ORPHANS = "orphans"
"""The namespace, of those that nobody controls."""
BY_CLAIM = "claim"
"""`namespace/name` of the volume claims of a pod."""
BY_ADDRESS = "address"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """One collection per resource."""

    pods: Collection[SimPod]
    nodes: Collection[Json]
    leases: Collection[Json]
    namespaces: Collection[Json]
    replica_sets: Collection[Json]
    replication_controllers: Collection[Json]
    deployments: Collection[Json]
    stateful_sets: Collection[Json]
    daemon_sets: Collection[Json]
    jobs: Collection[Json]
    revisions: Collection[Json]
    budgets: Collection[Json]
    claims: Collection[Json]
    volumes: Collection[Json]
    classes: Collection[Json]
    resource_claims: Collection[Json]
    claim_templates: Collection[Json]

    @property
    def all(self) -> tuple[Collection[Any], ...]:
        """All collections."""
        return tuple(getattr(self, field.name) for field in fields(self))

    async def follow(self) -> None:
        """Keep all of them current until cancelled."""
        async with asyncio.TaskGroup() as group:
            for collection in self.all:
                group.create_task(collection.follow(), name=collection.resource.plural)

    async def synced(self) -> None:
        """Wait for the first complete list of each."""
        for collection in self.all:
            await collection.synced()


def take_inventory(client: ApiClient, *, clock: Clock, rng: random.Random) -> Inventory:
    """Collections of one API server, with the indices that controllers ask by."""

    def plain(resource: Resource) -> Collection[Json]:
        made = Collection(client, resource, dict[str, Any], DictDecoder(), clock=clock, rng=rng)
        made.add_index(BY_OWNER, _owner)
        made.add_index(BY_NAMESPACE, _namespace)
        return made

    pods = Collection(client, paths.PODS, SimPod, RecordDecoder(SimPod), clock=clock, rng=rng)
    pods.add_index(BY_OWNER, lambda pod: [pod.controller.uid] if pod.controller is not None else ())
    pods.add_index(ORPHANS, lambda pod: () if pod.controller is not None else [pod.namespace])
    pods.add_index(BY_NODE, lambda pod: [pod.spec.node_name] if pod.spec.node_name else ())
    pods.add_index(BY_NAMESPACE, lambda pod: [pod.namespace])
    pods.add_index(BY_CLAIM, claims_of)
    pods.add_index(BY_ADDRESS, lambda pod: [pod.status.pod_ip] if pod.status.pod_ip else ())
    return Inventory(
        pods=pods,
        nodes=plain(paths.NODES),
        leases=plain(paths.LEASES),
        namespaces=plain(paths.NAMESPACES),
        replica_sets=plain(paths.REPLICA_SETS),
        replication_controllers=plain(paths.REPLICATION_CONTROLLERS),
        deployments=plain(paths.DEPLOYMENTS),
        stateful_sets=plain(paths.STATEFUL_SETS),
        daemon_sets=plain(paths.DAEMON_SETS),
        jobs=plain(paths.JOBS),
        revisions=plain(CONTROLLER_REVISIONS),
        budgets=plain(paths.POD_DISRUPTION_BUDGETS),
        claims=plain(paths.PERSISTENT_VOLUME_CLAIMS),
        volumes=plain(paths.PERSISTENT_VOLUMES),
        classes=plain(paths.STORAGE_CLASSES),
        resource_claims=plain(paths.RESOURCE_CLAIMS),
        claim_templates=plain(paths.RESOURCE_CLAIM_TEMPLATES),
    )


def claims_of(pod: SimPod) -> list[str]:
    """`namespace/name` of the volume claims of a pod, also of those that its ephemeral volumes make."""
    found = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            found.append(f"{pod.namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            found.append(f"{pod.namespace}/{pod.name}-{volume.name}")
    return found


def _owner(obj: Json) -> Iterable[str]:
    uid = controller_uid(obj)
    return [uid] if uid else ()


def _namespace(obj: Json) -> Iterable[str]:
    return [namespace_of(obj)]
