"""Pods as the simulation reads them: what kubelets and controllers look at, and no more.

Upstream: staging/src/k8s.io/api/core/v1/types.go (v1.36.4).
"""

from typing import Any

from msgspec import field

from stowplan.api.affinity import Affinity, Toleration
from stowplan.api.meta import Condition, Int32, Int64, ObjectMeta, OwnerReference, Record, controller_of

Json = dict[str, Any]

FINISHED = frozenset({"Succeeded", "Failed"})


class Image(Record, frozen=True):
    """A container, for its name and image; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    restart_policy: str = ""


class ClaimSource(Record, frozen=True):
    """The claim behind a volume."""

    claim_name: str = ""


class PodVolume(Record, frozen=True):
    """A volume, for the claim behind it or the claim that it makes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: Json | None = None


class PodClaim(Record, frozen=True):
    """A resource claim of the pod."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class ReadinessGate(Record, frozen=True):
    """A condition without which the pod is not ready."""

    condition_type: str = ""


class SimPodSpec(Record, frozen=True):
    """What the pod is to be."""

    node_name: str = ""
    restart_policy: str = "Always"
    containers: tuple[Image, ...] = ()
    init_containers: tuple[Image, ...] = ()
    termination_grace_period_seconds: Int64 = 30
    active_deadline_seconds: Int64 | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: tuple[PodVolume, ...] = ()
    resource_claims: tuple[PodClaim, ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    affinity: Affinity | None = None
    host_network: bool = False


class ContainerState(Record, frozen=True):
    """Waiting, running or terminated."""

    waiting: Json | None = None
    running: Json | None = None
    terminated: Json | None = None


class SimContainerStatus(Record, frozen=True):
    """What the kubelet said of a container."""

    name: str = ""
    restart_count: Int32 = 0
    state: ContainerState = ContainerState()


class ClaimStatus(Record, frozen=True):
    """The claim made for an entry of `spec.resourceClaims`."""

    name: str = ""
    resource_claim_name: str | None = None


class SimPodStatus(Record, frozen=True):
    """What has become of the pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()
    pod_ip: str = field(default="", name="podIP")
    start_time: str | None = None
    container_statuses: tuple[SimContainerStatus, ...] = ()
    resource_claim_statuses: tuple[ClaimStatus, ...] = ()


class SimPod(Record, frozen=True):
    """A pod."""

    metadata: ObjectMeta = ObjectMeta()
    spec: SimPodSpec = SimPodSpec()
    status: SimPodStatus = SimPodStatus()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def name(self) -> str:
        """`metadata.name`."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """`metadata.namespace`."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """`metadata.uid`."""
        return self.metadata.uid

    @property
    def deleting(self) -> bool:
        """Whether the pod is on its way out."""
        return self.metadata.deletion_timestamp is not None

    @property
    def finished(self) -> bool:
        """Whether the pod has ended for good."""
        return self.status.phase in FINISHED

    @property
    def active(self) -> bool:
        """Whether the pod counts as a replica."""
        return not self.finished and not self.deleting

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the pod."""
        return controller_of(self.metadata)

    def condition(self, type_: str) -> Condition | None:
        """The condition of this type."""
        for condition in self.status.conditions:
            if condition.type == type_:
                return condition
        return None

    @property
    def ready(self) -> bool:
        """Whether the Ready condition is true."""
        found = self.condition("Ready")
        return found is not None and found.status == "True"

    @property
    def restarts(self) -> int:
        """The restarts of its containers, together."""
        return sum(status.restart_count for status in self.status.container_statuses)
