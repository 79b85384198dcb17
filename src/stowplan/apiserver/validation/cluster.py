"""What nodes, configuration, volumes and policies may say, and what of it may change.

Upstream: pkg/apis/core/validation, pkg/apis/storage/validation, pkg/apis/policy/validation (v1.36.4).
"""

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import (
    duplicate,
    forbidden_field,
    immutable,
    invalid_value,
    required,
    subdomain_faults,
    unsupported,
)
from stowplan.apiserver.quantities import amount
from stowplan.apiserver.validation.placement import node_selector_faults, selector_faults, taint_faults
from stowplan.apiserver.validation.quantities import amounts_faults
from stowplan.apiserver.validation.workloads import int_or_percent_faults

Json = dict[str, Any]

DATA_KEY = re.compile(r"^[-._a-zA-Z0-9]+$")
DATA_LIMIT = 1024 * 1024
NEEDED_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
"""By the type of a secret."""
ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
RECLAIM = ("Delete", "Recycle", "Retain")
CLASS_RECLAIM = ("Delete", "Retain")
VOLUME_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
"""In the order in which they are looked at; the second of two is the one refused."""
EVICTION_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
HIGHEST_USER_PRIORITY = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


def validate_node(node: Json) -> Iterator[Cause]:
    """A node."""
    # parity: the path is where taints once stood
    yield from taint_faults((node.get("spec") or {}).get("taints") or (), "metadata.taints")
    for name in ("capacity", "allocatable"):
        for cause in amounts_faults((node.get("status") or {}).get(name) or {}, f"status.{name}"):
            # parity: here a resource is a member of the path, not a key in it
            yield Cause(cause.reason, cause.message, cause.field.replace("[", ".").rstrip("]"))


def validate_data(value: Json) -> Iterator[Cause]:
    """The entries of a ConfigMap or Secret."""
    size = 0
    for name in ("data", "binaryData"):
        for key, text in (value.get(name) or {}).items():
            if not DATA_KEY.match(key) or len(key) > 253 or key in (".", ".."):
                why = (
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
                    "'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                )
                yield invalid_value(f"{name}[{key}]", key, why)
            size += len(text)
            if value.get("kind") == "Secret" or name == "binaryData":
                try:
                    base64.b64decode(text, validate=True)
                except (binascii.Error, ValueError):
                    yield invalid_value(f"{name}[{key}]", "<secret>", "illegal base64 data")
    for key in NEEDED_KEYS.get(value.get("type", ""), ()):
        if key not in (value.get("data") or {}):
            yield required(f"data[{key}]")
    if size > DATA_LIMIT * (2 if value.get("kind") == "Secret" else 1):
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {DATA_LIMIT} bytes", "")


def keep_immutable_data(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """What was declared immutable stands; the type of a Secret always does."""
    if subresource:
        return
    if value.get("type") != old.get("type"):
        yield immutable("type", value.get("type"))
    if not old.get("immutable"):
        return
    text = "Forbidden: field is immutable when `immutable` is set"
    for name in ("immutable", "data", "binaryData"):
        if value.get(name) != old.get(name):
            yield Cause("FieldValueForbidden", text, name)


def validate_claim(claim: Json) -> Iterator[Cause]:
    """A PersistentVolumeClaim."""
    spec = claim.get("spec") or {}
    modes = spec.get("accessModes") or ()
    if not modes:
        yield required("spec.accessModes", "at least 1 access mode is required")
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, ACCESS_MODES)
    if len(modes) > 1 and "ReadWriteOncePod" in modes:
        text = "Forbidden: may not use ReadWriteOncePod with other access modes"
        yield Cause("FieldValueForbidden", text, "spec.accessModes")
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        yield required("spec.resources[storage]")
    elif amount(wanted) <= 0:
        yield invalid_value("spec.resources[storage]", wanted, "must be greater than zero")
    if spec.get("storageClassName"):
        for why in subdomain_faults(spec["storageClassName"]):
            yield invalid_value("spec.storageClassName", spec["storageClassName"], why)
    if spec.get("volumeMode") not in ("Block", "Filesystem"):
        yield unsupported("spec.volumeMode", spec.get("volumeMode"), ("Block", "Filesystem"))
    yield from selector_faults(spec.get("selector"), "spec.selector")


def keep_claim(claim: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """A claim's specification stands, but for its size and the volume it gets."""
    if subresource:
        return
    free = {"resources", "volumeAttributesClassName"}
    if not old["spec"].get("volumeName"):
        free.add("volumeName")
    if "storageClassName" not in old["spec"]:
        free.add("storageClassName")
    rest = {name: part for name, part in claim["spec"].items() if name not in free}
    known = {name: part for name, part in old["spec"].items() if name not in free}
    if rest != known:
        text = (
            "Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for "
            "bound claims"
        )
        yield Cause("FieldValueForbidden", text, "spec")
    before = ((old["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    after = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage", "0")
    if amount(after) < amount(before):
        text = "Forbidden: field can not be less than status.capacity"
        yield Cause("FieldValueForbidden", text, "spec.resources.requests.storage")


def validate_volume(volume: Json) -> Iterator[Cause]:
    """A PersistentVolume."""
    spec = volume.get("spec") or {}
    if not spec.get("accessModes"):
        yield required("spec.accessModes")
    for mode in spec.get("accessModes") or ():
        if mode not in ACCESS_MODES:
            yield unsupported("spec.accessModes", mode, ACCESS_MODES)
    size = (spec.get("capacity") or {}).get("storage")
    if not spec.get("capacity"):
        yield required("spec.capacity")
    if size is None or len(spec["capacity"]) > 1:
        shown = msgspec.json.encode(spec.get("capacity")).decode()
        text = f'Unsupported value: {shown}: supported values: "storage"'
        yield Cause("FieldValueNotSupported", text, "spec.capacity")
    elif amount(size) <= 0:
        yield invalid_value("spec.capacity[storage]", size, "must be greater than zero")
    if spec.get("persistentVolumeReclaimPolicy") not in RECLAIM:
        yield unsupported("spec.persistentVolumeReclaimPolicy", spec.get("persistentVolumeReclaimPolicy"), RECLAIM)
    needed = (spec.get("nodeAffinity") or {}).get("required")
    if needed is not None:
        yield from node_selector_faults(needed, "spec.nodeAffinity.required")
    kinds = [kind for kind in VOLUME_SOURCES if spec.get(kind) is not None]
    if not kinds:
        yield required("spec", "must specify a volume type")
    for kind in kinds[1:]:
        yield forbidden_field(f"spec.{kind}", "may not specify more than 1 volume type")
    if "local" in spec and needed is None:
        yield required("spec.nodeAffinity", "Local volume requires node affinity")


def validate_storage_class(value: Json) -> Iterator[Cause]:
    """A StorageClass."""
    if not value.get("provisioner"):
        yield required("provisioner")
    if value.get("reclaimPolicy") not in CLASS_RECLAIM:
        yield unsupported("reclaimPolicy", value.get("reclaimPolicy"), CLASS_RECLAIM)
    if value.get("volumeBindingMode") not in BINDING_MODES:
        yield unsupported("volumeBindingMode", value.get("volumeBindingMode"), BINDING_MODES)


def keep_storage_class(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """A class stands."""
    if subresource:
        return
    for name in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if value.get(name) != old.get(name):
            if name in ("reclaimPolicy", "volumeBindingMode"):
                yield immutable(name, value.get(name))
            else:
                text = f"Forbidden: updates to {name} are forbidden."
                yield Cause("FieldValueForbidden", text, name)


def validate_priority_class(value: Json) -> Iterator[Cause]:
    """A PriorityClass."""
    name, number = value["metadata"].get("name", ""), value.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        if SYSTEM_CLASSES.get(name) != number:
            text = f"Forbidden: priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only. error: {name} is not a known system priority class"  # noqa: E501
            yield Cause("FieldValueForbidden", text, "metadata.name")
    elif number > HIGHEST_USER_PRIORITY:
        text = f"Forbidden: maximum allowed value of a user defined priority is {HIGHEST_USER_PRIORITY}"
        yield Cause("FieldValueForbidden", text, "value")
    if not -(2**31) <= number < 2**31:
        yield invalid_value("value", number, "must fit in 32 bits")
    if value.get("preemptionPolicy") not in ("PreemptLowerPriority", "Never"):
        yield unsupported("preemptionPolicy", value.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"))


def keep_priority_class(value: Json, old: Json, _subresource: str) -> Iterator[Cause]:
    """A priority's value and policy stand."""
    if value.get("value") != old.get("value"):
        yield Cause("FieldValueForbidden", "Forbidden: may not be changed in an update.", "value")
    if value.get("preemptionPolicy") != old.get("preemptionPolicy"):
        yield Cause("FieldValueInvalid", f'Invalid value: "{value.get("preemptionPolicy")}": field is immutable',
                    "preemptionPolicy")  # fmt: skip


def validate_budget(value: Json) -> Iterator[Cause]:
    """A PodDisruptionBudget."""
    spec = value.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        yield invalid_value("spec", "", "minAvailable and maxUnavailable cannot be both set")
    for name in ("minAvailable", "maxUnavailable"):
        if name in spec:
            yield from int_or_percent_faults(spec[name], f"spec.{name}", most=100)
    yield from selector_faults(spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in EVICTION_POLICIES:
        yield unsupported("spec.unhealthyPodEvictionPolicy", policy, EVICTION_POLICIES)


def validate_lease(value: Json) -> Iterator[Cause]:
    """A Lease."""
    spec = value.get("spec") or {}
    seconds, times = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        yield invalid_value("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    if times is not None and times < 0:
        yield invalid_value("spec.leaseTransitions", times, "must be greater than or equal to 0")


def validate_csi_node(value: Json) -> Iterator[Cause]:
    """A CSINode."""
    names: set[str] = set()
    for index, driver in enumerate((value.get("spec") or {}).get("drivers") or ()):
        where = f"spec.drivers[{index}]"
        name = driver.get("name", "")
        if not name:
            yield required(f"{where}.name")
        if not driver.get("nodeID"):
            yield required(f"{where}.nodeID")
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            yield invalid_value(f"{where}.allocatable.count", count, "must be greater than or equal to 0")
        if name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)


def validate_autoscaler(value: Json) -> Iterator[Cause]:
    """A HorizontalPodAutoscaler."""
    spec = value.get("spec") or {}
    least, most, target = spec.get("minReplicas", 1), spec.get("maxReplicas", 0), spec.get("scaleTargetRef") or {}
    if least < 1:
        yield invalid_value("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    if most < least:
        yield invalid_value("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    for name in ("kind", "name"):
        if not target.get(name):
            yield required(f"spec.scaleTargetRef.{name}")
