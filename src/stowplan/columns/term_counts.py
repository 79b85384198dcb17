"""The placed pods' own (anti-)affinity terms, grouped by distinct term: how many pods with it on which node.

So symmetry costs per distinct term, not per pod.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, final

import numpy as np

from stowplan.columns.column import Column, Table
from stowplan.columns.pod_selectors import Labels, PodSelector, SelectorIndex

NO_LABELS: Final[Labels] = {}


class TermKind(Enum):
    """What a term asks for."""

    REQUIRED_AFFINITY = auto()
    REQUIRED_ANTI_AFFINITY = auto()
    PREFERRED_AFFINITY = auto()
    PREFERRED_ANTI_AFFINITY = auto()


@dataclass(frozen=True, slots=True)
class AffinityTerm:
    """Near (or far from) which pods, within which topology; preferred ones with a weight."""

    kind: TermKind
    what: PodSelector
    topology_key: str
    weight: int = 0


@final
class TermCount:
    """The column of one distinct term: placed pods that carry it."""

    __slots__ = ("column", "pods", "term")

    def __init__(self, term: AffinityTerm, column: Column[np.int64]) -> None:
        self.term = term
        self.column = column
        self.pods = 0


@final
class TermCounts:
    """All terms of placed pods."""

    __slots__ = ("_counts", "_index", "_namespaces", "_table")

    def __init__(self, table: Table, namespaces: Mapping[str, Labels]) -> None:
        self._table = table
        self._namespaces = namespaces
        self._counts: dict[AffinityTerm, TermCount] = {}
        self._index: SelectorIndex[TermCount] = SelectorIndex()

    def place(self, terms: tuple[AffinityTerm, ...], row: int) -> None:
        """A pod with these terms came to a row."""
        for term in terms:
            count = self._counts.get(term)
            if count is None:
                count = self._counts[term] = TermCount(term, self._table.column(np.int64, 0))
                self._index.add(term.what.selector, count)
            count.column.data[row] += 1
            count.pods += 1

    def leave(self, terms: tuple[AffinityTerm, ...], row: int) -> None:
        """A pod with these terms left a row."""
        for term in terms:
            count = self._counts[term]
            count.column.data[row] -= 1
            count.pods -= 1
            if not count.pods:
                del self._counts[term]
                self._index.remove(term.what.selector, count)
                self._table.drop(count.column)

    def about(self, namespace: str, labels: Labels) -> Iterator[TermCount]:
        """The terms of placed pods that a pod of this namespace with these labels matches."""
        for count in self._index.candidates(labels):
            if self.matches(count.term, namespace, labels):
                yield count

    def matches(self, term: AffinityTerm, namespace: str, labels: Labels) -> bool:
        """Whether a term speaks of such a pod."""
        # parity: a namespace that nobody has seen counts as one without labels here; see
        # GetNamespaceLabelsSnapshot in interpodaffinity/plugin.go
        what = term.what
        return what.picks_namespace(
            namespace, self._namespaces.get(namespace), unknown=NO_LABELS
        ) and what.selector.matches(labels)

    def __len__(self) -> int:
        return len(self._counts)
