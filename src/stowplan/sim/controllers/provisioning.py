"""Volumes that are made for a claim: of the size asked for, where its pod will run.

Upstream: pkg/controller/volume/persistentvolume/pv_controller.go provisionClaim (v1.36.4).
"""

from typing import Any

from stowplan.sim.cluster.names import DOMAIN
from stowplan.sim.cluster.objects import annotations_of, labels_of, name_of, namespace_of, spec_of, uid_of

Json = dict[str, Any]

SELECTED_NODE = "volume.kubernetes.io/selected-node"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
BOUND_BY_US = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

DEFAULT_PROVISIONER = f"{DOMAIN}/disk"
ZONE = "topology.kubernetes.io/zone"
HOSTNAME = "kubernetes.io/hostname"

DEFAULT_CLASS: Json = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": DEFAULT_PROVISIONER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""The class of claims that name none."""


def waits_for_pod(storage_class: Json | None) -> bool:
    """Whether claims of a class are bound only when a pod that uses them is placed."""
    return storage_class is not None and storage_class.get("volumeBindingMode") == "WaitForFirstConsumer"


def provisions(storage_class: Json | None) -> bool:
    """Whether volumes of a class are made on demand."""
    return storage_class is not None and storage_class.get("provisioner") not in (None, "", NO_PROVISIONER)


def claim_reference(claim: Json) -> Json:
    """How a volume names its claim."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "name": name_of(claim),
        "namespace": namespace_of(claim),
        "uid": uid_of(claim),
        "resourceVersion": claim["metadata"].get("resourceVersion", ""),
    }


def made_volume(claim: Json, storage_class: Json, node: Json | None) -> Json:
    """The volume for a claim; `node` is where its pod goes, if that is known."""
    name = f"pvc-{uid_of(claim)}"
    spec = spec_of(claim)
    provisioner = storage_class["provisioner"]
    volume: Json = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner, BOUND_BY_US: "yes"}},
        "spec": {
            "capacity": {"storage": (spec.get("resources") or {}).get("requests", {}).get("storage", "0")},
            "accessModes": spec.get("accessModes") or ["ReadWriteOnce"],
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "storageClassName": name_of(storage_class),
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "claimRef": claim_reference(claim),
            "csi": {"driver": provisioner, "volumeHandle": name},
        },
    }
    if spec.get("volumeAttributesClassName"):
        volume["spec"]["volumeAttributesClassName"] = spec["volumeAttributesClassName"]
    terms = _topology(storage_class, node)
    if terms:
        volume["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    return volume


def selected_node(claim: Json) -> str:
    """The node that the scheduler has chosen for the claim's pod."""
    return annotations_of(claim).get(SELECTED_NODE, "")


def _topology(storage_class: Json, node: Json | None) -> list[Json]:
    """From where the volume can be reached: the zone of the node, else where the class allows."""
    if node is not None:
        key = ZONE if ZONE in labels_of(node) else HOSTNAME
        place = labels_of(node).get(key, name_of(node))
        return [{"matchExpressions": [{"key": key, "operator": "In", "values": [place]}]}]
    for term in storage_class.get("allowedTopologies") or ():
        # One value of each key: a volume is in one place.
        expressions = [
            {"key": one["key"], "operator": "In", "values": one["values"][:1]}
            for one in term.get("matchLabelExpressions") or ()
        ]
        return [{"matchExpressions": expressions}]
    return []
