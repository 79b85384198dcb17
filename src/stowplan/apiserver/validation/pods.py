"""What a pod may say, and what of it may change.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec and ValidatePodUpdate (v1.36.4).
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import (
    duplicate,
    forbidden_field,
    invalid_value,
    label_faults,
    label_name_faults,
    qualified_faults,
    required,
    subdomain_faults,
    unsupported,
)
from stowplan.apiserver.validation.containers import (
    container_faults,
    host_network_faults,
    host_user_faults,
    pod_claim_faults,
)
from stowplan.apiserver.validation.placement import affinity_faults, spread_faults, toleration_faults
from stowplan.apiserver.validation.quantities import amounts_faults, resource_faults

Json = dict[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
VOLUME_KINDS = (
    "emptyDir", "hostPath", "gitRepo", "gcePersistentDisk", "awsElasticBlockStore", "secret", "nfs", "iscsi",
    "glusterfs", "flocker", "persistentVolumeClaim", "rbd", "cinder", "cephfs", "downwardAPI", "fc", "flexVolume",
    "configMap", "azureFile", "vsphereVolume", "quobyte", "photonPersistentDisk", "azureDisk", "storageos", "projected",
    "scaleIO", "csi", "ephemeral", "image", "portworxVolume",
)  # fmt: skip
"""In the order in which they are looked at; the second of two is the one refused."""

FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod(pod: Json) -> Iterator[Cause]:
    """A new pod."""
    spec = pod.get("spec") or {}
    yield from spec_faults(spec, "spec", of_pod=True)
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden_field("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def spec_faults(spec: Json, path: str, *, of_pod: bool = False) -> Iterator[Cause]:
    """The specification of a pod or of a template."""
    yield from _volume_faults(spec, path)
    yield from pod_claim_faults(spec.get("resourceClaims") or (), f"{path}.resourceClaims")
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    yield from container_faults(spec, path, {volume.get("name", "") for volume in spec.get("volumes") or ()})
    if spec.get("resources"):
        yield from resource_faults(spec["resources"], f"{path}.resources")
    yield from host_network_faults(spec, path, of_pod=of_pod)
    yield from host_user_faults(spec, path)
    for name, choices in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(name) is not None and spec[name] not in choices:
            yield unsupported(f"{path}.{name}", spec[name], choices)
    yield from label_faults(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from affinity_faults(spec.get("affinity") or {}, f"{path}.affinity")
    yield from _gate_faults(spec.get("schedulingGates") or (), f"{path}.schedulingGates")
    yield from spread_faults(spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints")
    if spec.get("nodeName"):
        for why in subdomain_faults(spec["nodeName"]):
            yield invalid_value(f"{path}.nodeName", spec["nodeName"], why)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")
    for name in ("hostname", "subdomain"):
        if spec.get(name):
            for why in label_name_faults(spec[name]):
                yield invalid_value(f"{path}.{name}", spec[name], why)
    yield from toleration_faults(spec.get("tolerations") or (), f"{path}.tolerations")
    if spec.get("overhead"):
        yield from amounts_faults(spec["overhead"], f"{path}.overhead")


def _gate_faults(gates: Any, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, gate in enumerate(gates):
        name = gate.get("name", "")
        for why in qualified_faults(name):
            yield invalid_value(f"{path}[{index}]", name, why)
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def _volume_faults(spec: Json, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        name, where = volume.get("name", ""), f"{path}.volumes[{index}]"
        if not name:
            yield required(f"{where}.name")
        else:
            for why in label_name_faults(name):
                yield invalid_value(f"{where}.name", name, why)
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.add(name)
        for kind in [kind for kind in VOLUME_KINDS if kind in volume][1:]:
            yield forbidden_field(f"{where}.{kind}", "may not specify more than 1 volume type")
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            yield required(f"{where}.persistentVolumeClaim.claimName")


def validate_pod_change(pod: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """A changed pod: almost all of its specification stands."""
    if subresource not in ("", "resize"):
        return
    yield from spec_faults(pod["spec"], "spec", of_pod=True)
    if subresource:
        return
    new_spec, old_spec = pod["spec"], old["spec"]
    if new_spec == old_spec:
        return
    gates = [gate.get("name") for gate in new_spec.get("schedulingGates") or ()]
    old_gates = [gate.get("name") for gate in old_spec.get("schedulingGates") or ()]
    added = [name for name in gates if name not in old_gates]
    if added:
        yield Cause(
            "FieldValueForbidden",
            f"Forbidden: only deletion is allowed, but found new scheduling gate '{added[0]}'",
            "spec.schedulingGates",
        )
    tolerations = new_spec.get("tolerations") or []
    if any(toleration not in tolerations and not _prolonged(toleration, tolerations)
           for toleration in old_spec.get("tolerations") or ()):  # fmt: skip
        yield Cause(
            "FieldValueForbidden",
            "Forbidden: existing toleration can not be modified except its tolerationSeconds",
            "spec.tolerations",
        )
    if _frozen_part(new_spec, gated=bool(old_gates)) != _frozen_part(old_spec, gated=bool(old_gates)):
        yield Cause("FieldValueForbidden", f"Forbidden: {FROZEN}", "spec")


def _prolonged(toleration: Json, others: list[Json]) -> bool:
    bare = {name: value for name, value in toleration.items() if name != "tolerationSeconds"}
    return any(
        bare == {name: value for name, value in other.items() if name != "tolerationSeconds"} for other in others
    )


def _frozen_part(spec: Json, *, gated: bool) -> Json:
    free = {"activeDeadlineSeconds", "tolerations", "schedulingGates", "terminationGracePeriodSeconds"}
    if gated:
        # parity: until its gates are gone, a pod's node selection may still be narrowed
        free |= {"nodeSelector", "affinity"}
    kept = {name: value for name, value in spec.items() if name not in free}
    for name in ("containers", "initContainers"):
        if name in kept:
            kept[name] = [
                {member: value for member, value in container.items() if member != "image"} for container in kept[name]
            ]
    if spec.get("terminationGracePeriodSeconds") != 1:
        kept["terminationGracePeriodSeconds"] = spec.get("terminationGracePeriodSeconds")
    return kept
