"""HTTP extenders: judges outside of the process, asked in turn, never trusted.

Calls block; the loop makes them in a worker thread. What is sent of pods and nodes are the fields that scheduling
reads; an extender that needs others looks them up in the API.

Upstream: pkg/scheduler/extender.go (v1.36.4).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, final

import msgspec

from stowplan.api.codec import encode
from stowplan.api.node import Node
from stowplan.api.pod import Container
from stowplan.clock import Clock
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.config.spec import ExtenderSpec
from stowplan.daemon.extender_answers import (
    read_error,
    read_names,
    read_node_list,
    read_object,
    read_reasons,
    read_scores,
    read_victims,
)
from stowplan.daemon.extender_http import ExtenderTransport
from stowplan.framework.extender import ExtenderAnswer, ExtenderError, Victims

NodeOf = Callable[[str], Node | None]
PodsOn = Callable[[str], Iterable[PodInfo]]


@final
class HttpExtender:
    """One extender. `node_of` and `pods_on` read the Cluster while an attempt holds it still."""

    def __init__(self, spec: ExtenderSpec, *, node_of: NodeOf, pods_on: PodsOn, clock: Clock) -> None:
        self.name = spec.url_prefix
        self.ignorable = spec.ignorable
        self.filters = bool(spec.filter_verb)
        self.prioritizes = bool(spec.prioritize_verb)
        self.preempts = bool(spec.preempt_verb)
        self.binds = bool(spec.bind_verb)
        self.weight = spec.weight
        self._spec = spec
        self._managed = frozenset(resource.name for resource in spec.managed_resources)
        self._node_of = node_of
        self._pods_on = pods_on
        self._transport = ExtenderTransport(spec, clock)
        self._encoded: dict[str, tuple[Node, bytes]] = {}

    def interested(self, pod: PodInfo) -> bool:
        """Whether the extender manages a resource that the pod asks for."""
        spec = pod.pod.spec
        return not self._managed or self._manages(spec.containers) or self._manages(spec.init_containers)

    def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderAnswer:
        """Judge nodes. Raises ExtenderError."""
        if not self.filters:
            return ExtenderAnswer(node_names, {}, {})
        url = self._url(self._spec.filter_verb)
        fields = read_object(self._ask(self._spec.filter_verb, self._arguments(pod, node_names)), url)
        if error := read_error(fields, url):
            raise ExtenderError(error)
        kept = read_names(fields, url) if self._spec.node_cache_capable else None
        if kept is None:
            kept = read_node_list(fields, url) or []
        given = frozenset(node_names)
        for name in kept:
            if name not in given:
                raise ExtenderError(
                    f'extender "{self.name}" claims a filtered node "{name}" which is not found in the input node list'
                )
        return ExtenderAnswer(
            kept, read_reasons(fields, "FailedNodes", url), read_reasons(fields, "FailedAndUnresolvableNodes", url)
        )

    def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """Node name to a score of 0..MAX_EXTENDER_SCORE. Raises ExtenderError."""
        if not self.prioritizes:
            return {}
        verb = self._spec.prioritize_verb
        given = frozenset(node_names)
        scores: dict[str, int] = {}
        for host, score in read_scores(self._ask(verb, self._arguments(pod, node_names)), self._url(verb)):
            if host in given:  # parity: the scores of a host that is named twice add up
                scores[host] = scores.get(host, 0) + score
        return scores

    def preempt(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The candidates it agrees with, perhaps with other victims. Raises ExtenderError."""
        if not self.preempts:
            raise ExtenderError(f"preempt verb is not defined for extender {self.name} but run into ProcessPreemption")
        verb = self._spec.preempt_verb
        url = self._url(verb)
        fields = read_object(self._ask(verb, self._preemption(pod, victims)), url)
        return {
            node: Victims(self._pods_of(node, uids, url), violations)
            for node, (uids, violations) in read_victims(fields, url).items()
        }

    def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the binding in the scheduler's place. Raises ExtenderError."""
        verb = self._spec.bind_verb
        meta = pod.pod.metadata
        body = msgspec.json.encode(
            {"PodName": meta.name, "PodNamespace": meta.namespace, "PodUID": meta.uid, "Node": node_name}
        )
        url = self._url(verb)
        if error := read_error(read_object(self._transport.post(verb, body, repeatable=False), url), url):
            raise ExtenderError(error)

    def close(self) -> None:
        """Close its connections."""
        self._transport.close()

    def _url(self, verb: str) -> str:
        return f"{self._transport.url}/{verb}"

    def _ask(self, verb: str, body: bytes) -> bytes:
        return self._transport.post(verb, body, repeatable=True)

    def _manages(self, containers: Iterable[Container]) -> bool:
        return any(
            not self._managed.isdisjoint(container.resources.requests)
            or not self._managed.isdisjoint(container.resources.limits)
            for container in containers
        )

    def _arguments(self, pod: PodInfo, node_names: Sequence[str]) -> bytes:
        if self._spec.node_cache_capable:
            names = msgspec.json.encode(list(node_names))
            return b'{"Pod":%b,"Nodes":null,"NodeNames":%b}' % (encode(pod.pod), names)
        nodes = b",".join(self._node(name) for name in node_names)
        return b'{"Pod":%b,"Nodes":{"metadata":{},"items":[%b]},"NodeNames":null}' % (encode(pod.pod), nodes)

    def _node(self, name: str) -> bytes:
        node = self._node_of(name)
        if node is None:
            raise ExtenderError(f'nodeinfo not found for node name "{name}"')
        kept = self._encoded.get(name)
        # perf: encoding 5000 nodes takes 50 ms, and few of them change between two pods
        if kept is None or kept[0] is not node:
            kept = self._encoded[name] = (node, encode(node))
        return kept[1]

    def _preemption(self, pod: PodInfo, victims: Mapping[str, Victims]) -> bytes:
        meta: dict[str, Any] | None = None
        full: dict[str, Any] | None = None
        if self._spec.node_cache_capable:
            meta = {
                node: {"Pods": [{"UID": victim.uid} for victim in chosen.pods], "NumPDBViolations": chosen.violations}
                for node, chosen in victims.items()
            }
        else:
            full = {
                node: {
                    "Pods": [msgspec.Raw(encode(victim.pod)) for victim in chosen.pods],
                    "NumPDBViolations": chosen.violations,
                }
                for node, chosen in victims.items()
            }
        return msgspec.json.encode(
            {"Pod": msgspec.Raw(encode(pod.pod)), "NodeNameToVictims": full, "NodeNameToMetaVictims": meta}
        )

    def _pods_of(self, node_name: str, uids: Sequence[str], url: str) -> list[PodInfo]:
        if self._node_of(node_name) is None:
            raise ExtenderError(f'extender at URL {url}: nodeinfo not found for node name "{node_name}"')
        by_uid = {pod.uid: pod for pod in self._pods_on(node_name)}
        pods = []
        for uid in uids:
            if uid not in by_uid:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}, "
                    "but the pod is not found on that node"
                )
            pods.append(by_uid[uid])
        return pods


def http_extenders(specs: Iterable[ExtenderSpec], cluster: Cluster, clock: Clock) -> tuple[HttpExtender, ...]:
    """All extenders of a configuration, in calling order, over one Cluster. Raises ConfigError."""

    def pods_on(name: str) -> Iterable[PodInfo]:
        row = cluster.nodes.row_of.get(name)
        return () if row is None else cluster.nodes.pods_on[row]

    return tuple(HttpExtender(spec, node_of=cluster.node, pods_on=pods_on, clock=clock) for spec in specs)
