"""Per node: bases for plugins that would rather judge one node at a time than rows of arrays.

They cost a Python call per node, some 2 µs, where arrays cost some 10 µs for 5000 nodes together.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np

from stowplan.api.affinity import Taint
from stowplan.api.node import Node
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import FilterPlugin, PluginError, ScorePlugin
from stowplan.framework.verdict import Rejection, Verdict, fatal, rejection
from stowplan.goarith import IntN


@final
class Amounts(Mapping[str, int]):
    """Resource name to amount: cpu in thousandths, all else in units. A resource that is not there counts 0."""

    __slots__ = ("_at", "_columns")

    def __init__(self, columns: "_Columns", at: int) -> None:
        self._columns = columns
        self._at = at

    def __getitem__(self, resource: str) -> int:
        return int(self._columns[resource][self._at])

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._columns.names if self[name])

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Columns(dict[str, IntN]):
    """Columns of the rows at hand, each read once however many nodes ask for it."""

    def __init__(self, read: Callable[[str], IntN], names: Sequence[str]) -> None:
        super().__init__()
        self._read = read
        self.names = names

    def __missing__(self, resource: str) -> IntN:
        column_n = self[resource] = self._read(resource)
        return column_n


@final
class NodeView:
    """A node as it is, or, in a what-if, as it would be. Read only, and valid for the call it was given to."""

    __slots__ = ("_at", "_rows", "allocatable", "record", "requested")

    def __init__(self, rows: Rows, at: int, record: Node, allocatable: Amounts, requested: Amounts) -> None:
        self._rows = rows
        self._at = at
        self.record = record
        """The node as the API has it."""
        self.allocatable = allocatable
        """What it offers; `pods` is how many it takes."""
        self.requested = requested
        """What the pods there ask for."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.record.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        return self.record.metadata.labels

    @property
    def taints(self) -> Sequence[Taint]:
        """Its taints."""
        return self.record.spec.taints

    @property
    def pods(self) -> Sequence[PodInfo]:
        """The pods placed there."""
        return self._rows.pods(self._at)

    @property
    def images(self) -> Mapping[str, int]:
        """Every name of every image there, and its size in bytes."""
        return {name: image.size_bytes for image in self.record.status.images for name in image.names}


def node_views(rows: Rows) -> Iterator[NodeView]:
    """The nodes of some rows, one by one."""
    nodes = rows.view.nodes
    allocatable = _Columns(rows.allocatable, nodes.resources)
    requested = _Columns(rows.requested, nodes.resources)
    for at, row in enumerate(rows.index.tolist()):
        record = nodes.records[row]
        assert record is not None, "rows are of nodes that exist"
        yield NodeView(rows, at, record, Amounts(allocatable, at), Amounts(requested, at))


class NodeFilterPlugin(FilterPlugin[Any]):
    """Judges one node at a time. Set `depends` to what the answer depends on, so that it can be kept."""

    def filter_node(self, pod: PodInfo, node: NodeView) -> Rejection | str | None:
        """Why the pod cannot go there: a text where evicting pods may help, else `unresolvable(text)`; None: it can.

        A PluginError is about this node alone.
        """
        raise NotImplementedError

    def filter(self, pod: PodInfo, rows: Rows, plan: Any) -> Verdict:  # noqa: ARG002 - nothing is prepared
        """Ask about every node."""
        numbers: dict[Rejection, int] = {}
        outcome_n = np.zeros(len(rows), np.int32)
        for at, node in enumerate(node_views(rows)):
            try:
                said = self.filter_node(pod, node)
            except PluginError as error:
                said = fatal(str(error))
            if said is not None:
                why = rejection(said) if isinstance(said, str) else said
                outcome_n[at] = numbers.setdefault(why, len(numbers) + 1)
        return Verdict(outcome_n, tuple(numbers)) if numbers else Verdict.pass_all()


class NodeScorePlugin(ScorePlugin[Any]):
    """Scores one node at a time. Scores beyond 0..100 need a `normalize` that brings them there."""

    def score_node(self, pod: PodInfo, node: NodeView) -> int:
        """The higher the better."""
        raise NotImplementedError

    def score(self, pod: PodInfo, rows: Rows, plan: Any) -> IntN:  # noqa: ARG002 - nothing is prepared
        """Ask about every node."""
        return np.fromiter((self.score_node(pod, node) for node in node_views(rows)), np.int64, len(rows))
