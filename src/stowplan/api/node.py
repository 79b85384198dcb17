"""The node: taints, capacity, images, conditions, declared features.

Upstream: staging/src/k8s.io/api/core/v1/types.go (v1.36.4).
"""

from typing import ClassVar

from msgspec import field

from stowplan.api.affinity import Taint
from stowplan.api.meta import Condition, Int64, KubeObject, Record, ResourceList


class NodeSpec(Record, frozen=True):
    """What the node is to be."""

    pod_cidr: str = field(default="", name="podCIDR")
    provider_id: str = field(default="", name="providerID")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class ContainerImage(Record, frozen=True):
    """An image on the node, by all its names."""

    names: tuple[str, ...] = ()
    size_bytes: Int64 = 0


class AttachedVolume(Record, frozen=True):
    """A volume attached to the node."""

    name: str = ""
    device_path: str = ""


class NodeAddress(Record, frozen=True):
    """An address of the node."""

    type: str = ""
    address: str = ""


class NodeRuntimeHandlerFeatures(Record, frozen=True):
    """What a runtime handler can do."""

    recursive_read_only_mounts: bool | None = None
    user_namespaces: bool | None = None


class NodeRuntimeHandler(Record, frozen=True):
    """A runtime handler of the node."""

    name: str = ""
    features: NodeRuntimeHandlerFeatures | None = None


class NodeStatus(Record, frozen=True):
    """What the kubelet says of the node."""

    capacity: ResourceList = {}
    allocatable: ResourceList = {}
    conditions: tuple[Condition, ...] = ()
    addresses: tuple[NodeAddress, ...] = ()
    images: tuple[ContainerImage, ...] = ()
    volumes_in_use: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    runtime_handlers: tuple[NodeRuntimeHandler, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(KubeObject, frozen=True):
    """A node."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Node"

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
