"""Builders of test objects: valid and dull by default, so that a test shows only what it is about."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stowplan.api.affinity import (
    Affinity,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodAffinity,
    PodAffinityTerm,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
    TopologySpreadConstraint,
    WeightedPodAffinityTerm,
)
from stowplan.api.meta import (
    KubeObject,
    LabelSelector,
    LabelSelectorRequirement,
    Namespace,
    ObjectMeta,
    OwnerReference,
)
from stowplan.api.node import ContainerImage, Node, NodeSpec, NodeStatus
from stowplan.api.pod import Container, ContainerPort, Pod, PodSchedulingGate, PodSpec, PodStatus, ResourceRequirements
from stowplan.api.volumes import PersistentVolumeClaimVolumeSource, Volume
from stowplan.columns.cluster import Cluster

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"

Amount = str | int


def requests(cpu: Amount | None = None, memory: Amount | None = None, **others: Amount) -> dict[str, Any]:
    """A resource list; names with dots or slashes go in by `**{"nvidia.com/gpu": 1}`."""
    amounts = {"cpu": cpu, "memory": memory, **others}
    return {name: str(amount) for name, amount in amounts.items() if amount is not None}


def _containers(
    asked: Mapping[str, str], images: Sequence[str], host_ports: Iterable[int | tuple[str, str, int]]
) -> tuple[Container, ...]:
    """A container for each image; the first one has the requests and the ports."""
    ports = tuple(
        ContainerPort(host_port=p, container_port=p, protocol="TCP")
        if isinstance(p, int)
        else ContainerPort(host_ip=p[0], protocol=p[1], host_port=p[2], container_port=p[2])
        for p in host_ports
    )
    first = Container(name="c0", image=images[0], resources=ResourceRequirements(requests=dict(asked)), ports=ports)
    return (first, *(Container(name=f"c{i}", image=image) for i, image in enumerate(images[1:], 1)))


def pod(
    name: str = "pod",
    *,
    namespace: str = "default",
    cpu: Amount | None = None,
    memory: Amount | None = None,
    extended: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    on: str = "",
    nominated: str = "",
    priority: int | None = None,
    preemption_policy: str | None = None,
    tolerations: Iterable[Toleration] = (),
    node_selector: Mapping[str, str] | None = None,
    affinity: Affinity | None = None,
    spread: Iterable[TopologySpreadConstraint] = (),
    host_ports: Iterable[int | tuple[str, str, int]] = (),
    images: Sequence[str] = (),
    claims: Iterable[str] = (),
    volumes: Iterable[Volume] = (),
    gates: Iterable[str] = (),
    owner: OwnerReference | None = None,
    started: str | None = None,
    deleted: str | None = None,
    scheduler: str = "default-scheduler",
    containers: Sequence[Container] | None = None,
    init_containers: Sequence[Container] = (),
    overhead: Mapping[str, Amount] | None = None,
    uid: str = "",
) -> Pod:
    """A pod with one container that asks for the given resources; `on` places it on a node."""
    asked = requests(cpu, memory, **dict(extended or {}))
    main = _containers(asked, images or [""], host_ports)
    return Pod(
        metadata=ObjectMeta(
            name=name,
            namespace=namespace,
            uid=uid or f"uid-{namespace}-{name}",
            labels=dict(labels or {}),
            owner_references=(owner,) if owner else (),
            deletion_timestamp=deleted,
        ),
        spec=PodSpec(
            node_name=on,
            scheduler_name=scheduler,
            containers=tuple(containers) if containers is not None else main,
            init_containers=tuple(init_containers),
            overhead={name: str(amount) for name, amount in (overhead or {}).items()},
            priority=priority,
            preemption_policy=preemption_policy,
            tolerations=tuple(tolerations),
            node_selector=dict(node_selector or {}),
            affinity=affinity,
            topology_spread_constraints=tuple(spread),
            scheduling_gates=tuple(PodSchedulingGate(name=gate) for gate in gates),
            volumes=(
                *(
                    Volume(name=claim, persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name=claim))
                    for claim in claims
                ),
                *volumes,
            ),
        ),
        status=PodStatus(nominated_node_name=nominated, start_time=started),
    )


def node(
    name: str = "node",
    *,
    cpu: Amount = 32,
    memory: Amount = "64Gi",
    pods: Amount = 110,
    extended: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    zone: str | None = None,
    taints: Iterable[Taint] = (),
    cordoned: bool = False,
    images: Mapping[str, int] | None = None,
    features: Iterable[str] = (),
) -> Node:
    """A big empty node that carries its host name as a label."""
    allocatable = requests(cpu, memory, pods=pods, **dict(extended or {}))
    return Node(
        metadata=ObjectMeta(
            name=name,
            uid=f"uid-{name}",
            labels={HOSTNAME: name, **({ZONE: zone} if zone is not None else {}), **(labels or {})},
        ),
        spec=NodeSpec(taints=tuple(taints), unschedulable=cordoned),
        status=NodeStatus(
            capacity=allocatable,
            allocatable=allocatable,
            images=tuple(ContainerImage(names=(image,), size_bytes=size) for image, size in (images or {}).items()),
            declared_features=tuple(features),
        ),
    )


def namespace(name: str, **labels: str) -> Namespace:
    """A namespace with labels."""
    return Namespace(metadata=ObjectMeta(name=name, labels={"kubernetes.io/metadata.name": name, **labels}))


def cluster(*objects: KubeObject) -> Cluster:
    """A cluster of these objects, in this order."""
    built = Cluster()
    for obj in objects:
        built.put(obj)
    return built


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> Taint:
    """A taint."""
    return Taint(key=key, value=value, effect=effect)


def tolerate(key: str = "", value: str = "", *, operator: str = "", effect: str = "") -> Toleration:
    """A toleration; without a value it tolerates the key whatever its value."""
    return Toleration(key=key, value=value, operator=operator or ("Equal" if value else "Exists"), effect=effect)


def select(*expressions: tuple[str, str, Sequence[str]], **labels: str) -> LabelSelector:
    """A label selector: equalities by keyword, other expressions as (key, operator, values)."""
    return LabelSelector(
        match_labels=labels,
        match_expressions=tuple(
            LabelSelectorRequirement(key=key, operator=operator, values=tuple(values))
            for key, operator, values in expressions
        ),
    )


def node_term(*expressions: tuple[str, str, Sequence[str]], names: Sequence[str] = ()) -> NodeSelectorTerm:
    """A node selector term over labels (key, operator, values) and node names."""
    return NodeSelectorTerm(
        match_expressions=tuple(
            NodeSelectorRequirement(key=key, operator=operator, values=tuple(values))
            for key, operator, values in expressions
        ),
        match_fields=(
            (NodeSelectorRequirement(key="metadata.name", operator="In", values=tuple(names)),) if names else ()
        ),
    )


def on_nodes(*terms: NodeSelectorTerm, prefer: Sequence[tuple[int, NodeSelectorTerm]] = ()) -> Affinity:
    """Node affinity: any of the terms is required; preferred ones come with a weight."""
    return Affinity(
        node_affinity=NodeAffinity(
            required=NodeSelector(node_selector_terms=terms) if terms else None,
            preferred=tuple(PreferredSchedulingTerm(weight=weight, preference=term) for weight, term in prefer),
        )
    )


def term(
    selector: LabelSelector | None,
    topology_key: str = HOSTNAME,
    *,
    namespaces: Iterable[str] = (),
    namespace_selector: LabelSelector | None = None,
) -> PodAffinityTerm:
    """A pod affinity term."""
    return PodAffinityTerm(
        label_selector=selector,
        topology_key=topology_key,
        namespaces=tuple(namespaces),
        namespace_selector=namespace_selector,
    )


def company(
    *,
    near: Iterable[PodAffinityTerm] = (),
    far: Iterable[PodAffinityTerm] = (),
    prefer_near: Iterable[tuple[int, PodAffinityTerm]] = (),
    prefer_far: Iterable[tuple[int, PodAffinityTerm]] = (),
) -> Affinity:
    """Pod affinity and anti-affinity, required and (with weights) preferred."""
    return Affinity(pod_affinity=_company(near, prefer_near), pod_anti_affinity=_company(far, prefer_far))


def _company(
    required: Iterable[PodAffinityTerm], preferred: Iterable[tuple[int, PodAffinityTerm]]
) -> PodAffinity | None:
    wanted = PodAffinity(
        required=tuple(required),
        preferred=tuple(WeightedPodAffinityTerm(weight=weight, pod_affinity_term=t) for weight, t in preferred),
    )
    return wanted if wanted.required or wanted.preferred else None


def spread(
    selector: LabelSelector | None,
    topology_key: str = ZONE,
    *,
    max_skew: int = 1,
    soft: bool = False,
    min_domains: int | None = None,
    node_affinity_policy: str | None = None,
    node_taints_policy: str | None = None,
    match_label_keys: Iterable[str] = (),
) -> TopologySpreadConstraint:
    """A topology spread constraint; `soft` only counts in scoring."""
    return TopologySpreadConstraint(
        max_skew=max_skew,
        topology_key=topology_key,
        when_unsatisfiable="ScheduleAnyway" if soft else "DoNotSchedule",
        label_selector=selector,
        min_domains=min_domains,
        node_affinity_policy=node_affinity_policy,
        node_taints_policy=node_taints_policy,
        match_label_keys=tuple(match_label_keys),
    )
