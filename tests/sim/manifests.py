"""Scenarios as JSON lines, for tests of what reads them."""

import gzip
import json
from pathlib import Path
from typing import Any

Document = dict[str, Any]


def node(name: str, cpu: str = "4", **labels: str) -> Document:
    """A node's manifest."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "10"}},
    }


def pod(name: str, cpu: str = "1", **spec: Any) -> Document:
    """A pod's manifest; with `nodeName` it is placed."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}], **spec},
    }


def scenario(name: str, *objects: Document, pending: list[Document], **more: Any) -> Document:
    """A scenario."""
    return {"id": name, "objects": list(objects), "pending": pending, **more}


def likes(where: str) -> Document:
    """A pod whose selector has an operator that nobody knows."""
    bad = {"matchExpressions": [{"key": "a", "operator": "Likes"}]}
    needed = "requiredDuringSchedulingIgnoredDuringExecution"
    if where == "node":
        return pod("p", affinity={"nodeAffinity": {needed: {"nodeSelectorTerms": [bad]}}})
    return pod("p", affinity={"podAffinity": {needed: [{"topologyKey": "zone", "labelSelector": bad}]}})


CONFIG_WITH_UNKNOWN_PLUGIN: Document = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "default-scheduler", "plugins": {"filter": {"enabled": [{"name": "Nope"}]}}}],
}


def write(path: Path, *lines: Document | str) -> str:
    """Write lines; a name that ends with gz is packed."""
    data = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return str(path)
