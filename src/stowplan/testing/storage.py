"""Builders of storage objects: volumes, claims, classes, and what drivers say of nodes and pools."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from stowplan.api.affinity import NodeSelector, NodeSelectorTerm, TopologySelectorLabelRequirement, TopologySelectorTerm
from stowplan.api.claims import BIND_COMPLETED, WAIT_FOR_FIRST_CONSUMER
from stowplan.api.csi_migration import MIGRATED_PLUGINS
from stowplan.api.meta import LabelSelector, ObjectMeta, ObjectReference, OwnerReference
from stowplan.api.pod import Pod
from stowplan.api.storage import (
    CSIDriver,
    CSIDriverSpec,
    CSINode,
    CSINodeDriver,
    CSINodeSpec,
    CSIPersistentVolumeSource,
    CSIStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    PersistentVolumeSpec,
    PersistentVolumeStatus,
    StorageClass,
    VolumeAttachment,
    VolumeAttachmentSource,
    VolumeAttachmentSpec,
    VolumeNodeAffinity,
    VolumeNodeResources,
)
from stowplan.api.volumes import EphemeralVolumeSource, PersistentVolumeClaimSpec, Volume, VolumeResourceRequirements

EVERYWHERE: Final = LabelSelector()


def volume(
    name: str = "volume",
    *,
    size: str = "10Gi",
    storage_class: str = "",
    on: Iterable[NodeSelectorTerm] | None = None,
    modes: Iterable[str] = ("ReadWriteOnce",),
    mode: str | None = None,
    attributes: str | None = None,
    claim: PersistentVolumeClaim | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    deleted: str | None = None,
    version: str = "",
    driver: str = "",
    **source: Any,
) -> PersistentVolume:
    """An available volume, or one that refers to a claim; other sources than a driver's go in by their field name."""
    ref = None
    if claim is not None:
        ref = ObjectReference(
            kind="PersistentVolumeClaim", namespace=claim.namespace, name=claim.name, uid=claim.uid, api_version="v1"
        )
    if driver:
        source["csi"] = CSIPersistentVolumeSource(driver=driver, volume_handle=name)
    return PersistentVolume(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-{name}",
            labels=dict(labels or {}),
            annotations=dict(annotations or {}),
            deletion_timestamp=deleted,
            resource_version=version,
        ),
        spec=PersistentVolumeSpec(
            capacity={"storage": size},
            access_modes=tuple(modes),
            storage_class_name=storage_class,
            volume_mode=mode,
            volume_attributes_class_name=attributes,
            node_affinity=(
                None if on is None else VolumeNodeAffinity(required=NodeSelector(node_selector_terms=tuple(on)))
            ),
            claim_ref=ref,
            **source,
        ),
        status=PersistentVolumeStatus(phase=phase or ("Available" if claim is None else "Bound")),
    )


def claim(
    name: str = "claim",
    *,
    namespace: str = "default",
    size: str | None = "5Gi",
    storage_class: str | None = "",
    bound_to: str = "",
    complete: bool = True,
    modes: Iterable[str] = ("ReadWriteOnce",),
    mode: str | None = None,
    attributes: str | None = None,
    selector: LabelSelector | None = None,
    annotations: Mapping[str, str] | None = None,
    phase: str = "",
    deleted: str | None = None,
    owner: Pod | None = None,
    version: str = "",
) -> PersistentVolumeClaim:
    """A claim; `bound_to` names its volume, and binding is finished unless `complete` says otherwise."""
    marks = {BIND_COMPLETED: "yes"} if bound_to and complete else {}
    owners = () if owner is None else (OwnerReference(kind="Pod", name=owner.name, uid=owner.uid, controller=True),)
    return PersistentVolumeClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=f"uid-{namespace}-{name}",
            annotations={**marks, **(annotations or {})},
            deletion_timestamp=deleted,
            owner_references=owners,
            resource_version=version,
        ),
        spec=PersistentVolumeClaimSpec(
            access_modes=tuple(modes),
            selector=selector,
            resources=VolumeResourceRequirements(requests={} if size is None else {"storage": size}),
            volume_name=bound_to,
            storage_class_name=storage_class,
            volume_mode=mode,
            volume_attributes_class_name=attributes,
        ),
        status=PersistentVolumeClaimStatus(phase=phase or ("Bound" if marks else "Pending")),
    )


def storage_class(
    name: str = "fast",
    *,
    provisioner: str = "csi.example.com",
    mode: str | None = WAIT_FOR_FIRST_CONSUMER,
    topologies: Iterable[Mapping[str, Iterable[str]]] = (),
) -> StorageClass:
    """A class whose claims wait for their first pod; `topologies` are terms of label keys to values."""
    return StorageClass(
        metadata=ObjectMeta(name=name),
        provisioner=provisioner,
        volume_binding_mode=mode,
        allowed_topologies=tuple(
            TopologySelectorTerm(
                match_label_expressions=tuple(
                    TopologySelectorLabelRequirement(key=key, values=tuple(values)) for key, values in term.items()
                )
            )
            for term in topologies
        ),
    )


def csi_node(name: str, limits: Mapping[str, int | None] | None = None, *, migrated: Iterable[str] = ()) -> CSINode:
    """The drivers of a node and their limits; None is no limit."""
    listed = ",".join(migrated)
    return CSINode(
        metadata=ObjectMeta(name=name, annotations={MIGRATED_PLUGINS: listed} if listed else {}),
        spec=CSINodeSpec(
            drivers=tuple(
                CSINodeDriver(name=driver, allocatable=None if limit is None else VolumeNodeResources(count=limit))
                for driver, limit in (limits or {}).items()
            )
        ),
    )


def csi_driver(name: str, *, counts_room: bool | None = None, needed: bool | None = None) -> CSIDriver:
    """A driver, whether it says how much room there is, and whether nodes without it are left out."""
    spec = CSIDriverSpec(storage_capacity=counts_room, prevent_pod_scheduling_if_missing=needed)
    return CSIDriver(metadata=ObjectMeta(name=name), spec=spec)


def pool(
    name: str,
    *,
    storage_class: str,
    room: str | None = "100Gi",
    largest: str | None = None,
    near: LabelSelector | None = EVERYWHERE,
) -> CSIStorageCapacity:
    """How much a class can provide near some nodes, all by default."""
    return CSIStorageCapacity(
        metadata=ObjectMeta(name=name, namespace="kube-system"),
        storage_class_name=storage_class,
        capacity=room,
        maximum_volume_size=largest,
        node_topology=near,
    )


def attachment(name: str, *, of: str | None, to: str, by: str = "csi.example.com") -> VolumeAttachment:
    """A volume attached to a node by a driver."""
    return VolumeAttachment(
        metadata=ObjectMeta(name=name),
        spec=VolumeAttachmentSpec(attacher=by, node_name=to, source=VolumeAttachmentSource(persistent_volume_name=of)),
    )


def ephemeral(name: str) -> Volume:
    """A pod's volume whose claim is made for the pod."""
    return Volume(name=name, ephemeral=EphemeralVolumeSource())
