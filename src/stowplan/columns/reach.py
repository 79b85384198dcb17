"""Reach: which nodes the items of a table (volumes, storage pools) can be used from, asked for all nodes at once.

Ten thousand local volumes, each with a node of its own, are one sorted lookup, not ten thousand masks.
"""

from collections.abc import Iterator, Sequence
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from stowplan.api.node_selectors import NodeMatcher
from stowplan.api.selectors import Operator
from stowplan.columns.column import Column, Table
from stowplan.columns.interning import Interner
from stowplan.columns.node_masks import matcher_mask
from stowplan.columns.rows import Rows
from stowplan.goarith import BoolN, IntN

FAR: Final = np.iinfo(np.int64).max
"""The rank of an item that does not come into question."""

MOST_KEYS: Final = 3
BITS: Final = 21
"""So many label keys with so many bits for a value's code fit into one number."""

Codes = NDArray[np.int32]
Pairs = tuple[tuple[str, str], ...]


@final
class Reach:
    """Files items of a table under what they ask of nodes; None asks for nothing."""

    __slots__ = ("_by_keys", "_group", "_matchers", "_table")

    def __init__(self, table: Table) -> None:
        self._table = table
        self._group: Column[np.int32] = table.column(np.int32, -1)
        self._matchers: Interner[NodeMatcher | None] = Interner()
        self._by_keys: dict[tuple[str, ...], _ByLabels] = {}

    def set(self, slot: int, matcher: NodeMatcher | None) -> None:
        """File an item that is not filed."""
        pairs = None if matcher is None else label_pairs(matcher)
        if pairs is None:
            self._group.data[slot] = self._matchers.code(matcher)
            return
        keys = tuple(key for key, _ in pairs)
        if keys not in self._by_keys:
            self._by_keys[keys] = _ByLabels(self._table, keys)
        self._by_keys[keys].set(slot, tuple(value for _, value in pairs))

    def clear(self, slot: int) -> None:
        """Take an item out."""
        self._group.data[slot] = -1
        for by_labels in self._by_keys.values():
            by_labels.code.data[slot] = -1

    def nearest(self, rows: Rows, slots: IntN, rank: IntN, depth: int = 1) -> Iterator[IntN]:
        """Arrays of ranks along the rows: together they hold, for each node, the lowest `depth` that reach it.

        Only these slots come into question, each with a rank of its own.
        """
        for by_labels in self._by_keys.values():
            yield from by_labels.nearest(rows, slots, rank, depth)
        best = lowest(self._group.data[slots], rank, len(self._matchers), depth)
        if best is None:
            return
        for group in np.flatnonzero(best[0] != FAR).tolist():
            matcher = self._matchers.values[group]
            mask_n = None if matcher is None else matcher_mask(rows, matcher)
            for by_group in best:
                rank = by_group[group]
                yield np.full(len(rows), rank) if mask_n is None else np.where(mask_n, rank, FAR)


@final
class _ByLabels:
    """The items that want certain labels to have one value each."""

    __slots__ = ("_known", "_order", "_sorted", "code", "keys", "values")

    def __init__(self, table: Table, keys: tuple[str, ...]) -> None:
        self.keys = keys
        self.code: Column[np.int32] = table.column(np.int32, -1)
        self.values: Interner[tuple[str, ...]] = Interner()
        self._known: tuple[int, ...] = ()
        self._order: IntN = np.zeros(0, np.int64)
        self._sorted: IntN = np.zeros(0, np.int64)

    def set(self, slot: int, values: tuple[str, ...]) -> None:
        self.code.data[slot] = self.values.code(values)

    def nearest(self, rows: Rows, slots: IntN, rank: IntN, depth: int) -> Iterator[IntN]:
        best = lowest(self.code.data[slots], rank, len(self.values), depth)
        if best is None:
            return
        codes_n = self._codes(rows)
        for by_code in best:
            yield by_code[codes_n]

    def _codes(self, rows: Rows) -> IntN:
        """Per row the code of the node's values, -1 for values that no item wants."""
        self._catch_up(rows)
        wanted_n = _combined([rows.label(key) for key in self.keys])
        at_n = np.minimum(np.searchsorted(self._sorted, wanted_n), len(self._sorted) - 1)
        found_n: IntN = np.where((self._sorted[at_n] == wanted_n) & (wanted_n >= 0), self._order[at_n], -1)
        return found_n

    def _catch_up(self, rows: Rows) -> None:
        """Express the wanted values by the codes of the nodes' labels."""
        labels = [rows.view.nodes.label(key).values for key in self.keys]
        known = (len(self.values), *map(len, labels))
        if known == self._known:
            return
        columns = [
            np.array([label.find(values[i]) for values in self.values.values], np.int32)
            for i, label in enumerate(labels)
        ]
        combined = _combined(columns)
        self._order = np.argsort(combined, kind="stable")
        self._sorted = combined[self._order]
        self._known = known


def label_pairs(matcher: NodeMatcher) -> Pairs | None:
    """The labels and values without which a matcher holds nowhere and with which it holds; None if it is not so."""
    if len(matcher.terms) != 1:
        return None
    (term,) = matcher.terms
    wanted = term.labels
    simple = all(requirement.operator is Operator.IN and len(requirement.values) == 1 for requirement in wanted)
    if term.errors or term.fields or not simple or not 0 < len(wanted) <= MOST_KEYS:
        return None
    pairs = tuple((requirement.key, requirement.values[0]) for requirement in wanted)
    return pairs if len({key for key, _ in pairs}) == len(pairs) else None


def lowest(codes: Codes, rank: IntN, size: int, depth: int) -> list[IntN] | None:
    """Per code below a size the lowest ranks: the first, the second and so on; FAR where there is none, and at -1."""
    coded = codes >= 0
    if not coded.any():
        return None
    chosen, rank = codes[coded].astype(np.int64), rank[coded]
    if depth == 1:
        best: IntN = np.full(size + 1, FAR)
        np.minimum.at(best, chosen, rank)
        return [best]
    order = np.lexsort((rank, chosen))
    chosen, rank = chosen[order], rank[order]
    starts = np.searchsorted(chosen, np.arange(size))
    ends = np.searchsorted(chosen, np.arange(size), side="right")
    found = []
    for i in range(depth):
        nth: IntN = np.full(size + 1, FAR)
        there = starts + i < ends
        nth[:size][there] = rank[(starts + i)[there]]
        found.append(nth)
    return found


def _combined(columns: Sequence[Codes]) -> IntN:
    """One number for the codes of several columns, -1 where one of them is."""
    total_n: IntN = columns[0].astype(np.int64)
    absent_n: BoolN = columns[0] < 0
    for codes_n in columns[1:]:
        total_n = (total_n << BITS) + codes_n
        absent_n = absent_n | (codes_n < 0)
    return np.where(absent_n, -1, total_n)
