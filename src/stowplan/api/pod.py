"""The pod: its containers and their resources, its wishes, its status.

Upstream: staging/src/k8s.io/api/core/v1/types.go (v1.36.4).
"""

from typing import ClassVar

from msgspec import field

from stowplan.api.affinity import Affinity, Toleration, TopologySpreadConstraint
from stowplan.api.meta import Condition, Int32, Int64, KubeObject, ObjectMeta, Record, ResourceList, time_seconds
from stowplan.api.volumes import Volume


class ResourceClaimUse(Record, frozen=True):
    """A container's use of one of the pod's resource claims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Record, frozen=True):
    """Requests, limits and claims of a container or of the pod as a whole."""

    limits: ResourceList = {}
    requests: ResourceList = {}
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerPort(Record, frozen=True):
    """A port of a container, perhaps opened on the host."""

    name: str = ""
    host_port: Int32 = 0
    container_port: Int32 = 0
    protocol: str = ""
    host_ip: str = field(default="", name="hostIP")


class ContainerRestartRule(Record, frozen=True):
    """What to do when a container exits in a certain way."""

    action: str = ""


class Container(Record, frozen=True):
    """A container or init container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str | None = None
    restart_policy_rules: tuple[ContainerRestartRule, ...] = ()


class PodSchedulingGate(Record, frozen=True):
    """A reason not to schedule the pod yet."""

    name: str = ""


class PodResourceClaim(Record, frozen=True):
    """A resource claim of the pod, existing or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSchedulingGroup(Record, frozen=True):
    """The group that the pod is scheduled with."""

    pod_group_name: str | None = None


class PodSpec(Record, frozen=True):
    """What the pod is to be."""

    volumes: tuple[Volume, ...] = ()
    init_containers: tuple[Container, ...] = ()
    containers: tuple[Container, ...] = ()
    restart_policy: str = ""
    termination_grace_period_seconds: Int64 | None = None
    active_deadline_seconds: Int64 | None = None
    node_selector: dict[str, str] = {}
    service_account_name: str = ""
    node_name: str = ""
    host_network: bool = False
    host_pid: bool = field(default=False, name="hostPID")
    host_ipc: bool = field(default=False, name="hostIPC")
    host_users: bool | None = None
    hostname: str = ""
    subdomain: str = ""
    affinity: Affinity | None = None
    scheduler_name: str = ""
    tolerations: tuple[Toleration, ...] = ()
    priority_class_name: str = ""
    priority: Int32 | None = None
    preemption_policy: str | None = None
    runtime_class_name: str | None = None
    overhead: ResourceList = {}
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    resources: ResourceRequirements | None = None
    scheduling_group: PodSchedulingGroup | None = None


class ContainerStatus(Record, frozen=True):
    """What the kubelet says of a container; resources are those in force during an in-place resize."""

    name: str = ""
    ready: bool = False
    restart_count: Int32 = 0
    image: str = ""
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None


class PodResourceClaimStatus(Record, frozen=True):
    """The claim that was made for an entry of `spec.resourceClaims`; no name means none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class ContainerExtendedResourceRequest(Record, frozen=True):
    """Which request of the special claim serves an extended resource of a container."""

    container_name: str = ""
    resource_name: str = ""
    request_name: str = ""


class PodExtendedResourceClaimStatus(Record, frozen=True):
    """The special claim that backs the pod's extended resources by devices."""

    request_mappings: tuple[ContainerExtendedResourceRequest, ...] = ()
    resource_claim_name: str = ""


class NodeAllocatableResourceClaimStatus(Record, frozen=True):
    """Node resources that come with an allocated claim."""

    resource_claim_name: str = ""
    containers: tuple[str, ...] = ()
    resources: ResourceList = {}


class PodStatus(Record, frozen=True):
    """What has become of the pod."""

    observed_generation: Int64 = 0
    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    message: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    host_ip: str = field(default="", name="hostIP")
    pod_ip: str = field(default="", name="podIP")
    start_time: str | None = None
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    qos_class: str = ""
    resize: str = ""
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()
    extended_resource_claim_status: PodExtendedResourceClaimStatus | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    node_allocatable_resource_claim_statuses: tuple[NodeAllocatableResourceClaimStatus, ...] = ()


class Pod(KubeObject, frozen=True):
    """A pod."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Pod"

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class PodTemplateSpec(Record, frozen=True):
    """The pods that a controller makes."""

    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


def pod_priority(pod: Pod) -> int:
    """The pod's priority; one that was admitted without any has 0."""
    return pod.spec.priority or 0


def pod_start_seconds(pod: Pod) -> float | None:
    """When the pod started, in seconds since the epoch; None while no kubelet has said so."""
    return None if pod.status.start_time is None else time_seconds(pod.status.start_time)


def is_terminal(pod: Pod) -> bool:
    """Whether the pod has ended for good."""
    return pod.status.phase in {"Succeeded", "Failed"}


def is_terminating(pod: Pod) -> bool:
    """Whether the pod is being deleted."""
    return pod.metadata.deletion_timestamp is not None


def is_sidecar(container: Container) -> bool:
    """Whether an init container keeps running beside the pod's containers."""
    return container.restart_policy == "Always"


def find_condition(conditions: tuple[Condition, ...], type_: str) -> Condition | None:
    """The condition of this type, if it is there."""
    for condition in conditions:
        if condition.type == type_:
            return condition
    return None
