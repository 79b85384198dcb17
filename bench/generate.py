"""Turns the cases of workloads/shapes.yaml into scenarios that `stowplan bench` reads."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bench.devices import devices
from bench.storage import storage

SHAPES = Path(__file__).parent / "workloads" / "shapes.yaml"
Document = dict[str, Any]


def names() -> list[str]:
    """All cases."""
    return list(_shapes()["cases"])


def case(name: str) -> Document:
    """One case as a scenario."""
    shapes = _shapes()
    return scenario(name, shapes["cases"][name], shapes["templates"])


def _shapes() -> Document:
    shapes: Document = yaml.safe_load(SHAPES.read_text())
    return shapes


def scenario(name: str, case: Document, templates: Document) -> Document:
    """One case as a scenario."""
    count = case["nodes"]
    nodes = [node(i, case.get("zones", ())) for i in range(count)]
    namespaces = [namespace(n) for n in ("default", "sched-0", "sched-1")]
    services = [service(case["service"])] if "service" in case else []
    wants = [storage(case["storage"])] if "storage" in case else []
    wants += [devices(case["devices"])] if "devices" in case else []
    made = [obj for want in wants for obj in want.cluster(nodes)]
    numbers = itertools.count()
    bound = [
        pod(f"init-{i}", templates[template], "sched-0", node_name=f"node-{i % count}")
        for template, i in numbered(case["init"], numbers)
    ]
    numbers = itertools.count()
    pending = [
        pod(f"measured-{i}", templates[template], "sched-1") for template, i in numbered(case["measured"], numbers)
    ]
    made += [obj for want in wants for i, one in enumerate((*bound, *pending)) for obj in want.equip(i, one)]
    document = {"id": name, "objects": [*namespaces, *services, *nodes, *made, *bound], "pending": pending}
    configuration = [want.configuration for want in wants if want.configuration]
    return {**document, "config": configuration[0]} if configuration else document


def numbered(counts: dict[str, int], numbers: Iterator[int]) -> Iterator[tuple[str, int]]:
    """Template names in turn, each as often as asked, with a running number."""
    left = dict(counts)
    while any(left.values()):
        for template in counts:
            if left[template]:
                left[template] -= 1
                yield template, next(numbers)


def node(i: int, zones: list[str] | tuple[()]) -> Document:
    """A node of 4 cpus, 32Gi and 110 pods."""
    name = f"node-{i}"
    labels = {"kubernetes.io/hostname": name}
    if zones:
        labels["topology.kubernetes.io/zone"] = zones[i % len(zones)]
    amounts = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels},
        "status": {
            "capacity": amounts,
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def namespace(name: str) -> Document:
    """A namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def service(selector: dict[str, str]) -> Document:
    """A service in the namespace of the measured pods."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "service", "namespace": "sched-1"},
        "spec": {"selector": selector},
    }


def pod(name: str, template: Document, namespace: str, *, node_name: str = "") -> Document:
    """A pod of a template."""
    amounts = {key: template[key] for key in ("cpu", "memory") if key in template}
    spec: Document = {
        "schedulerName": "default-scheduler",
        "containers": [{"name": "pause", "image": "registry.k8s.io/pause:3.10.1", "resources": {"requests": amounts}}],
    }
    if node_name:
        spec["nodeName"] = node_name
    affinity = affinity_of(template)
    if affinity:
        spec["affinity"] = affinity
    if "spread" in template:
        wish = template["spread"]
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": wish["maxSkew"],
                "topologyKey": wish["topology"],
                "whenUnsatisfiable": "DoNotSchedule" if wish["hard"] else "ScheduleAnyway",
                "labelSelector": {"matchLabels": template["labels"]},
            }
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{namespace}-{name}",
            "labels": template.get("labels", {}),
        },
        "spec": spec,
    }


def affinity_of(template: Document) -> Document:
    """The affinity stanza of a template."""
    affinity: Document = {}
    for wish, stanza, required in (
        ("near", "podAffinity", True),
        ("far", "podAntiAffinity", True),
        ("preferNear", "podAffinity", False),
        ("preferFar", "podAntiAffinity", False),
    ):
        if wish not in template:
            continue
        asked = template[wish]
        term = {
            "labelSelector": {"matchLabels": asked["label"]},
            "topologyKey": asked["topology"],
            "namespaces": asked["namespaces"],
        }
        affinity[stanza] = (
            {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            if required
            else {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": term}]}
        )
    if "zones" in template:
        expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": template["zones"]}
        affinity["nodeAffinity"] = {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    return affinity


def write(name: str, document: Document, folder: Path) -> Path:
    """Write a scenario file."""
    path = folder / f"{name}.jsonl"
    path.write_text(json.dumps(document, separators=(",", ":")) + "\n")
    return path
