"""Services and the controllers of pods, as default topology spread reads them.

Upstream: staging/src/k8s.io/api/core/v1/types.go and apps/v1/types.go (v1.36.4).
"""

from typing import ClassVar

from stowplan.api.meta import Int32, KubeObject, LabelSelector, Record
from stowplan.api.pod import PodTemplateSpec


class ServiceSpec(Record, frozen=True):
    """The pods a service stands for."""

    selector: dict[str, str] = {}
    type: str = ""


class Service(KubeObject, frozen=True):
    """A service."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "Service"

    spec: ServiceSpec = ServiceSpec()


class ReplicationControllerSpec(Record, frozen=True):
    """The pods a replication controller keeps."""

    replicas: Int32 | None = None
    selector: dict[str, str] = {}
    template: PodTemplateSpec | None = None


class ReplicationController(KubeObject, frozen=True):
    """A replication controller."""

    api_version: ClassVar[str] = "v1"
    kind: ClassVar[str] = "ReplicationController"

    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ReplicaSetSpec(Record, frozen=True):
    """The pods a replica set keeps."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()


class ReplicaSet(KubeObject, frozen=True):
    """A replica set."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"

    spec: ReplicaSetSpec = ReplicaSetSpec()


class StatefulSetSpec(Record, frozen=True):
    """The pods a stateful set keeps."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    template: PodTemplateSpec = PodTemplateSpec()
    service_name: str = ""


class StatefulSet(KubeObject, frozen=True):
    """A stateful set."""

    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "StatefulSet"

    spec: StatefulSetSpec = StatefulSetSpec()
