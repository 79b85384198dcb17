"""Defaults of volumes, claims, classes and drivers.

Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go (v1.36.4).
"""

from typing import Any

Json = dict[str, Any]


def default_claim(claim: Json) -> None:
    """Fill in a PersistentVolumeClaim."""
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    claim.setdefault("status", {}).setdefault("phase", "Pending")


def default_volume(volume: Json) -> None:
    """Fill in a PersistentVolume."""
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    volume.setdefault("status", {}).setdefault("phase", "Pending")


def default_class(storage_class: Json) -> None:
    """Fill in a StorageClass."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def default_driver(driver: Json) -> None:
    """Fill in a CSIDriver."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("seLinuxMount", False)


def default_attachment(attachment: Json) -> None:
    """Fill in a VolumeAttachment."""
    attachment.setdefault("status", {}).setdefault("attached", False)
