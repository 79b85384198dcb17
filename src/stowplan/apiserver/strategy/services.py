"""Services: cluster addresses and node ports, given out once.

Upstream: pkg/registry/core/service/storage/{alloc,storage}.go (v1.36.4).
"""

import ipaddress
import random
from typing import Any

from stowplan.apiserver.context import SERVICES, Api
from stowplan.apiserver.errors import Cause, Subject, invalid
from stowplan.apiserver.validation.services import address_faults, validate_service

Json = dict[str, Any]

CLUSTER_RANGE = ipaddress.IPv4Network("10.96.0.0/16")
NODE_PORTS = range(30_000, 32_768)
WITH_ADDRESS = ("ClusterIP", "NodePort", "LoadBalancer")
WITH_NODE_PORT = ("NodePort", "LoadBalancer")


def prepare_service(api: Api, service: Json) -> None:
    """Give a new service its addresses."""
    service["status"] = {"loadBalancer": {}}
    causes = [*validate_service(service), *address_faults(service["spec"])]
    if causes:
        # parity: nobody gets an address before the rest is right
        raise invalid(Subject("", "Service", service["metadata"].get("name", "")), causes)
    _allocate(api, service, None)


def prepare_ingress(_api: Api, ingress: Json) -> None:
    """A new ingress has no address yet."""
    ingress["status"] = {"loadBalancer": {}}


def keep_service(api: Api, service: Json, old: Json) -> None:
    """A changed service keeps its addresses unless its type has none."""
    spec, known = service["spec"], old["spec"]
    if spec.get("type") != "ExternalName" and known.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if name in known:
                spec.setdefault(name, known[name])
        ports = {(port.get("name"), port.get("port"), port.get("protocol")): port for port in known.get("ports", ())}
        if spec.get("type") in WITH_NODE_PORT:
            for port in spec.get("ports", ()):
                before = ports.get((port.get("name"), port.get("port"), port.get("protocol")))
                if before and "nodePort" in before:
                    port.setdefault("nodePort", before["nodePort"])
    _allocate(api, service, old)


def _allocate(api: Api, service: Json, old: Json | None) -> None:
    spec, meta = service["spec"], service["metadata"]
    if spec.get("type") not in WITH_ADDRESS:
        for name in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            spec.pop(name, None)
        return
    if spec.get("clusterIP") == "None" and not spec.get("selector"):
        # parity: whoever keeps the endpoints of such a service decides of their family
        spec.setdefault("ipFamilyPolicy", "RequireDualStack")
        spec.setdefault("ipFamilies", ["IPv4", "IPv6"])
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    same = old is not None and old["spec"].get("clusterIP") == spec.get("clusterIP")
    if spec.get("clusterIP") != "None" and not same:
        used = _used_addresses(api, meta)
        wanted = spec.get("clusterIP") or next(iter(spec.get("clusterIPs", ())), None)
        spec["clusterIP"] = _checked(meta["name"], wanted, used) if wanted else _free_address(used)
    spec["clusterIPs"] = [spec["clusterIP"]]
    if spec["type"] in WITH_NODE_PORT and spec.get("allocateLoadBalancerNodePorts", True):
        _allocate_ports(api, service)


def _used_addresses(api: Api, meta: Json) -> set[str]:
    # perf: the address is a selectable field; nothing is decoded
    return {
        entry.fields[0]
        for entry in api.store.table(SERVICES).entries.values()
        if (entry.namespace, entry.name) != (meta.get("namespace"), meta.get("name"))
    }


def _checked(name: str, wanted: str, used: set[str]) -> str:
    try:
        inside = ipaddress.IPv4Address(wanted) in CLUSTER_RANGE
    except ValueError:
        inside = False
    why = ""
    if not inside:
        why = f"failed to allocate IP {wanted}: the provided IP is not in the valid range"
        why = f"{why}. The range of valid IPs is {CLUSTER_RANGE}"
    elif wanted in used:
        why = f"failed to allocate IP {wanted}: provided IP is already allocated"
    if why:
        cause = Cause("FieldValueInvalid", f'Invalid value: ["{wanted}"]: {why}', "spec.clusterIPs")
        raise invalid(Subject("", "Service", name), [cause])
    return wanted


def _free_address(used: set[str]) -> str:
    size = CLUSTER_RANGE.num_addresses - 2
    start = random.randrange(size)  # noqa: S311 (an address is no secret)
    for step in range(size):
        address = str(CLUSTER_RANGE[1 + (start + step) % size])
        if address not in used:
            return address
    raise invalid(Subject("", "Service"), [Cause("FieldValueInvalid", "the range of addresses is full", "spec")])


def _allocate_ports(api: Api, service: Json) -> None:
    meta = service["metadata"]
    used: set[int] = set()
    for entry in api.store.table(SERVICES).entries.values():
        if b'"nodePort"' in entry.body and entry.key != (meta.get("namespace"), meta.get("name")):
            used.update(port.get("nodePort", 0) for port in entry.decoded()["spec"].get("ports", ()))
    for index, port in enumerate(service["spec"].get("ports", ())):
        wanted = port.get("nodePort")
        if wanted and (wanted in used or wanted not in NODE_PORTS):
            why = (
                "provided port is already allocated"
                if wanted in used
                else (
                    f"provided port is not in the valid range. The range of valid ports is "
                    f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
                )
            )
            cause = Cause("FieldValueInvalid", f"Invalid value: {wanted}: {why}", f"spec.ports[{index}].nodePort")
            raise invalid(Subject("", "Service", meta["name"]), [cause])
        if not wanted:
            free = [number for number in NODE_PORTS if number not in used]
            port["nodePort"] = wanted = random.choice(free)  # noqa: S311
        used.add(wanted)
