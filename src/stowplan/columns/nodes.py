"""The nodes as columns: one row a node, one array a fact.

Upstream: NodeInfo in pkg/scheduler/framework/types.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import Final, final

import numpy as np

from stowplan.api.affinity import Taint
from stowplan.api.node import Node
from stowplan.api.requests import node_amounts
from stowplan.columns.column import Column, Table
from stowplan.columns.images import Images
from stowplan.columns.interning import Interner
from stowplan.columns.pods import PodInfo
from stowplan.columns.ports import PortColumns
from stowplan.columns.volume_uses import VolumeUses
from stowplan.goarith import IntN, wrap_int64

PODS: Final = "pods"
CPU: Final = "cpu"
MEMORY: Final = "memory"


@final
class LabelColumn:
    """One label key over all nodes: the value's code, -1 where the node lacks the key. Codes are dense."""

    __slots__ = ("codes", "values")

    def __init__(self, codes: Column[np.int32]) -> None:
        self.codes = codes
        self.values: Interner[str] = Interner()

    def set(self, row: int, value: str | None) -> None:
        """The node's value, or None."""
        self.codes.data[row] = -1 if value is None else self.values.code(value)


@final
class NodeTable:
    """Facts about nodes, by row. A row outlives its node while pods are placed on it."""

    def __init__(self) -> None:
        self.table = Table()
        self.row_of: dict[str, int] = {}
        self.names: list[str] = []
        self.records: list[Node | None] = []
        self.pods_on: list[list[PodInfo]] = []
        """Placed pods per row. parity: a pod that leaves gives its place to the last (removeFromSlice in types.go)."""
        self.alive = self.table.column(np.bool_, False)
        self.cordoned = self.table.column(np.bool_, False)
        self.taint_set = self.table.column(np.int32, 0)
        self.taint_sets: Interner[tuple[Taint, ...]] = Interner()
        self.taint_sets.code(())
        self.features = self.table.column(np.int32, 0)
        self.feature_sets: Interner[frozenset[str]] = Interner()
        self.feature_sets.code(frozenset())
        self.pod_count = self.table.column(np.int64, 0)
        self.nonzero_cpu = self.table.column(np.int64, 0)
        self.nonzero_memory = self.table.column(np.int64, 0)
        self.ports = PortColumns(self.table)
        self.images = Images()
        self.volumes = VolumeUses()
        self._allocatable: dict[str, Column[np.int64]] = {}
        self._requested: dict[str, Column[np.int64]] = {}
        self._labels: dict[str, LabelColumn] = {}

    def row(self, name: str) -> int:
        """The row of a node name, a new one for a name nobody has used."""
        row = self.row_of.get(name)
        if row is None:
            row = self.row_of[name] = self.table.take_row()
            if row == len(self.names):
                self.names.append(name)
                self.records.append(None)
                self.pods_on.append([])
            else:
                self.names[row] = name
                for column in self._labels.values():
                    column.codes.data[row] = -1
        return row

    def release(self, row: int) -> None:
        """Free the row of a node that is gone and has no pods."""
        assert self.records[row] is None
        assert not self.pods_on[row]
        del self.row_of[self.names[row]]
        self.names[row] = ""
        self.table.free_row(row)

    def set(self, row: int, node: Node) -> None:
        """Take over what a node says of itself. Raises QuantityError on a malformed amount."""
        amounts = node_amounts(node.status.allocatable)
        self.records[row] = node
        data = self.alive.data
        data[row] = True
        for name, amount in amounts.items():
            self.allocatable(name).data[row] = amount
        for name, column in self._allocatable.items():
            if name not in amounts:
                column.data[row] = 0
        self.cordoned.data[row] = node.spec.unschedulable
        self.taint_set.data[row] = self.taint_sets.code(undated(node.spec.taints))
        self.features.data[row] = self.feature_sets.code(frozenset(node.status.declared_features))
        labels = node.metadata.labels
        for key, labelled in self._labels.items():
            labelled.set(row, labels.get(key))
        self.images.set(row, ((name, image.size_bytes) for image in node.status.images for name in image.names))

    def unset(self, row: int) -> None:
        """The node is gone; what is placed on it stays."""
        self.records[row] = None
        self.alive.data[row] = False
        self.images.set(row, ())

    def allocatable(self, resource: str) -> Column[np.int64]:
        """How much of a resource each node offers; `pods` among them."""
        column = self._allocatable.get(resource)
        if column is None:
            column = self._allocatable[resource] = self.table.column(np.int64, 0)
        return column

    @property
    def resources(self) -> tuple[str, ...]:
        """The resources that some node offers or some pod asked for, sorted."""
        return tuple(sorted(self._allocatable.keys() | self._requested.keys()))

    def requested(self, resource: str) -> Column[np.int64]:
        """How much of a resource the placed pods ask for."""
        column = self._requested.get(resource)
        if column is None:
            column = self._requested[resource] = self.table.column(np.int64, 0)
        return column

    def label(self, key: str) -> LabelColumn:
        """The column of a label key, filled on first use."""
        column = self._labels.get(key)
        if column is None:
            column = self._labels[key] = LabelColumn(self.table.column(np.int32, -1))
            for row, node in enumerate(self.records):
                if node is not None:
                    column.set(row, node.metadata.labels.get(key))
        return column

    def place(self, row: int, pod: PodInfo) -> None:
        """Count a pod that is placed on a row."""
        self.pods_on[row].append(pod)
        self._load(row, pod, 1)
        self.ports.set(row, pod.cls.host_ports, True)
        if pod.cls.spec.volumes:
            self.volumes.place(row, pod.cls)

    def replace(self, row: int, old: PodInfo, new: PodInfo) -> None:
        """Take a newer state of a pod for an older one of the same load; it comes last, as one that left and came."""
        pods = self.pods_on[row]
        at = pods.index(old)
        pods[at] = pods[-1]
        pods[-1] = new

    def leave(self, row: int, pod: PodInfo) -> None:
        """Stop counting a pod."""
        pods = self.pods_on[row]
        at = pods.index(pod)
        pods[at] = pods[-1]
        pods.pop()
        self._load(row, pod, -1)
        self.ports.set(row, pod.cls.host_ports, False)
        if pod.cls.spec.volumes:
            self.volumes.leave(row, pod.cls)

    def _load(self, row: int, pod: PodInfo, by: int) -> None:
        cls = pod.cls
        for name, amount in cls.requests.items():
            _add(self.requested(name).data, row, by * amount)
        self.pod_count.data[row] += by
        _add(self.nonzero_cpu.data, row, by * cls.nonzero_cpu)
        _add(self.nonzero_memory.data, row, by * cls.nonzero_memory)

    def labels_of(self, row: int) -> Mapping[str, str]:
        """All labels of the node on a row."""
        node = self.records[row]
        return {} if node is None else node.metadata.labels


def _add(column_n: IntN, row: int, amount: int) -> None:
    # parity: pods may ask for so much that the sum wraps around (NodeInfo.update in framework/types.go)
    column_n[row] = wrap_int64(column_n.item(row) + amount)


def undated(taints: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """Taints without the time of their arrival: nobody here asks for it, and it makes equal sets differ."""
    if all(taint.time_added is None for taint in taints):
        return taints
    return tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in taints)
