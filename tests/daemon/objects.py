"""Objects as one would send them to a server."""

from typing import Any

Json = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def node(name: str, *, cpu: str = "4", pods: str = "110", labels: Json | None = None, **spec: Any) -> Json:
    """A ready node."""
    amounts = {"cpu": cpu, "memory": "32Gi", "pods": pods}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, **(labels or {})}},
        "spec": spec,
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def pod(name: str, *, cpu: str = "100m", labels: Json | None = None, grace: int = 0, **spec: Any) -> Json:
    """A pod that asks for CPU."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "terminationGracePeriodSeconds": grace,
            "containers": [{"name": "c", "image": "img", "resources": {"requests": {"cpu": cpu}}}],
            **spec,
        },
    }
