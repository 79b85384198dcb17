"""How many pods each distinct selector matches, per node, kept current as pods come and go.

Topology spread and inter-pod affinity are sums of these columns over a topology column, whatever the number of pods.
"""

from collections.abc import Iterable, Mapping
from typing import Final, final

import numpy as np

from stowplan.columns.column import Column, Table
from stowplan.columns.pod_selectors import Labels, PodSelector, SelectorIndex, demanded_pair

MOST_SELECTORS: Final = 2048

LabelKey = tuple[str, frozenset[tuple[str, str]]]
"""A namespace and a label set: all that a selector can see of a pod."""


@final
class LabelGroup:
    """All placed pods of one namespace with the same labels: how many on which row."""

    __slots__ = ("counts", "labels", "namespace", "on_row", "terminating_on_row")

    def __init__(self, namespace: str, labels: Labels) -> None:
        self.namespace = namespace
        self.labels = labels
        self.on_row: dict[int, int] = {}
        self.terminating_on_row: dict[int, int] = {}
        self.counts: list[SelectorCount] = []


@final
class SelectorCount:
    """The column of one selector. With `live_only`, pods that are being deleted do not count."""

    __slots__ = ("column", "last_asked", "live_only", "what")

    def __init__(self, what: PodSelector, live_only: bool, column: Column[np.int64]) -> None:
        self.what = what
        self.live_only = live_only
        self.column = column
        self.last_asked = 0


@final
class SelectorCounts:
    """The registered selectors and the label groups they are counted from."""

    __slots__ = ("_asked", "_counts", "_groups", "_groups_by_pair", "_index", "_namespaces", "_table")

    def __init__(self, table: Table, namespaces: Mapping[str, Labels]) -> None:
        self._table = table
        self._namespaces = namespaces
        self._groups: dict[LabelKey, LabelGroup] = {}
        self._groups_by_pair: dict[tuple[str, str], dict[LabelGroup, None]] = {}
        self._counts: dict[tuple[PodSelector, bool], SelectorCount] = {}
        self._index: SelectorIndex[SelectorCount] = SelectorIndex()
        self._asked = 0

    def count(self, what: PodSelector, *, live_only: bool) -> SelectorCount:
        """The column of a selector, registered on first use."""
        self._asked += 1
        found = self._counts.get((what, live_only))
        if found is None:
            if len(self._counts) >= MOST_SELECTORS:
                self._forget_oldest()
            found = SelectorCount(what, live_only, self._table.column(np.int64, 0))
            self._counts[what, live_only] = found
            self._index.add(what.selector, found)
            self._fill(found)
        found.last_asked = self._asked
        return found

    def place(self, key: LabelKey, labels: Labels, row: int, *, terminating: bool) -> None:
        """A pod came to a row."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = LabelGroup(key[0], labels)
            for pair in key[1]:
                self._groups_by_pair.setdefault(pair, {})[group] = None
            group.counts = [c for c in self._index.candidates(labels) if self.picks(c.what, key[0], labels)]
        self._move(group, row, 1, terminating)

    def leave(self, key: LabelKey, row: int, *, terminating: bool) -> None:
        """A pod left a row."""
        group = self._groups[key]
        self._move(group, row, -1, terminating)
        if not group.on_row:
            del self._groups[key]
            for pair in key[1]:
                groups = self._groups_by_pair[pair]
                del groups[group]
                if not groups:
                    del self._groups_by_pair[pair]

    def namespace_changed(self) -> None:
        """Count those selectors again that look at namespace labels."""
        for count in self._counts.values():
            if count.what.reads_namespaces:
                for group in self._groups.values():
                    if count in group.counts:
                        group.counts.remove(count)
                count.column.data[:] = 0
                self._fill(count)

    def _move(self, group: LabelGroup, row: int, by: int, terminating: bool) -> None:
        _shift(group.on_row, row, by)
        if terminating:
            _shift(group.terminating_on_row, row, by)
        for count in group.counts:
            if not (terminating and count.live_only):
                count.column.data[row] += by

    def picks(self, what: PodSelector, namespace: str, labels: Labels) -> bool:
        """Whether a selector matches such a pod."""
        # parity: the namespaces of an incoming pod's term are listed from existing namespaces, so one that
        # nobody has seen is picked only by name or by the empty selector (interpodaffinity/plugin.go)
        return what.picks_namespace(namespace, self._namespaces.get(namespace), unknown=None) and what.selector.matches(
            labels
        )

    def _fill(self, count: SelectorCount) -> None:
        data = count.column.data
        for group in self._candidate_groups(count.what):
            if not self.picks(count.what, group.namespace, group.labels):
                continue
            group.counts.append(count)
            for row, pods in group.on_row.items():
                data[row] += pods
            if count.live_only:
                for row, pods in group.terminating_on_row.items():
                    data[row] -= pods

    def _candidate_groups(self, what: PodSelector) -> Iterable[LabelGroup]:
        pair = demanded_pair(what.selector)
        return self._groups.values() if pair is None else self._groups_by_pair.get(pair, ())

    def _forget_oldest(self) -> None:
        oldest = sorted(self._counts.items(), key=lambda item: item[1].last_asked)[: MOST_SELECTORS // 4]
        gone = {id(count) for _, count in oldest}
        for key, count in oldest:
            del self._counts[key]
            self._index.remove(count.what.selector, count)
            self._table.drop(count.column)
        for group in self._groups.values():
            group.counts = [count for count in group.counts if id(count) not in gone]


def _shift(on_row: dict[int, int], row: int, by: int) -> None:
    pods = on_row.get(row, 0) + by
    assert pods >= 0, "a pod left a row it was never on"
    if pods:
        on_row[row] = pods
    else:
        del on_row[row]
