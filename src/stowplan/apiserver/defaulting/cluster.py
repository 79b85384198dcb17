"""Defaults of nodes, namespaces, services, configuration and events.

Upstream: pkg/apis/core/v1/defaults.go, pkg/registry/core/*/strategy.go (v1.36.4).
"""

import base64
from typing import Any

Json = dict[str, Any]

NAMESPACE_LABEL = "kubernetes.io/metadata.name"
SESSION_SECONDS = 10_800
NODE_INFO = (
    "machineID", "systemUUID", "bootID", "kernelVersion", "osImage", "containerRuntimeVersion", "kubeletVersion",
    "kubeProxyVersion", "operatingSystem", "architecture",
)  # fmt: skip
"""These texts are always there, empty ones too."""


def default_node(node: Json) -> None:
    """Fill in a node: what can be allocated is what there is, unless said otherwise."""
    spec = node.setdefault("spec", {})
    if spec.get("podCIDR") and not spec.get("podCIDRs"):
        spec["podCIDRs"] = [spec["podCIDR"]]
    status = node.setdefault("status", {})
    status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {}).setdefault("Port", 0)
    about = status.setdefault("nodeInfo", {})
    for name in NODE_INFO:
        about.setdefault(name, "")
    if "allocatable" not in status and status.get("capacity"):
        status["allocatable"] = dict(status["capacity"])


def default_namespace(namespace: Json) -> None:
    """Fill in a namespace: the label that selectors rely on."""
    meta = namespace["metadata"]
    if meta.get("name"):
        meta.setdefault("labels", {}).setdefault(NAMESPACE_LABEL, meta["name"])


def default_service(service: Json) -> None:
    """Fill in a service, without its addresses."""
    spec = service.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    kind = spec.setdefault("type", "ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {}).setdefault(
            "timeoutSeconds", SESSION_SECONDS
        )
    for port in spec.get("ports", ()):
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    service.setdefault("status", {}).setdefault("loadBalancer", {})


def default_secret(secret: Json) -> None:
    """Fill in a secret: plain texts move to the encoded data."""
    secret.setdefault("type", "Opaque")
    plain = secret.pop("stringData", None)
    if plain:
        data = secret.setdefault("data", {})
        for name, text in plain.items():
            data[name] = base64.b64encode(text.encode()).decode()


def default_endpoints(endpoints: Json) -> None:
    """Fill in endpoints."""
    for subset in endpoints.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def default_endpoint_slice(endpoint_slice: Json) -> None:
    """Fill in an EndpointSlice."""
    for endpoint in endpoint_slice.get("endpoints", ()):
        endpoint.setdefault("conditions", {})
    for port in endpoint_slice.get("ports", ()):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def default_limit_range(limits: Json) -> None:
    """Fill in a LimitRange: upper bounds are the defaults of containers."""
    for item in limits.get("spec", {}).get("limits", ()):
        if item.get("type") != "Container":
            continue
        for name, amount in (item.get("max") or {}).items():
            item.setdefault("default", {}).setdefault(name, amount)
        for name, amount in (item.get("default") or {}).items():
            item.setdefault("defaultRequest", {}).setdefault(name, amount)
        for name, amount in (item.get("min") or {}).items():
            item.setdefault("defaultRequest", {}).setdefault(name, amount)


def default_event(event: Json) -> None:
    """Fill in an event as it is stored."""
    event.setdefault("source", {})
    for name in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(name, None)
    event.setdefault("reportingComponent", event["source"].get("component", ""))
    event.setdefault("reportingInstance", "")


def default_binding_role(binding: Json) -> None:
    """Fill in a RoleBinding or ClusterRoleBinding."""
    (binding.get("roleRef") or {}).setdefault("apiGroup", "rbac.authorization.k8s.io")
    for subject in binding.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", "rbac.authorization.k8s.io")


def default_lease(lease: Json) -> None:
    """Fill in a Lease."""
    lease.setdefault("spec", {})


def default_network_policy(policy: Json) -> None:
    """Fill in a NetworkPolicy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*spec.get("ingress", ()), *spec.get("egress", ())):
        for port in rule.get("ports", ()):
            port.setdefault("protocol", "TCP")
