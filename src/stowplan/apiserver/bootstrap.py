"""What every cluster has from the start.

Upstream: pkg/controlplane, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.options import ADMIN
from stowplan.apiserver.request import Call
from stowplan.apiserver.verbs.create import create_object

Json = dict[str, Any]

NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")
RBAC = "rbac.authorization.k8s.io"
API_ADDRESS = "10.96.0.1"

Seed = tuple[str, str, str, Json]
"""Group, plural, namespace, object."""


def seeds(port: int, authority_pem: str) -> list[Seed]:
    """All objects, in the order in which they can be made."""
    found: list[Seed] = [("", "namespaces", "", {"metadata": {"name": name}}) for name in NAMESPACES]
    found += _priorities()
    found += _access()
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    labels = {"component": "apiserver", "provider": "kubernetes"}
    service = {
        "metadata": {"name": "kubernetes", "labels": labels},
        "spec": {"clusterIP": API_ADDRESS, "ports": ports},
    }
    found.append(("", "services", "default", service))
    for name in NAMESPACES:
        root = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": authority_pem}}
        found.append(("", "configmaps", name, root))
        found.append(("", "serviceaccounts", name, {"metadata": {"name": "default"}}))
    authentication = {
        "metadata": {"name": "extension-apiserver-authentication"},
        "data": {
            "client-ca-file": authority_pem,
            # delegates wait for these; no certificate has the name, so nobody can speak for others
            "requestheader-client-ca-file": authority_pem,
            "requestheader-allowed-names": '["front-proxy-client"]',
            "requestheader-username-headers": '["X-Remote-User"]',
            "requestheader-group-headers": '["X-Remote-Group"]',
            "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
        },
    }
    found.append(("", "configmaps", "kube-system", authentication))
    return found


def _priorities() -> list[Seed]:
    classes = (
        ("system-cluster-critical", 2_000_000_000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."),  # noqa: E501
        ("system-node-critical", 2_000_001_000, "Used for system critical pods that must not be moved from their current node."),  # noqa: E501
    )  # fmt: skip
    return [
        (
            "scheduling.k8s.io",
            "priorityclasses",
            "",
            {"metadata": {"name": name}, "value": value, "description": text},
        )
        for name, value, text in classes
    ]


def _access() -> list[Seed]:
    everything = [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]
    paths = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*", "/version", "/version/", "/healthz",
             "/livez", "/readyz"]  # fmt: skip
    discovery = [{"verbs": ["get"], "nonResourceURLs": paths}]
    reviews = {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
               "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]}  # fmt: skip
    myself = {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]}
    read = [{"verbs": ["get", "list", "watch"], "apiGroups": ["*"], "resources": ["*"]}]
    roles: dict[str, list[Json]] = {
        "cluster-admin": everything,
        "system:basic-user": [reviews, myself],
        "system:discovery": discovery,
        "view": read,
    }
    found: list[Seed] = [
        (RBAC, "clusterroles", "", {"metadata": {"name": name}, "rules": rules}) for name, rules in roles.items()
    ]
    for name, group in (
        ("cluster-admin", "system:masters"),
        ("system:basic-user", "system:authenticated"),
        ("system:discovery", "system:authenticated"),
    ):
        found.append((RBAC, "clusterrolebindings", "", _binding(name, group)))
    return found


def _binding(role: str, group: str) -> Json:
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group}],
    }


def bootstrap(api: Api, port: int, authority_pem: str) -> None:
    """Make what is missing."""
    for group, plural, namespace, value in seeds(port, authority_pem):
        resource = api.registry.builtin(plural, group)
        if api.table(resource).get(namespace, value["metadata"]["name"]) is not None:
            continue
        call = Call(
            user=ADMIN, verb="create", resource=resource, namespace=namespace, name="", subresource="", query={},
            accept="", content_type="", body=b"", agent="stowplan-apiserver",
        )  # fmt: skip
        create_object(api, call, {"apiVersion": resource.api_version, "kind": resource.kind, **value})
