"""What a pod may say, and what of it may change.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodSpec and ValidatePodUpdate (v1.36.4).
"""

from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import LABEL_1123, LABEL_TEXT, invalid_value, label_faults, required, unsupported
from stowplan.apiserver.validation.placement import affinity_faults, spread_faults, toleration_faults
from stowplan.apiserver.validation.quantities import resource_faults

Json = dict[str, Any]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("TCP", "UDP", "SCTP")
CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")

FROZEN = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def validate_pod(pod: Json) -> Iterator[Cause]:
    """A new pod."""
    yield from spec_faults(pod.get("spec") or {}, "spec")


def spec_faults(spec: Json, path: str) -> Iterator[Cause]:
    """The specification of a pod or of a template."""
    volumes = {volume.get("name", "") for volume in spec.get("volumes") or ()}
    yield from _volume_faults(spec, path)
    if not spec.get("containers"):
        yield required(f"{path}.containers")
    seen: set[str] = set()
    for name in CONTAINER_LISTS:
        for index, container in enumerate(spec.get(name) or ()):
            yield from _container_faults(container, f"{path}.{name}[{index}]", seen, volumes)
    for name, choices in (("restartPolicy", RESTART_POLICIES), ("dnsPolicy", DNS_POLICIES)):
        if spec.get(name) is not None and spec[name] not in choices:
            yield unsupported(f"{path}.{name}", spec[name], choices)
    yield from label_faults(spec.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from toleration_faults(spec.get("tolerations") or (), f"{path}.tolerations")
    yield from affinity_faults(spec.get("affinity") or {}, f"{path}.affinity")
    yield from spread_faults(spec.get("topologySpreadConstraints") or (), f"{path}.topologySpreadConstraints")
    if spec.get("resources"):
        yield from resource_faults(spec["resources"], f"{path}.resources")
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= 2**31 - 1:
        yield invalid_value(f"{path}.activeDeadlineSeconds", deadline, "must be between 1 and 2147483647, inclusive")


def _volume_faults(spec: Json, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, volume in enumerate(spec.get("volumes") or ()):
        name, where = volume.get("name", ""), f"{path}.volumes[{index}]"
        if not name:
            yield required(f"{where}.name")
        elif len(name) > 63 or not LABEL_1123.match(name):
            yield invalid_value(f"{where}.name", name, LABEL_TEXT)
        if name in seen:
            yield duplicate(f"{where}.name", name)
        seen.add(name)
        if len(volume) > 2:
            yield Cause("FieldValueForbidden", "Forbidden: may not specify more than 1 volume type", where)
        claim = volume.get("persistentVolumeClaim")
        if claim is not None and not claim.get("claimName"):
            yield required(f"{where}.persistentVolumeClaim.claimName")


def duplicate(field: str, value: Any) -> Cause:
    """The cause `Duplicate value`."""
    return Cause("FieldValueDuplicate", f'Duplicate value: "{value}"', field)


def _container_faults(container: Json, path: str, seen: set[str], volumes: set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    elif len(name) > 63 or not LABEL_1123.match(name):
        yield invalid_value(f"{path}.name", name, LABEL_TEXT)
    elif name in seen:
        yield duplicate(f"{path}.name", name)
    seen.add(name)
    image = container.get("image", "")
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid_value(f"{path}.image", image, "must not have leading or trailing whitespace")
    policy = container.get("imagePullPolicy")
    if policy is not None and policy not in PULL_POLICIES:
        yield unsupported(f"{path}.imagePullPolicy", policy, PULL_POLICIES)
    yield from _port_faults(container.get("ports") or (), f"{path}.ports")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if not mount.get("mountPath"):
            yield required(f"{path}.volumeMounts[{index}].mountPath")
        if mount.get("name") not in volumes:
            yield Cause(
                "FieldValueNotFound", f'Not found: "{mount.get("name", "")}"', f"{path}.volumeMounts[{index}].name"
            )
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{path}.env[{index}].name")
        if variable.get("value") and variable.get("valueFrom"):
            yield invalid_value(f"{path}.env[{index}].valueFrom", "", "may not be specified when `value` is not empty")
    yield from resource_faults(container.get("resources") or {}, f"{path}.resources")


def _port_faults(ports: Any, path: str) -> Iterator[Cause]:
    for index, port in enumerate(ports):
        number = port.get("containerPort")
        if not number:
            yield required(f"{path}[{index}].containerPort")
        elif not 1 <= number <= 65535:
            yield invalid_value(f"{path}[{index}].containerPort", number, "must be between 1 and 65535, inclusive")
        host = port.get("hostPort")
        if host and not 1 <= host <= 65535:
            yield invalid_value(f"{path}[{index}].hostPort", host, "must be between 1 and 65535, inclusive")
        if port.get("protocol") is not None and port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{path}[{index}].protocol", port["protocol"], PROTOCOLS)


def validate_pod_change(pod: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """A changed pod: almost all of its specification stands."""
    if subresource == "resize":
        yield from spec_faults(pod["spec"], "spec")
        return
    if subresource:
        return
    yield from spec_faults(pod["spec"], "spec")
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
