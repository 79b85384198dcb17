"""The tables of disruption budgets, priority classes, device claims, roles and custom kinds' definitions.

Upstream: pkg/printers/internalversion/printers.go (v1.36.4).
"""

from stowplan.apiserver.printing.columns import Cells, Json, Printer, age, columns, name_of, selector_text

NOT_AVAILABLE = "N/A"


def budget_row(value: Json, now: float) -> Cells:
    """Bounds, and how many disruptions are allowed."""
    spec = value.get("spec") or {}
    return [
        name_of(value), str(spec.get("minAvailable", NOT_AVAILABLE)), str(spec.get("maxUnavailable", NOT_AVAILABLE)),
        (value.get("status") or {}).get("disruptionsAllowed", 0), age(value, now),
    ]  # fmt: skip


def priority_class_row(value: Json, now: float) -> Cells:
    """Value, and whether it is the default."""
    return [
        name_of(value), value.get("value", 0), bool(value.get("globalDefault")), age(value, now),
        value.get("preemptionPolicy", ""),
    ]  # fmt: skip


def claim_row(value: Json, now: float) -> Cells:
    """The state of a device claim."""
    status = value.get("status") or {}
    states = []
    if "deletionTimestamp" in value["metadata"]:
        states.append("deleted")
    if not status.get("allocation"):
        if not states:
            states.append("pending")
    else:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    return [name_of(value), ",".join(states), age(value, now)]


def slice_row(value: Json, now: float) -> Cells:
    """Whose devices, where."""
    spec = value.get("spec") or {}
    node = spec.get("nodeName") or ("<all>" if spec.get("allNodes") else "<unset>")
    return [name_of(value), node, spec.get("driver", ""), (spec.get("pool") or {}).get("name", ""), age(value, now)]


def plain_row(value: Json, now: float) -> Cells:
    """Name and age."""
    return [name_of(value), age(value, now)]


def role_row(value: Json, _now: float) -> Cells:
    """Name and moment of creation."""
    return [name_of(value), value["metadata"].get("creationTimestamp", "")]


def role_binding_row(value: Json, now: float) -> Cells:
    """Which role for whom."""
    role = value.get("roleRef") or {}
    by_kind: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in value.get("subjects") or ():
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        by_kind.setdefault(subject.get("kind", ""), []).append(name)
    return [
        name_of(value), f"{role.get('kind', '')}/{role.get('name', '')}", age(value, now),
        ", ".join(by_kind["User"]), ", ".join(by_kind["Group"]), ", ".join(by_kind["ServiceAccount"]),
    ]  # fmt: skip


def definition_row(value: Json, _now: float) -> Cells:
    """Name and moment of creation."""
    return [name_of(value), value["metadata"].get("creationTimestamp", "")]


def network_policy_row(value: Json, now: float) -> Cells:
    """Which pods."""
    return [name_of(value), selector_text((value.get("spec") or {}).get("podSelector")), age(value, now)]


def ingress_row(value: Json, now: float) -> Cells:
    """Class, hosts, address, ports."""
    spec = value.get("spec") or {}
    hosts = [rule.get("host") for rule in spec.get("rules") or () if rule.get("host")]
    found = ((value.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [
        name_of(value), spec.get("ingressClassName", "<none>"), ",".join(hosts) or "*",
        ",".join(item.get("ip") or item.get("hostname", "") for item in found), "80, 443" if spec.get("tls") else "80",
        age(value, now),
    ]  # fmt: skip


def runtime_class_row(value: Json, now: float) -> Cells:
    """Which handler."""
    return [name_of(value), value.get("handler", ""), age(value, now)]


def revision_row(value: Json, now: float) -> Cells:
    """Whose revision, which number."""
    owner = next((o for o in value["metadata"].get("ownerReferences") or () if o.get("controller")), None)
    name = "<none>"
    if owner is not None:
        group = owner.get("apiVersion", "").partition("/")
        kind = owner.get("kind", "").lower()
        name = f"{kind}.{group[0]}/{owner.get('name', '')}" if group[2] else f"{kind}/{owner.get('name', '')}"
    return [name_of(value), name, value.get("revision", 0), age(value, now)]


BUDGETS = Printer(
    columns("Min Available", "Max Unavailable", "Allowed Disruptions", "Age", numbers=("Allowed Disruptions",)),
    budget_row,
)
PRIORITY_CLASSES = Printer(columns("Value", "Global-Default", "Age", "PreemptionPolicy"), priority_class_row)
RESOURCE_CLAIMS = Printer(columns("State", "Age"), claim_row)
RESOURCE_SLICES = Printer(columns("Node", "Driver", "Pool", "Age"), slice_row)
PLAIN = Printer(columns("Age"), plain_row)
ROLES = Printer(columns("Created At"), role_row)
ROLE_BINDINGS = Printer(columns("Role", "Age", wide=("Users", "Groups", "ServiceAccounts")), role_binding_row)
DEFINITIONS = Printer(columns("Created At"), definition_row)
NETWORK_POLICIES = Printer(columns("Pod-Selector", "Age"), network_policy_row)
INGRESSES = Printer(columns("Class", "Hosts", "Address", "Ports", "Age"), ingress_row)
RUNTIME_CLASSES = Printer(columns("Handler", "Age"), runtime_class_row)
REVISIONS = Printer(columns("Controller", "Revision", "Age"), revision_row)
