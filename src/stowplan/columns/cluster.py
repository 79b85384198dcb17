"""The Cluster: the mutable columnar state, fed by events and by assuming pods.

Upstream: pkg/scheduler/backend/cache/cache.go (v1.36.4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from stowplan.api.errors import QuantityError
from stowplan.api.meta import KubeObject, Namespace
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.journal import Changed, Journal
from stowplan.columns.node_order import NodeOrder
from stowplan.columns.nodes import NodeTable
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pod_selectors import Labels
from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.columns.selector_counts import SelectorCounts
from stowplan.columns.term_counts import TermCounts
from stowplan.columns.view import View


@dataclass(slots=True)
class Placed:
    """A pod that occupies a row: bound, or assumed until the API says so."""

    pod: PodInfo
    row: int
    assumed: bool
    counted_as_terminating: bool


@final
class Cluster:
    """Nodes, placed pods and objects as columns. Every change is in the journal."""

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.journal = Journal()
        self.objects = ObjectStore()
        self.compiler = PodCompiler()
        self.namespaces: dict[str, Labels] = {}
        self.selectors = SelectorCounts(self.nodes.table, self.namespaces)
        self.terms = TermCounts(self.nodes.table, self.namespaces)
        self.order = NodeOrder()
        self._placed: dict[str, Placed] = {}
        self._view: View | None = None
        self._members: tuple[np.ndarray, np.ndarray, bool] | None = None

    def put_node(self, node: Node) -> None:
        """A node came or changed. Raises QuantityError, and changes nothing, when an amount is malformed."""
        name = node.metadata.name
        known = name in self.nodes.row_of
        row = self.nodes.row(name)
        try:
            self.nodes.set(row, node)
        except QuantityError:
            if not known:
                self.nodes.release(row)
            raise
        change = Changed.NODE
        if self.order.place(row, node.metadata.labels):
            change |= Changed.MEMBERS
            self._members = None
        self.journal.append(row, change)

    def remove_node(self, name: str) -> None:
        """A node went. Pods placed on it are kept until their own end is reported, as upstream does."""
        row = self.nodes.row_of.get(name)
        if row is None or self.nodes.records[row] is None:
            return
        self.nodes.unset(row)
        self.order.remove(row)
        self._members = None
        self.journal.append(row, Changed.NODE | Changed.MEMBERS)
        self._release_if_empty(row)

    def put_pod(self, pod: Pod) -> PodInfo:
        """A bound pod came or changed; one that was assumed is confirmed."""
        info = self.compiler.compile(pod)
        old = self._placed.get(info.uid)
        if old is not None and self._same_load(old, info):
            # perf: most updates of a placed pod are its confirmation and its status, which no column shows
            self.nodes.replace(old.row, old.pod, info)
            old.pod, old.assumed = info, False
            self.journal.append(old.row, Changed.STATE)
            return info
        if old is not None:
            self._leave(old)
        self._place(info, pod.spec.node_name, assumed=False)
        if old is not None:
            self._release_if_empty(old.row)
        return info

    def remove_pod(self, uid: str) -> PodInfo | None:
        """A placed pod went."""
        placed = self._placed.get(uid)
        if placed is None:
            return None
        self._leave(placed)
        self._release_if_empty(placed.row)
        return placed.pod

    def assume(self, pod: PodInfo, node_name: str) -> None:
        """Count a pod on a node before the API knows of it."""
        assert pod.uid not in self._placed, f"{pod.key} is placed already"
        self._place(pod.on_node(node_name), node_name, assumed=True)

    def forget(self, uid: str) -> None:
        """Take back an assumption; a pod that was confirmed meanwhile stays."""
        placed = self._placed.get(uid)
        if placed is not None and placed.assumed:
            self._leave(placed)
            self._release_if_empty(placed.row)

    def is_assumed(self, uid: str) -> bool:
        """Whether a pod is assumed and not confirmed."""
        placed = self._placed.get(uid)
        return placed is not None and placed.assumed

    def assumed(self) -> Iterator[PodInfo]:
        """All assumed pods."""
        return (placed.pod for placed in self._placed.values() if placed.assumed)

    def node(self, name: str) -> Node | None:
        """A node by name, as it is now."""
        row = self.nodes.row_of.get(name)
        return None if row is None else self.nodes.records[row]

    def node_of(self, uid: str) -> str | None:
        """The node on which a pod is placed."""
        placed = self._placed.get(uid)
        return None if placed is None else self.nodes.names[placed.row]

    def placed_pod(self, uid: str) -> PodInfo | None:
        """A placed pod by uid."""
        placed = self._placed.get(uid)
        return None if placed is None else placed.pod

    @property
    def placed_count(self) -> int:
        """How many pods are placed, assumed ones among them."""
        return len(self._placed)

    def put_object(self, obj: KubeObject) -> None:
        """Any other object came or changed."""
        old = self.objects.put(obj)
        if isinstance(obj, Namespace):
            self.namespaces[obj.name] = obj.labels
            if old is None or old.labels != obj.labels:
                self.selectors.namespace_changed()
        self.journal.append(-1, Changed.OBJECTS)

    def remove_object(self, kind: type[KubeObject], key: str) -> None:
        """Any other object went."""
        if self.objects.drop(kind, key) is None:
            return
        if kind is Namespace:
            del self.namespaces[key]
            self.selectors.namespace_changed()
        self.journal.append(-1, Changed.OBJECTS)

    def put(self, obj: KubeObject) -> None:
        """Whatever it is: a node, a bound pod, another object. Pods without a node are not the Cluster's."""
        if isinstance(obj, Node):
            self.put_node(obj)
        elif not isinstance(obj, Pod):
            self.put_object(obj)
        elif obj.spec.node_name:
            self.put_pod(obj)

    def remove(self, obj: KubeObject) -> None:
        """The counterpart of `put`."""
        if isinstance(obj, Node):
            self.remove_node(obj.metadata.name)
        elif isinstance(obj, Pod):
            self.remove_pod(obj.metadata.uid or obj.key)
        else:
            self.remove_object(type(obj), obj.key)

    def view(self) -> View:
        """The Cluster as it is now."""
        if self._view is None or not self._view.fresh:
            if self._members is None:
                self._members = self._list_members()
            index, order, contiguous = self._members
            self._view = View(
                nodes=self.nodes,
                selectors=self.selectors,
                terms=self.terms,
                objects=self.objects,
                namespaces=self.namespaces,
                journal=self.journal,
                index=index,
                order=order,
                contiguous=contiguous,
            )
        return self._view

    def _same_load(self, old: Placed, new: PodInfo) -> bool:
        """Whether a pod that comes again weighs and shows the same where it is."""
        return (
            old.pod.cls is new.cls
            and self.nodes.names[old.row] == new.pod.spec.node_name
            and old.counted_as_terminating == new.terminating
        )

    def _list_members(self) -> tuple[np.ndarray, np.ndarray, bool]:
        index = np.flatnonzero(self.nodes.alive.data).astype(np.int64)
        contiguous = len(index) > 0 and int(index[-1]) - int(index[0]) + 1 == len(index)
        return index, np.array(self.order.rows(), dtype=np.int64), contiguous

    def _place(self, pod: PodInfo, node_name: str, *, assumed: bool) -> None:
        row = self.nodes.row(node_name)
        terminating = pod.terminating
        self.nodes.place(row, pod)
        self.selectors.place(pod.cls.label_key, pod.cls.labels, row, terminating=terminating)
        if pod.cls.terms:
            self.terms.place(pod.cls.terms, row)
        self._placed[pod.uid] = Placed(pod, row, assumed, terminating)
        self.journal.append(row, Changed.LOAD)

    def _leave(self, placed: Placed) -> None:
        pod, row = placed.pod, placed.row
        del self._placed[pod.uid]
        self.nodes.leave(row, pod)
        self.selectors.leave(pod.cls.label_key, row, terminating=placed.counted_as_terminating)
        if pod.cls.terms:
            self.terms.leave(pod.cls.terms, row)
        self.journal.append(row, Changed.LOAD)

    def _release_if_empty(self, row: int) -> None:
        if self.nodes.records[row] is None and not self.nodes.pods_on[row]:
            self.nodes.release(row)
