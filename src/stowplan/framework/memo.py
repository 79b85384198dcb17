"""The memo: what plugins said of nodes for a pod class, kept and caught up by the journal. It never changes an answer.

Only plugins whose answer for a node hangs on that node alone (`depends` NODE or LOAD) are kept, and only while their
plan for the class stays the same. Catching up means asking them again about the rows that changed.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from stowplan.columns.journal import Changed
from stowplan.columns.pods import PodClass, PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import Depends, FilterPlugin, Plugin, ScorePlugin
from stowplan.framework.verdict import PASS_ALL, OutcomeN, Rejection, Verdict
from stowplan.goarith import BoolN, IntN

MOST_KEPT: Final = 512
"""Plugin answers kept at once; an answer about 5000 nodes takes 45 kB."""
WORTH_PATCHING: Final = 8
"""When more than one row in so many changed, all are judged anew."""

STALE_AFTER: Final = {Depends.NODE: Changed.NODE, Depends.LOAD: Changed.NODE | Changed.LOAD}


@final
@dataclass(slots=True)
class KeptVerdict:
    """A filter's answer about all rows."""

    plan: Any
    index: IntN
    generation: int
    outcome_n: OutcomeN | None
    rejections: list[Rejection]
    codes: dict[Rejection, int] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        """As the plugin would have given it."""
        return PASS_ALL if self.outcome_n is None else Verdict(self.outcome_n, self.rejections)

    def patch(self, at: IntN, verdict: Verdict) -> None:
        """Put in what the filter says of some positions now."""
        if verdict.outcome_n is None:
            if self.outcome_n is not None:
                self.outcome_n[at] = 0
            return
        if self.outcome_n is None:
            self.outcome_n = np.zeros(len(self.index), np.int32)
        codes = np.array([0, *(self._code(why) for why in verdict.rejections)], np.int32)
        self.outcome_n[at] = codes[verdict.outcome_n]

    def _code(self, why: Rejection) -> int:
        if not self.codes:
            self.codes = {known: number for number, known in enumerate(self.rejections, 1)}
        code = self.codes.get(why)
        if code is None:
            self.rejections.append(why)
            code = self.codes[why] = len(self.rejections)
        return code


@final
@dataclass(slots=True)
class KeptScores:
    """A plugin's raw scores, of the rows it was asked about."""

    plan: Any
    index: IntN
    generation: int
    raw_n: IntN
    known_n: BoolN


@final
class Memo:
    """Answers by plugin and pod class, the least lately used forgotten first."""

    __slots__ = ("_changes", "_kept")

    def __init__(self) -> None:
        self._changes = Changes()
        self._kept: OrderedDict[tuple[Plugin, PodClass, bool], Any] = OrderedDict()

    def verdict(self, plugin: FilterPlugin[Any], pod: PodInfo, rows: Rows, plan: Any) -> Verdict:
        """What the filter says of the rows; `rows` are all rows of their View if the answer is to be kept."""
        if not keeps(plugin, pod, rows):
            return plugin.filter(pod, rows, plan)
        key = (plugin, pod.cls, True)
        kept: KeptVerdict | None = self._get(key, rows, plan)
        changed = None if kept is None else self._changes.since(kept.generation, plugin, rows)
        if kept is None or changed is None:
            verdict = plugin.filter(pod, rows, plan)
            outcome_n = None if verdict.outcome_n is None else verdict.outcome_n.copy()
            self._put(key, KeptVerdict(plan, rows.index, rows.view.generation, outcome_n, list(verdict.rejections)))
            return verdict
        if len(changed):
            at = np.searchsorted(rows.index, changed)
            kept.patch(at, plugin.filter(pod, Rows(rows.view, changed), plan))
        kept.generation = rows.view.generation
        return kept.verdict()

    def scores(self, plugin: ScorePlugin[Any], pod: PodInfo, rows: Rows, plan: Any) -> IntN:
        """The raw scores of the rows, which may be any rows of a View."""
        everything = rows.view.rows
        if not keeps(plugin, pod, everything) or rows.differs:
            return plugin.score(pod, rows, plan)
        key = (plugin, pod.cls, False)
        kept: KeptScores | None = self._get(key, everything, plan)
        changed = None if kept is None else self._changes.since(kept.generation, plugin, everything)
        if kept is None or changed is None:
            size = len(everything)
            kept = KeptScores(plan, everything.index, 0, np.zeros(size, np.int64), np.zeros(size, np.bool_))
            self._put(key, kept)
        elif len(changed):
            kept.known_n[np.searchsorted(everything.index, changed)] = False
        kept.generation = rows.view.generation
        whole = len(rows) == len(everything)
        at = None if whole else np.searchsorted(everything.index, rows.index)
        missing = np.flatnonzero(~(kept.known_n if at is None else kept.known_n[at]))
        if len(missing) == len(rows):
            fresh_n = plugin.score(pod, rows, plan)
            place: Any = slice(None) if at is None else at
            kept.raw_n[place], kept.known_n[place] = fresh_n, True
            return fresh_n
        if len(missing):
            where = missing if at is None else at[missing]
            kept.raw_n[where] = plugin.score(pod, Rows(rows.view, everything.index[where]), plan)
            kept.known_n[where] = True
        return kept.raw_n.copy() if at is None else kept.raw_n[at]

    def _get(self, key: tuple[Plugin, PodClass, bool], rows: Rows, plan: Any) -> Any:
        kept = self._kept.get(key)
        if kept is None or kept.index is not rows.index or not same_plan(kept.plan, plan):
            return None
        self._kept.move_to_end(key)
        return kept

    def _put(self, key: tuple[Plugin, PodClass, bool], kept: KeptVerdict | KeptScores) -> None:
        self._kept[key] = kept
        if len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def keeps(plugin: Plugin, pod: PodInfo, rows: Rows) -> bool:
    """Whether an answer can be kept: it hangs on single nodes, and the pod stands for its class."""
    # a node name is the pod's own, not its class's
    return plugin.depends in STALE_AFTER and rows is rows.view.rows and not pod.pod.spec.node_name


@final
class Changes:
    """The rows that changed, worked out once for all plugins that were last asked at the same generation."""

    __slots__ = ("_from", "_rows", "_to")

    def __init__(self) -> None:
        self._from = self._to = -1
        self._rows: dict[Depends, IntN | None] = {}

    def since(self, generation: int, plugin: Plugin, rows: Rows) -> IntN | None:
        """The rows to ask a plugin about again; None when it is better to ask about all."""
        if (self._from, self._to) != (generation, rows.view.generation):
            self._from, self._to, self._rows = generation, rows.view.generation, {}
        if plugin.depends not in self._rows:
            self._rows[plugin.depends] = self._work_out(generation, STALE_AFTER[plugin.depends], rows)
        return self._rows[plugin.depends]

    def _work_out(self, generation: int, matters: Changed, rows: Rows) -> IntN | None:
        changes = rows.view.changed_since(generation)
        if changes is None:
            return None
        alive = rows.view.nodes.alive.data
        changed = sorted(row for row, change in changes.items() if row >= 0 and change & matters and alive[row])
        if len(changed) * WORTH_PATCHING > len(rows):
            return None
        return np.array(changed, np.int64)


def same_plan(kept: Any, plan: Any) -> bool:
    """Whether two plans are surely equal. Plans that hold arrays cannot be compared and count as different."""
    if kept is plan:
        return True
    if type(kept) is not type(plan):
        return False
    try:
        return bool(kept == plan)
    except ValueError:
        return False
