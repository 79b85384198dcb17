"""What services, ingresses and network policies may say.

Upstream: pkg/apis/core/validation/validation.go, ValidateService, pkg/apis/networking/validation (v1.36.4).
"""

import ipaddress
from collections.abc import Iterator
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import duplicate, invalid_value, label_faults, port_faults, required, unsupported

Json = dict[str, Any]

TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
PROTOCOLS = ("SCTP", "TCP", "UDP")
AFFINITIES = ("ClientIP", "None")
POLICY_TYPES = ("Ingress", "Egress")
NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def validate_service(service: Json) -> Iterator[Cause]:
    """A service."""
    spec = service.get("spec") or {}
    kind, ports = spec.get("type"), spec.get("ports") or ()
    if kind == "ExternalName" and not spec.get("externalName"):
        yield required("spec.externalName")
    if kind != "ExternalName" and not ports and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    yield from _port_faults(ports)
    yield from label_faults(spec.get("selector") or {}, "spec.selector")
    affinity = spec.get("sessionAffinity")
    if affinity not in AFFINITIES:
        yield unsupported("spec.sessionAffinity", affinity, AFFINITIES)
    if kind not in TYPES:
        yield unsupported("spec.type", kind, TYPES)


def _port_faults(ports: Any) -> Iterator[Cause]:
    names = set()
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            yield required(f"{where}.name")
        if port.get("name") and port["name"] in names:
            yield duplicate(f"{where}.name", port["name"])
        names.add(port.get("name"))
        yield from port_faults(f"{where}.port", port.get("port", 0))
        if port.get("protocol") not in PROTOCOLS:
            yield unsupported(f"{where}.protocol", port.get("protocol"), PROTOCOLS)
        yield from port_faults(f"{where}.targetPort", port.get("targetPort", 0))


def address_faults(spec: Json) -> Iterator[Cause]:
    """The addresses that a service asks for."""
    for index, address in enumerate(spec.get("clusterIPs") or (spec.get("clusterIP"),)):
        if address in (None, "", "None"):
            continue
        try:
            ipaddress.ip_address(address)
        except ValueError:
            yield invalid_value(f"spec.clusterIPs[{index}]", address, NO_ADDRESS)


def keep_service_address(service: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """The first address of a service stands."""
    spec, known = service["spec"], old["spec"]
    fixed = known.get("type") != "ExternalName" and spec.get("type") != "ExternalName"
    if not subresource and fixed and known.get("clusterIP") and spec.get("clusterIP") != known["clusterIP"]:
        yield Cause("FieldValueInvalid", f'Invalid value: ["{spec.get("clusterIP")}"]: may not change once set',
                    "spec.clusterIPs[0]")  # fmt: skip


def validate_ingress(ingress: Json) -> Iterator[Cause]:
    """An Ingress."""
    spec = ingress.get("spec") or {}
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        text = "Invalid value: null: either `defaultBackend` or `rules` must be specified"
        yield Cause("FieldValueInvalid", text, "spec")


def validate_network_policy(policy: Json) -> Iterator[Cause]:
    """A NetworkPolicy."""
    for index, kind in enumerate((policy.get("spec") or {}).get("policyTypes") or ()):
        if kind not in POLICY_TYPES:
            yield unsupported(f"spec.policyTypes[{index}]", kind, POLICY_TYPES)
