"""What a container of a pod may say: name, image, ports, mounts, environment, probes, resources.

Upstream: pkg/apis/core/validation/validation.go, ValidateContainers (v1.36.4).
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import (
    duplicate,
    forbidden_field,
    invalid_value,
    label_name_faults,
    port_faults,
    port_name_faults,
    required,
    unsupported,
)
from stowplan.apiserver.validation.quantities import resource_faults

Json = dict[str, Any]

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
SCHEMES = ("HTTP", "HTTPS")
HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")


def container_faults(spec: Json, path: str, volumes: Set[str]) -> Iterator[Cause]:
    """All containers of a pod."""
    claims = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    # parity: the running containers come first, so that the later name is the one that is said to be taken
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            yield from _faults(container, f"{path}.{kind}[{index}]", seen, volumes, claims)
        if kind != "ephemeralContainers":
            yield from _host_port_faults(spec.get(kind) or (), f"{path}.{kind}")


def _faults(container: Json, path: str, seen: set[str], volumes: Set[str], claims: Set[str]) -> Iterator[Cause]:
    name = container.get("name", "")
    if not name:
        yield required(f"{path}.name")
    else:
        for why in label_name_faults(name):
            yield invalid_value(f"{path}.name", name, why)
        if name in seen:
            yield duplicate(f"{path}.name", name)
    seen.add(name)
    image = container.get("image", "")
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid_value(f"{path}.image", image, "must not have leading or trailing whitespace")
    yield from _port_list_faults(container.get("ports") or (), f"{path}.ports")
    for index, variable in enumerate(container.get("env") or ()):
        if not variable.get("name"):
            yield required(f"{path}.env[{index}].name")
        if variable.get("value") and variable.get("valueFrom"):
            yield invalid_value(f"{path}.env[{index}].valueFrom", "", "may not be specified when `value` is not empty")
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        where = f"{path}.volumeMounts[{index}]"
        if mount.get("name") not in volumes:
            yield Cause("FieldValueNotFound", f'Not found: "{mount.get("name", "")}"', f"{where}.name")
        if not mount.get("mountPath"):
            yield required(f"{where}.mountPath")
    for kind in PROBES:
        if container.get(kind) is not None:
            yield from _probe_faults(container[kind], f"{path}.{kind}", once=kind != "readinessProbe")
    for moment, handler in (container.get("lifecycle") or {}).items():
        if isinstance(handler, dict):
            yield from _handler_faults(handler, f"{path}.lifecycle.{moment}")
    policy = container.get("imagePullPolicy")
    if policy is not None and policy not in PULL_POLICIES:
        yield unsupported(f"{path}.imagePullPolicy", policy, PULL_POLICIES)
    resources = container.get("resources")
    if resources:
        yield from resource_faults(resources, f"{path}.resources")
        yield from _claim_name_faults(resources.get("claims") or (), f"{path}.resources.claims", claims)


def _port_list_faults(ports: Iterable[Json], path: str) -> Iterator[Cause]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        name = port.get("name")
        if name:
            bad = list(port_name_faults(name))
            for why in bad:
                yield invalid_value(f"{path}[{index}].name", name, why)
            if not bad and name in names:
                yield duplicate(f"{path}[{index}].name", name)
            if not bad:
                names.add(name)
        number = port.get("containerPort")
        if not number:
            yield required(f"{path}[{index}].containerPort")
        else:
            yield from port_faults(f"{path}[{index}].containerPort", number)
        if port.get("hostPort"):
            yield from port_faults(f"{path}[{index}].hostPort", port["hostPort"])
        if port.get("protocol") is not None and port["protocol"] not in PROTOCOLS:
            yield unsupported(f"{path}[{index}].protocol", port["protocol"], PROTOCOLS)


def _host_port_faults(containers: Iterable[Json], path: str) -> Iterator[Cause]:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for number, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            name = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if name in taken:
                yield duplicate(f"{path}[{index}].ports[{number}].hostPort", name)
            taken.add(name)


def host_user_faults(spec: Json, path: str) -> Iterator[Cause]:
    """Users of a pod's own do not go with its node's other namespaces."""
    if spec.get("hostUsers") is not False:
        return
    # parity: two of the three are told with a capital (validateHostUsers)
    for name, told in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(name):
            yield forbidden_field(f"{path}.{told}", "when `hostUsers` is false")


def host_network_faults(spec: Json, path: str, *, of_pod: bool) -> Iterator[Cause]:
    """On its node's network, a container's ports are the node's."""
    if not spec.get("hostNetwork"):
        return
    for index, container in enumerate(spec.get("containers") or ()):
        for number, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (of_pod or host) and host != port.get("containerPort"):
                where = f"{path}.containers[{index}].ports[{number}].hostPort"
                yield invalid_value(where, host, "must match `containerPort` when `hostNetwork` is true")


def _probe_faults(probe: Json, path: str, *, once: bool) -> Iterator[Cause]:
    yield from _handler_faults(probe, path)
    for name in COUNTS:
        if probe.get(name, 0) < 0:
            yield invalid_value(f"{path}.{name}", probe[name], "must be greater than or equal to 0")
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield invalid_value(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if once and probe.get("successThreshold", 1) != 1:
        yield invalid_value(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _handler_faults(handler: Mapping[str, Any], path: str) -> Iterator[Cause]:
    given = [name for name in HANDLERS if handler.get(name) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    first, action = given[0], handler[given[0]]
    where = f"{path}.{first}"
    if first == "exec" and not action.get("command"):
        yield required(f"{where}.command")
    if first in ("httpGet", "tcpSocket"):
        yield from port_faults(f"{where}.port", action.get("port"))
    if first == "grpc":
        yield from port_faults(f"{where}.port", action.get("port", 0))
    if first == "httpGet" and action.get("scheme", "HTTP") not in SCHEMES:
        yield unsupported(f"{where}.scheme", action["scheme"], SCHEMES)
    for other in given[1:]:
        yield forbidden_field(f"{path}.{other}", "may not specify more than 1 handler type")


def _claim_name_faults(claims: Iterable[Json], path: str, known: Set[str]) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, where = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            yield required(where)
            continue
        key = f"{name}/{claim['request']}" if claim.get("request") else name
        if name in seen or key in seen:
            yield duplicate(where, key)
        elif key == name and any(other.startswith(f"{name}/") for other in seen):
            yield duplicate(where, name)
        seen.add(key)
        if name not in known:
            listed = ": " + ", ".join(sorted(known)) if known else " which is empty"
            text = f'Not found: "{name}": must be one of the names in pod.spec.resourceClaims{listed}'
            yield Cause("FieldValueNotFound", text, where)


def pod_claim_faults(claims: Iterable[Json], path: str) -> Iterator[Cause]:
    """The device claims that a pod's containers may refer to."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        name, where = claim.get("name", ""), f"{path}[{index}]"
        if not name:
            yield required(f"{where}.name")
        elif name in seen:
            yield duplicate(f"{where}.name", name)
        else:
            for why in label_name_faults(name):
                yield invalid_value(f"{where}.name", name, why)
        seen.add(name)
        sources = [source for source in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(source)]
        if len(sources) == 1:
            continue
        shown = ", ".join(f"{source}={claim.get(source)}" for source in sources) or name
        why = (
            "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            if sources
            else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        )
        yield invalid_value(where, shown, why)
