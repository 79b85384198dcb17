"""A pod as the scheduler reads it: compiled once per class of pods that it cannot tell apart.

Upstream: PodInfo in pkg/scheduler/framework/types.go (v1.36.4).
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, final

import msgspec

from stowplan.api.affinity import Affinity, PodAffinityTerm
from stowplan.api.errors import SelectorError
from stowplan.api.meta import OwnerReference, controller_of
from stowplan.api.pod import Pod, PodSpec, pod_priority, pod_start_seconds
from stowplan.api.requests import fit_requests, host_ports, pod_load
from stowplan.api.selectors import NOTHING, compile_label_selector
from stowplan.columns.pod_selectors import PodSelector
from stowplan.columns.ports import ALL_ADDRESSES, HostPort
from stowplan.columns.selector_counts import LabelKey
from stowplan.columns.term_counts import AffinityTerm, TermKind

MOST_CLASSES: Final = 16_384

ENCODER: Final = msgspec.msgpack.Encoder()


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PodClass:
    """All that scheduling reads of a pod but its name, uid and age. Equal pods share one, so identity is equality."""

    namespace: str
    labels: Mapping[str, str]
    label_key: LabelKey
    spec: PodSpec
    owner: OwnerReference | None
    priority: int
    wanted: Mapping[str, int]
    """What it needs of a node while it waits: resource name to amount, cpu in milli-cpu, all else in units."""
    requests: Mapping[str, int]
    """What it weighs on the node it is on, a resize under way included."""
    nonzero_cpu: int
    nonzero_memory: int
    host_ports: tuple[HostPort, ...]
    claim_keys: tuple[str, ...]
    """namespace/name of the persistent volume claims its volumes name, once per volume."""
    terms: tuple[AffinityTerm, ...]
    """Its (anti-)affinity terms of all kinds."""
    term_errors: tuple[str, ...]
    """What was wrong with the terms that are left out."""

    def terms_of(self, kind: TermKind) -> tuple[AffinityTerm, ...]:
        """Its terms of one kind, in the order written."""
        return tuple(term for term in self.terms if term.kind is kind)


@final
class PodInfo:
    """One pod and its class."""

    __slots__ = ("__dict__", "cls", "pod")

    def __init__(self, pod: Pod, cls: PodClass) -> None:
        self.pod = pod
        self.cls = cls

    @cached_property
    def key(self) -> str:
        """namespace/name."""
        return self.pod.key

    @cached_property
    def uid(self) -> str:
        """The uid; where a manifest has none, the key stands for it."""
        return self.pod.metadata.uid or self.pod.key

    @property
    def priority(self) -> int:
        """The pod's priority, 0 when none was set."""
        return self.cls.priority

    @property
    def terminating(self) -> bool:
        """Whether it is being deleted."""
        return self.pod.metadata.deletion_timestamp is not None

    @cached_property
    def start_seconds(self) -> float | None:
        """When the kubelet started it, if it did."""
        return pod_start_seconds(self.pod)

    def on_node(self, node_name: str) -> "PodInfo":
        """The same pod as if it were bound to a node."""
        spec = msgspec.structs.replace(self.pod.spec, node_name=node_name)
        return PodInfo(msgspec.structs.replace(self.pod, spec=spec), self.cls)

    def __repr__(self) -> str:
        return f"PodInfo({self.key})"


@final
class PodCompiler:
    """Compiles pods, one PodClass per distinct class among those lately seen."""

    __slots__ = ("_classes",)

    def __init__(self) -> None:
        self._classes: OrderedDict[bytes, PodClass] = OrderedDict()

    def compile(self, pod: Pod) -> PodInfo:
        """The pod with its class. Raises QuantityError on a malformed request."""
        key = class_key(pod)
        cls = self._classes.get(key)
        if cls is None:
            cls = self._classes[key] = compile_class(pod)
            if len(self._classes) > MOST_CLASSES:
                self._classes.popitem(last=False)
        return PodInfo(pod, cls)


def class_key(pod: Pod) -> bytes:
    """Equal for pods that scheduling cannot tell apart."""
    spec = msgspec.structs.replace(pod.spec, node_name="") if pod.spec.node_name else pod.spec
    status = pod.status
    # what an in-place resize leaves in the status counts in the requests
    resized = (
        status.container_statuses,
        status.init_container_statuses,
        status.resources,
        status.allocated_resources,
        status.conditions,
    )
    has_statuses = bool(status.container_statuses or status.init_container_statuses or status.resources)
    meta = pod.metadata
    owner = controller_of(meta)
    # perf: encoding is 3 µs a pod, comparing trees of records is ten times that
    return ENCODER.encode((meta.namespace, sorted(meta.labels.items()), spec, owner, resized if has_statuses else None))


def compile_class(pod: Pod) -> PodClass:
    """Everything that is derived from a pod once."""
    namespace, labels, spec = pod.metadata.namespace, pod.metadata.labels, pod.spec
    terms, errors = compile_terms(namespace, spec.affinity)
    load = pod_load(pod)
    return PodClass(
        namespace=namespace,
        labels=labels,
        label_key=(namespace, frozenset(labels.items())),
        spec=spec,
        owner=controller_of(pod.metadata),
        priority=pod_priority(pod),
        wanted=fit_requests(pod),
        requests=load.requests,
        nonzero_cpu=load.nonzero_milli_cpu,
        nonzero_memory=load.nonzero_memory,
        host_ports=tuple(
            (port.host_ip or ALL_ADDRESSES, port.protocol or "TCP", port.host_port) for port in host_ports(pod)
        ),
        claim_keys=tuple(
            f"{namespace}/{volume.persistent_volume_claim.claim_name}"
            for volume in spec.volumes
            if volume.persistent_volume_claim is not None
        ),
        terms=terms,
        term_errors=errors,
    )


def compile_terms(namespace: str, affinity: Affinity | None) -> tuple[tuple[AffinityTerm, ...], tuple[str, ...]]:
    """The terms of all kinds. One bad selector loses all terms of its kind, as upstream has it."""
    if affinity is None:
        return (), ()
    near, far = affinity.pod_affinity, affinity.pod_anti_affinity
    kinds = (
        (TermKind.REQUIRED_AFFINITY, "requiredAffinityTerms", [(t, 0) for t in near.required] if near else []),
        (TermKind.REQUIRED_ANTI_AFFINITY, "requiredAntiAffinityTerms", [(t, 0) for t in far.required] if far else []),
        (
            TermKind.PREFERRED_AFFINITY,
            "preferredAffinityTerms",
            [(w.pod_affinity_term, w.weight) for w in near.preferred] if near else [],
        ),
        (
            TermKind.PREFERRED_ANTI_AFFINITY,
            "preferredAntiAffinityTerms",
            [(w.pod_affinity_term, w.weight) for w in far.preferred] if far else [],
        ),
    )
    terms: list[AffinityTerm] = []
    errors: list[str] = []
    for kind, label, written in kinds:
        try:
            terms += [
                AffinityTerm(kind, pod_selector(namespace, term), term.topology_key, weight) for term, weight in written
            ]
        except SelectorError as error:
            errors.append(f"{label}: {error}")
    return tuple(terms), tuple(errors)


def pod_selector(namespace: str, term: PodAffinityTerm) -> PodSelector:
    """Whom a term speaks of: with neither namespaces nor a namespace selector, pods of its own namespace."""
    if not term.namespaces and term.namespace_selector is None:
        namespaces = frozenset({namespace})
    else:
        namespaces = frozenset(term.namespaces)
    return PodSelector(
        selector=compile_label_selector(term.label_selector),
        namespaces=namespaces,
        namespace_selector=(
            NOTHING if term.namespace_selector is None else compile_label_selector(term.namespace_selector)
        ),
    )
