"""Rows: the nodes that are being judged, as arrays. The axis along which every kernel works."""

from typing import TYPE_CHECKING, Final

import numpy as np

from stowplan.columns.column import Column, S
from stowplan.columns.pods import PodInfo
from stowplan.columns.ports import HostPort
from stowplan.columns.selector_counts import SelectorCount
from stowplan.columns.term_counts import AffinityTerm
from stowplan.goarith import BoolN, IntN

FEW_ROWS: Final = 4
"""perf: a NumPy call costs a microsecond however few the rows; up to so many, plain numbers are faster."""

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from stowplan.columns.view import View


class Rows:
    """Some or all nodes of a View. `index` holds their row numbers; every array it returns runs along it."""

    __slots__ = ("_span", "index", "view")

    def __init__(self, view: "View", index: IntN, *, contiguous: bool = False) -> None:
        self.view = view
        self.index = index
        # perf: a slice is a view of the column, an index array copies it (2 µs instead of 12 µs at 5000 nodes)
        self._span = slice(int(index[0]), int(index[0]) + len(index)) if contiguous and len(index) else None

    def __len__(self) -> int:
        return len(self.index)

    def take(self, column: Column[S]) -> "NDArray[S]":
        """A column along these rows. It may be the column's own memory: do not write to it."""
        return column.data[self.index if self._span is None else self._span]

    def select(self, mask: BoolN) -> "Rows":
        """The rows where the mask is set."""
        return Rows(self.view, self.index[mask])

    @property
    def names(self) -> "Sequence[str]":
        """The nodes' names."""
        names = self.view.nodes.names
        return [names[row] for row in self.index]

    def allocatable(self, resource: str) -> IntN:
        """What each node offers of a resource."""
        return self.take(self.view.nodes.allocatable(resource))

    def requested(self, resource: str) -> IntN:
        """What the pods there ask for of a resource."""
        return self.take(self.view.nodes.requested(resource))

    @property
    def nonzero_cpu(self) -> IntN:
        """Milli-cpu asked for, with the default for containers that ask for none."""
        return self.take(self.view.nodes.nonzero_cpu)

    @property
    def nonzero_memory(self) -> IntN:
        """Bytes asked for, with the default for containers that ask for none."""
        return self.take(self.view.nodes.nonzero_memory)

    @property
    def pod_count(self) -> IntN:
        """Pods placed on each node."""
        return self.take(self.view.nodes.pod_count)

    def label(self, key: str) -> "NDArray[np.int32]":
        """Value codes of a label key, -1 where the node lacks it."""
        return self.take(self.view.nodes.label(key).codes)

    def count(self, selector: SelectorCount) -> IntN:
        """Pods on each node that a selector matches."""
        return self.take(selector.column)

    def shift(self, selector: SelectorCount) -> IntN | None:  # noqa: ARG002 - worlds answer
        """Per row: how far the matching pods there differ from the View's; None when nothing differs."""
        return None

    def term_shift(self, term: AffinityTerm) -> IntN | None:  # noqa: ARG002 - worlds answer
        """Per row: how far the pods that carry a term differ from the View's; None when nothing differs."""
        return None

    def added_terms(self) -> "Collection[AffinityTerm]":
        """Terms of pods that these rows have and the View has not."""
        return ()

    def port_clash(self, wanted: HostPort) -> BoolN | None:
        """Where a host port is taken; None when nowhere."""
        columns = self.view.nodes.ports.conflicting(wanted)
        if not columns:
            return None
        taken: BoolN = np.logical_or.reduce([self.take(column) for _, column in columns])
        return taken

    def pods(self, at: int) -> "Sequence[PodInfo]":
        """The pods on the node at a position of these rows."""
        return self.view.nodes.pods_on[self.index[at]]

    @property
    def differs(self) -> bool:
        """Whether these rows are worlds, in which pods were added or removed."""
        return False
