"""The tables of volumes, claims, classes and drivers.

Upstream: pkg/printers/internalversion/printers.go (v1.36.4).
"""

from collections.abc import Iterable

from stowplan.apiserver.printing.columns import (
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Json,
    Printer,
    age,
    columns,
    name_of,
)

MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
DEFAULT_MARKS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def modes_text(modes: Iterable[str] | None) -> str:
    """Access modes in short."""
    found = set(modes or ())
    return ",".join(short for mode, short in MODES.items() if mode in found)


def volume_row(value: Json, now: float) -> Cells:
    """Capacity, modes, policy, state, claim, class."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    claim = spec.get("claimRef")
    phase = "Terminating" if "deletionTimestamp" in value["metadata"] else status.get("phase", "")
    return [
        name_of(value), (spec.get("capacity") or {}).get("storage", ""), modes_text(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""), phase,
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "", spec.get("storageClassName", ""),
        spec.get("volumeAttributesClassName", UNSET), status.get("reason", ""), age(value, now),
        spec.get("volumeMode", UNSET),
    ]  # fmt: skip


def claim_row(value: Json, now: float) -> Cells:
    """State, volume, capacity, modes, class."""
    spec, status, meta = value.get("spec") or {}, value.get("status") or {}, value["metadata"]
    phase = "Terminating" if "deletionTimestamp" in meta else status.get("phase", "")
    capacity, modes = "", ""
    if spec.get("volumeName"):
        capacity = (status.get("capacity") or {}).get("storage", "")
        modes = modes_text(status.get("accessModes"))
    class_name = (meta.get("annotations") or {}).get(CLASS_ANNOTATION) or spec.get("storageClassName", "")
    return [
        name_of(value), phase, spec.get("volumeName", ""), capacity, modes, class_name,
        spec.get("volumeAttributesClassName", UNSET), age(value, now), spec.get("volumeMode", UNSET),
    ]  # fmt: skip


def class_row(value: Json, now: float) -> Cells:
    """Provisioner and policies; the default class says so."""
    annotations = value["metadata"].get("annotations") or {}
    mark = " (default)" if any(annotations.get(name) == "true" for name in DEFAULT_MARKS) else ""
    return [
        name_of(value) + mark, value.get("provisioner", ""), value.get("reclaimPolicy", "Delete"),
        value.get("volumeBindingMode", "Immediate"), bool(value.get("allowVolumeExpansion")), age(value, now),
    ]  # fmt: skip


def driver_row(value: Json, now: float) -> Cells:
    """What the driver can do."""
    spec = value.get("spec") or {}
    tokens = ",".join(token.get("audience", "") for token in spec.get("tokenRequests") or ()) or UNSET
    return [
        name_of(value), bool(spec.get("attachRequired")), bool(spec.get("podInfoOnMount")),
        bool(spec.get("storageCapacity")), tokens, bool(spec.get("requiresRepublish")),
        ",".join(spec.get("volumeLifecycleModes") or ()) or NONE, age(value, now),
    ]  # fmt: skip


def csi_node_row(value: Json, now: float) -> Cells:
    """How many drivers."""
    return [name_of(value), len((value.get("spec") or {}).get("drivers") or ()), age(value, now)]


def capacity_row(value: Json, now: float) -> Cells:
    """Where there is how much."""
    return [name_of(value), value.get("storageClassName", ""), value.get("capacity", UNSET), age(value, now)]


def attachment_row(value: Json, now: float) -> Cells:
    """Which volume at which node."""
    spec = value.get("spec") or {}
    volume = (spec.get("source") or {}).get("persistentVolumeName", UNKNOWN)
    attached = bool((value.get("status") or {}).get("attached"))
    return [name_of(value), spec.get("attacher", ""), volume, spec.get("nodeName", ""), attached, age(value, now)]


VOLUMES = Printer(
    columns(
        "Capacity",
        "Access Modes",
        "Reclaim Policy",
        "Status",
        "Claim",
        "StorageClass",
        "VolumeAttributesClass",
        "Reason",
        "Age",
        wide=("VolumeMode",),
    ),
    volume_row,
)
CLAIMS = Printer(
    columns(
        "Status",
        "Volume",
        "Capacity",
        "Access Modes",
        "StorageClass",
        "VolumeAttributesClass",
        "Age",
        wide=("VolumeMode",),
    ),
    claim_row,
)
CLASSES = Printer(
    columns("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"), class_row
)
DRIVERS = Printer(
    columns(
        "AttachRequired", "PodInfoOnMount", "StorageCapacity", "TokenRequests", "RequiresRepublish", "Modes", "Age"
    ),
    driver_row,
)
CSI_NODES = Printer(columns("Drivers", "Age", numbers=("Drivers",)), csi_node_row)
CAPACITIES = Printer(columns("StorageClassName", "Capacity", "Age"), capacity_row)
ATTACHMENTS = Printer(columns("Attacher", "PV", "Node", "Attached", "Age"), attachment_row)
