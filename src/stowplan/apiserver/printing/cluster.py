"""The tables of nodes, namespaces, services, configuration, events and leases.

Upstream: pkg/printers/internalversion/printers.go (v1.36.4).
"""

from stowplan.apiserver.printing.columns import (
    NONE,
    UNKNOWN,
    Cells,
    Column,
    Json,
    Printer,
    age,
    columns,
    joined,
    name_of,
    seconds_of,
    since,
)

ROLE_PREFIX = "node-role.kubernetes.io/"
ROLE_LABEL = "kubernetes.io/role"


def node_row(value: Json, now: float) -> Cells:
    """Ready or not, roles, version, addresses, system."""
    status = value.get("status") or {}
    states = [
        "Ready" if found.get("status") == "True" else "NotReady"
        for found in status.get("conditions") or ()
        if found.get("type") == "Ready"
    ]
    if not states:
        states.append("Unknown")
    if (value.get("spec") or {}).get("unschedulable"):
        states.append("SchedulingDisabled")
    addresses = {found.get("type"): found.get("address") for found in status.get("addresses") or ()}
    info = status.get("nodeInfo") or {}
    return [
        name_of(value), ",".join(states), ",".join(_roles(value)) or NONE, age(value, now),
        info.get("kubeletVersion", ""), addresses.get("InternalIP", NONE), addresses.get("ExternalIP", NONE),
        info.get("osImage") or UNKNOWN, info.get("kernelVersion") or UNKNOWN,
        info.get("containerRuntimeVersion") or UNKNOWN,
    ]  # fmt: skip


def _roles(value: Json) -> list[str]:
    roles = set()
    for key, label in (value["metadata"].get("labels") or {}).items():
        if key.startswith(ROLE_PREFIX) and len(key) > len(ROLE_PREFIX):
            roles.add(key[len(ROLE_PREFIX) :])
        elif key == ROLE_LABEL and label:
            roles.add(label)
    return sorted(roles)


def namespace_row(value: Json, now: float) -> Cells:
    """Phase and age."""
    return [name_of(value), (value.get("status") or {}).get("phase", ""), age(value, now)]


def service_row(value: Json, now: float) -> Cells:
    """Type, addresses, ports."""
    spec = value.get("spec") or {}
    kind = spec.get("type", "")
    addresses = [address for address in spec.get("clusterIPs") or () if address]
    internal = addresses[0] if addresses else spec.get("clusterIP") or NONE
    return [
        name_of(value), kind, internal, _external(value, kind), _ports(spec), age(value, now),
        joined(spec.get("selector")),
    ]  # fmt: skip


def _external(value: Json, kind: str) -> str:
    spec = value.get("spec") or {}
    given = list(spec.get("externalIPs") or ())
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind == "LoadBalancer":
        found = ((value.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
        given = [item.get("ip") or item.get("hostname", "") for item in found] + given
        return ",".join(given) or "<pending>"
    return ",".join(given) or NONE


def _ports(spec: Json) -> str:
    texts = []
    for port in spec.get("ports") or ():
        node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
        texts.append(f"{port.get('port', 0)}{node_port}/{port.get('protocol', 'TCP')}")
    return ",".join(texts) or NONE


def endpoints_row(value: Json, now: float) -> Cells:
    """The addresses behind a service."""
    found = [
        f"{address.get('ip', '')}:{port.get('port', '')}"
        for subset in value.get("subsets") or ()
        for port in subset.get("ports") or ({"port": ""},)
        for address in subset.get("addresses") or ()
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return [name_of(value), (",".join(found[:3]) + more) or NONE, age(value, now)]


def config_map_row(value: Json, now: float) -> Cells:
    """How many entries."""
    return [name_of(value), len(value.get("data") or ()) + len(value.get("binaryData") or ()), age(value, now)]


def secret_row(value: Json, now: float) -> Cells:
    """Type and how many entries."""
    return [name_of(value), value.get("type", ""), len(value.get("data") or ()), age(value, now)]


def service_account_row(value: Json, now: float) -> Cells:
    """How many secrets."""
    return [name_of(value), len(value.get("secrets") or ()), age(value, now)]


def event_row(value: Json, now: float) -> Cells:
    """When, how bad, why, about what."""
    about, series = value.get("involvedObject") or {}, value.get("series") or {}
    first = value.get("firstTimestamp") or value.get("eventTime")
    last = series.get("lastObservedTime") or value.get("lastTimestamp") or first
    count = series.get("count") or value.get("count") or 1
    last_text = since(last, now)
    if count > 1 and seconds_of(first) is not None:
        last_text = f"{last_text} (x{count} over {since(first, now)})"
    target = (
        f"{about.get('kind', '').lower()}/{about.get('name', '')}"
        if about.get("name")
        else about.get("kind", "").lower()
    )
    source = value.get("source") or {}
    component = source.get("component") or value.get("reportingComponent", "")
    host = source.get("host") or value.get("reportingInstance", "")
    return [
        last_text, value.get("type", ""), value.get("reason", ""), target, about.get("fieldPath", ""),
        f"{component}, {host}" if host else component, (value.get("message") or "").strip(), since(first, now), count,
        name_of(value),
    ]  # fmt: skip


def lease_row(value: Json, now: float) -> Cells:
    """Who holds it."""
    return [name_of(value), (value.get("spec") or {}).get("holderIdentity") or "", age(value, now)]


def limit_row(value: Json, _now: float) -> Cells:
    """When the limits were made."""
    return [name_of(value), value["metadata"].get("creationTimestamp", "")]


def quota_row(value: Json, now: float) -> Cells:
    """What is used of what is allowed."""
    status = value.get("status") or {}
    used, hard = status.get("used") or {}, status.get("hard") or {}

    def text(names: list[str]) -> str:
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    limits = sorted(name for name in hard if name.startswith("limits."))
    requests = sorted(name for name in hard if not name.startswith("limits."))
    return [name_of(value), text(requests), text(limits), age(value, now)]


def endpoint_slice_row(value: Json, now: float) -> Cells:
    """Address type, ports, addresses."""
    ports = ",".join(str(port.get("port", "*")) for port in value.get("ports") or ()) or UNSET_PORTS
    found = [address for endpoint in value.get("endpoints") or () for address in endpoint.get("addresses") or ()]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return [
        name_of(value), value.get("addressType", ""), ports, (",".join(found[:3]) + more) or "<unset>",
        age(value, now),
    ]  # fmt: skip


UNSET_PORTS = "<unset>"

NODES = Printer(
    columns(
        "Status",
        "Roles",
        "Age",
        "Version",
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    node_row,
)
NAMESPACES = Printer(columns("Status", "Age"), namespace_row)
SERVICES = Printer(columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)), service_row)
ENDPOINTS = Printer(columns("Endpoints", "Age"), endpoints_row)
ENDPOINT_SLICES = Printer(columns("AddressType", "Ports", "Endpoints", "Age"), endpoint_slice_row)
CONFIG_MAPS = Printer(columns("Data", "Age"), config_map_row)
SECRETS = Printer(columns("Type", "Data", "Age", numbers=("Data",)), secret_row)
SERVICE_ACCOUNTS = Printer(columns("Secrets", "Age"), service_account_row)
LEASES = Printer(columns("Holder", "Age"), lease_row)
LIMIT_RANGES = Printer(columns("Created At"), limit_row)
QUOTAS = Printer(columns("Request", "Limit", "Age"), quota_row)
EVENTS = Printer(
    (
        Column("Last Seen"),
        Column("Type"),
        Column("Reason"),
        Column("Object"),
        Column("Subobject", 1),
        Column("Source", 1),
        Column("Message"),
        Column("First Seen", 1),
        Column("Count", 1),
        Column("Name", 1),
    ),
    event_row,
)
