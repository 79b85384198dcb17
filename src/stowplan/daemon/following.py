"""Which resources the scheduler follows, and the informers that follow them."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Final, final

from stowplan.api.meta import KubeObject, Namespace
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.policy import PodDisruptionBudget
from stowplan.api.resource import DeviceClass, ResourceClaim, ResourceSlice
from stowplan.api.storage import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from stowplan.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from stowplan.client.decoding import RecordDecoder
from stowplan.client.informer import Informer, Selection
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.daemon.writing import resource_of

UNFINISHED: Final = Selection(field_selector="status.phase!=Succeeded,status.phase!=Failed")
"""Pods that are done use nothing any more, so they are not even listed."""

OBJECTS: Final[Sequence[type[KubeObject]]] = (
    Namespace,
    Service,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
    PodDisruptionBudget,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    VolumeAttachment,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
)


@final
class Following:
    """One informer a resource: objects first, then nodes, then pods, so that pods find what they refer to."""

    def __init__(self, client: ApiClient, clock: Clock, rng: Random) -> None:
        self.pods: Informer[Pod] = Informer(
            client, resource_of(Pod), RecordDecoder(Pod), clock=clock, rng=rng, selection=UNFINISHED
        )
        self.nodes: Informer[Node] = Informer(client, resource_of(Node), RecordDecoder(Node), clock=clock, rng=rng)
        self.objects: Mapping[type[KubeObject], Informer[Any]] = {
            kind: Informer(client, resource_of(kind), RecordDecoder(kind), clock=clock, rng=rng) for kind in OBJECTS
        }

    @property
    def all(self) -> Sequence[Informer[Any]]:
        """Every informer."""
        return (*self.objects.values(), self.nodes, self.pods)

    @property
    def unsynced(self) -> list[str]:
        """The resources whose first list is not complete."""
        return [informer.resource.plural for informer in self.all if not informer.has_synced]

    async def synced(self) -> None:
        """Wait until all have listed."""
        for informer in self.all:
            await informer.synced()
