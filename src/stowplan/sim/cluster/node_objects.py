"""The objects of simulated nodes: Node, Lease, ResourceSlice.

Upstream: pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go (v1.36.4).
"""

from typing import Any
from zlib import crc32

from stowplan.api.meta import micro_time_text, time_text
from stowplan.sim.cluster.names import POOL
from stowplan.sim.cluster.pools import DEFAULT_CAPACITY, Pool

Json = dict[str, Any]

LEASE_NAMESPACE = "kube-node-lease"
KUBELET_VERSION = "v1.36.4"
LEASE_LIVES = 4
"""A Lease is good for this many intervals."""

_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def pool_node(pool: Pool, index: int, number: int, now: float) -> Json:
    """A node of a pool, Ready from the start; `number` is its place among all nodes."""
    name = pool.node_name(index)
    labels = {
        **_machine_labels(name),
        "topology.kubernetes.io/region": pool.region,
        POOL: pool.name,
    }
    if pool.zones:
        labels["topology.kubernetes.io/zone"] = pool.zones[index % len(pool.zones)]
    capacity = {name: str(amount) for name, amount in {**DEFAULT_CAPACITY, **pool.allocatable, **pool.capacity}.items()}
    spec: Json = {"providerID": f"stowplan://{name}"}
    if pool.taints:
        spec["taints"] = [_taint(taint.key, taint.value, taint.effect) for taint in pool.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {**labels, **pool.labels}, "annotations": dict(pool.annotations)},
        "spec": spec,
        "status": {
            **machine_status(name, capacity, number),
            "allocatable": {**capacity, **{name: str(amount) for name, amount in pool.allocatable.items()}},
            "conditions": node_conditions(now, ready=True),
        },
    }


def machine_status(name: str, capacity: Json, number: int | None = None) -> Json:
    """What a kubelet says of its machine: amounts, addresses, versions."""
    return {
        "capacity": capacity,
        "allocatable": capacity,
        "addresses": [
            {"type": "InternalIP", "address": host_address(name, number)},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "architecture": "amd64",
            "operatingSystem": "linux",
            "kubeletVersion": KUBELET_VERSION,
            "kubeProxyVersion": "",
            "containerRuntimeVersion": "stowplan://0.1.0",
            "kernelVersion": "simulated",
            "osImage": "Stowplan simulation",
            "machineID": "",
            "systemUUID": "",
            "bootID": "",
        },
    }


def missing_labels(node: Json) -> Json:
    """The labels that a kubelet gives its node and that this one lacks."""
    labels = node["metadata"].get("labels") or {}
    wanted = _machine_labels(node["metadata"]["name"])
    return {key: value for key, value in wanted.items() if key not in labels}


def host_address(name: str, number: int | None = None) -> str:
    """An address in 172.16.0.0/12: by place in the pool, else by name."""
    place = (crc32(name.encode()) if number is None else number + 2) % (1 << 20)
    return f"172.{16 + (place >> 16)}.{(place >> 8) & 255}.{place & 255}"


def node_conditions(now: float, *, ready: bool) -> list[Json]:
    """All conditions of a node, as of now."""
    at = time_text(now)
    conditions = [_condition(type_, "False", reason, text, at) for type_, reason, text in _PRESSURES]
    if ready:
        return [*conditions, _condition("Ready", "True", "KubeletReady", "kubelet is posting ready status", at)]
    return [*conditions, _condition("Ready", "False", "KubeletNotReady", "the simulated kubelet was told to fail", at)]


def _condition(type_: str, status: str, reason: str, message: str, at: str) -> Json:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": at,
        "lastTransitionTime": at,
    }


def node_lease(node: Json, now: float, interval: float) -> Json:
    """The Lease of a node; it goes when its node goes."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"]}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": meta["name"], "namespace": LEASE_NAMESPACE, "ownerReferences": [owner]},
        "spec": {"holderIdentity": meta["name"], **renewal(now, interval)},
    }


def renewal(now: float, interval: float) -> Json:
    """What a heartbeat writes into a Lease."""
    return {"leaseDurationSeconds": round(interval * LEASE_LIVES), "renewTime": micro_time_text(now)}


def resource_slices(pool: Pool, node: Json) -> list[Json]:
    """The devices of a node, one slice per driver."""
    meta = node["metadata"]
    owner = {"apiVersion": "v1", "kind": "Node", "name": meta["name"], "uid": meta["uid"], "controller": True}
    return [
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": {"name": f"{meta['name']}-{devices.driver}", "ownerReferences": [owner]},
            "spec": {
                "driver": devices.driver,
                "nodeName": meta["name"],
                "pool": {"name": meta["name"], "generation": 1, "resourceSliceCount": 1},
                "devices": [
                    {
                        "name": f"device-{number}",
                        "attributes": {key: _attribute(value) for key, value in devices.attributes.items()},
                        "capacity": {key: {"value": str(value)} for key, value in devices.capacity.items()},
                    }
                    for number in range(devices.count)
                ],
            },
        }
        for devices in pool.devices
    ]


def _attribute(value: str | bool | int) -> Json:
    if isinstance(value, bool):
        return {"bool": value}
    return {"int": value} if isinstance(value, int) else {"string": value}


def _taint(key: str, value: str, effect: str) -> Json:
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def _machine_labels(name: str) -> Json:
    return {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
