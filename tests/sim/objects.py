"""Objects for stories about controllers, and pods as the simulation reads them."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from stowplan.api.meta import Condition, ObjectMeta, OwnerReference, time_text
from stowplan.sim.cluster.records import (
    ContainerState,
    Image,
    SimContainerStatus,
    SimPod,
    SimPodSpec,
    SimPodStatus,
)

Json = dict[str, Any]

NOW = 1_700_000_000.0


def template(app: str, image: str = "app:1", annotations: Mapping[str, str] | None = None, **spec: Any) -> Json:
    """A pod template with one container."""
    return {
        "metadata": {"labels": {"app": app}, "annotations": dict(annotations or {})},
        "spec": {"containers": [{"name": "main", "image": image}], **spec},
    }


def workload(kind: str, name: str, *, pod: Json | None = None, api: str = "apps/v1", **spec: Any) -> Json:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet whose pods carry `app: NAME`."""
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": pod or template(name), **spec},
    }


def job(name: str, *, seconds: str = "0s", code: int = 0, **spec: Any) -> Json:
    """A Job whose pods run for so long and end with this code."""
    marks = {"sim.stowplan.dev/duration": seconds, "sim.stowplan.dev/exit-code": str(code)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"template": template(name, annotations=marks, restartPolicy="Never"), **spec},
    }


def claim(name: str, storage_class: str | None, size: str = "1Gi", **spec: Any) -> Json:
    """A claim on a volume."""
    named = {} if storage_class is None else {"storageClassName": storage_class}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}, **named, **spec},
    }


def volume(name: str, storage_class: str = "", size: str = "1Gi", **spec: Any) -> Json:
    """A volume that somebody made by hand."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": storage_class,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": "/data"},
            **spec,
        },
    }


def storage_class(name: str, mode: str = "Immediate", provisioner: str = "example.com/disk") -> Json:
    """A class of volumes."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
    }


def sim_pod(
    name: str = "pod",
    *,
    phase: str = "Pending",
    ready: bool = False,
    ready_since: float = NOW,
    on: str = "node",
    created: float = NOW,
    started: float | None = None,
    running_since: float | None = None,
    deleted: float | None = None,
    grace: int = 30,
    owner: tuple[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    finalizers: Iterable[str] = (),
    restarts: int = 0,
    conditions: Iterable[Condition] = (),
    **spec: Any,
) -> SimPod:
    """A pod; `owner` is kind and uid of its controller."""
    owners = () if owner is None else (OwnerReference(kind=owner[0], name="owner", uid=owner[1], controller=True),)
    found = list(conditions)
    if ready:
        found.append(Condition(type="Ready", status="True", last_transition_time=time_text(ready_since)))
    state = ContainerState()
    if running_since is not None:
        state = ContainerState(running={"startedAt": time_text(running_since)})
    return SimPod(
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=f"uid-{name}",
            generation=1,
            creation_timestamp=time_text(created),
            deletion_timestamp=None if deleted is None else time_text(deleted + grace),
            deletion_grace_period_seconds=None if deleted is None else grace,
            annotations=dict(annotations or {}),
            labels=dict(labels or {}),
            owner_references=owners,
            finalizers=tuple(finalizers),
        ),
        spec=SimPodSpec(node_name=on, containers=(Image(name="main", image="app:1"),), **spec),
        status=SimPodStatus(
            phase=phase,
            conditions=tuple(found),
            start_time=None if started is None else time_text(started),
            container_statuses=(SimContainerStatus(name="main", restart_count=restarts, state=state),),
        ),
    )


def plain(value: object) -> Any:
    """A record as plain data."""
    return msgspec.to_builtins(value)
