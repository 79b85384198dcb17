"""A frozen reading of the Cluster at a generation: what plugins see."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, final

import numpy as np

from stowplan.columns.nodes import NodeTable
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pod_selectors import Labels, PodSelector
from stowplan.columns.rows import Rows
from stowplan.columns.selector_counts import SelectorCount, SelectorCounts
from stowplan.columns.term_counts import TermCounts
from stowplan.goarith import IntN

if TYPE_CHECKING:
    from stowplan.columns.journal import Changed, Journal


@final
class View:
    """The Cluster's tables, valid until the Cluster changes: nothing is copied, so a stale View refuses to judge."""

    __slots__ = ("_journal", "generation", "namespaces", "nodes", "objects", "order", "rows", "selectors", "terms")

    def __init__(
        self,
        *,
        nodes: NodeTable,
        selectors: SelectorCounts,
        terms: TermCounts,
        objects: ObjectStore,
        namespaces: Mapping[str, Labels],
        journal: "Journal",
        index: IntN,
        order: IntN,
        contiguous: bool,
    ) -> None:
        self.nodes = nodes
        self.selectors = selectors
        self.terms = terms
        self.objects = objects
        self.namespaces = namespaces
        self.generation = journal.generation
        self.order = order
        """Row numbers in the order in which nodes are looked at."""
        self.rows = Rows(self, index, contiguous=contiguous)
        """All nodes, by ascending row number."""
        self._journal = journal

    @property
    def fresh(self) -> bool:
        """Whether the Cluster is still as it was."""
        return self.generation == self._journal.generation

    def changed_since(self, generation: int) -> "Mapping[int, Changed] | None":
        """The rows that changed since an earlier generation, and what of them; None when that is not known any more."""
        return self._journal.since(generation)

    def __len__(self) -> int:
        return len(self.rows)

    def changes_since(self, generation: int) -> "Mapping[int, Changed] | None":
        """The rows that changed after a generation, each with all its changes; None when that is no longer known."""
        return self._journal.since(generation)

    def row_of(self, name: str) -> int | None:
        """The row of a node that exists."""
        row = self.nodes.row_of.get(name)
        return row if row is not None and self.nodes.alive.data[row] else None

    def only(self, names: "list[str] | frozenset[str]") -> Rows:
        """The named nodes, as far as they exist."""
        found = sorted(row for name in names if (row := self.row_of(name)) is not None)
        return Rows(self, np.array(found, dtype=np.int64))

    def count(self, what: PodSelector, *, live_only: bool = False) -> SelectorCount:
        """How many placed pods a selector matches, per node."""
        return self.selectors.count(what, live_only=live_only)
