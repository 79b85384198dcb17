"""Standing: what the plugins said of all nodes for one pod class, kept and caught up row by row.

Answers that hang on single nodes (`depends` NODE or LOAD), or on no load at all (FLEET), are kept, each only while the
plan for the class stays the same. Catching up means asking again about the rows that changed. No answer changes by it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from stowplan.columns.journal import Changed
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import Depends, FilterPlugin, Plugin, ScorePlugin
from stowplan.framework.ranking import PluginScore, Scorer, Scores, check_range, summed
from stowplan.framework.verdict import PASS_ALL, OutcomeN, Rejection, Verdict
from stowplan.goarith import BoolN, IntN

NOWHERE: Final[IntN] = np.zeros(0, np.int64)
WORTH_PATCHING: Final = 8
"""When more than one row in so many changed, all are judged anew."""


@final
@dataclass(slots=True)
class KeptVerdict:
    """A filter's answer about all rows."""

    plan: Any
    outcome_n: OutcomeN | None
    rejections: list[Rejection]
    stale: set[int] = field(default_factory=set)
    """Rows that changed since."""
    codes: dict[Rejection, int] = field(default_factory=dict)

    def verdict(self) -> Verdict:
        """As the plugin would have given it."""
        return PASS_ALL if self.outcome_n is None else Verdict(self.outcome_n, self.rejections)

    def patch(self, at: IntN, verdict: Verdict, rows: int) -> None:
        """Put in what the filter says of some positions now."""
        if verdict.outcome_n is None:
            if self.outcome_n is not None:
                self.outcome_n[at] = 0
            return
        if self.outcome_n is None:
            self.outcome_n = np.zeros(rows, np.int32)
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
    """A plugin's raw scores, of the rows it was asked about, and what it last told of the feasible ones."""

    plan: Any
    raw_n: IntN
    known_n: BoolN
    stale: set[int] = field(default_factory=set)
    told: PluginScore | None = None


@final
class Standing:
    """The kept answers about all rows of the Views of one pod class."""

    __slots__ = ("_generation", "_index", "_scores", "_told", "_verdicts")

    def __init__(self, view: View) -> None:
        self._verdicts: dict[Plugin, KeptVerdict] = {}
        self._scores: dict[Plugin, KeptScores] = {}
        self._index = view.rows.index
        self._told: Scores | None = None
        self._generation = view.generation

    def catch_up(self, view: View) -> None:
        """Learn which rows changed since the last attempt."""
        if self._generation == view.generation:
            return
        changes = view.changed_since(self._generation) if self._index is view.rows.index else None
        self._index, self._generation = view.rows.index, view.generation
        if changes is None:
            self._verdicts.clear()
            self._scores.clear()
            self._told = None
            return
        alive = view.nodes.alive.data
        for row, change in changes.items():
            if row < 0 or not alive[row]:
                continue
            if Changed.NODE in change:
                self._node_changed(row)
            elif Changed.LOAD in change:
                self._load_changed(row)

    def _node_changed(self, row: int) -> None:
        for about in (self._verdicts, self._scores):
            for plugin in [plugin for plugin in about if plugin.depends is Depends.FLEET]:
                del about[plugin]
            for kept in about.values():
                kept.stale.add(row)

    def _load_changed(self, row: int) -> None:
        for about in (self._verdicts, self._scores):
            for plugin, kept in about.items():
                if plugin.depends is Depends.LOAD:
                    kept.stale.add(row)

    def verdict(self, plugin: FilterPlugin[Any], pod: PodInfo, rows: Rows, plan: Any) -> Verdict:
        """What the filter says of the rows, which are all rows of the View. A failure is not kept."""
        if plugin.depends is Depends.CLUSTER:
            return plugin.filter(pod, rows, plan)
        kept = self._verdicts.pop(plugin, None)
        if kept is None or not same_plan(kept.plan, plan) or len(kept.stale) * WORTH_PATCHING > len(rows):
            verdict = plugin.filter(pod, rows, plan)
            outcome_n = None if verdict.outcome_n is None else verdict.outcome_n.copy()
            kept = KeptVerdict(plan, outcome_n, list(verdict.rejections))
        else:
            if kept.stale:
                changed = taken(kept.stale)
                at = rows.index.searchsorted(changed)
                kept.patch(at, plugin.filter(pod, Rows(rows.view, changed), plan), len(rows))
            verdict = kept.verdict()
        if not any(why.fatal for why in kept.rejections):
            self._verdicts[plugin] = kept
        return verdict

    def scores(self, asked: Sequence[Scorer], pod: PodInfo, rows: Rows) -> Scores:
        """What the plugins say of the feasible rows, and the sum."""
        before = self._told
        if before is not None and not same_rows(before.rows, rows):
            before = None
            for kept in self._scores.values():
                kept.told = None
        located = Located(rows)
        try:
            scored = [self._score(scorer, pod, rows, located) for scorer in asked]
        except BaseException:
            # whoever failed has not said what became of the rows that changed
            self._scores.clear()
            self._told = None
            raise
        by_plugin = tuple(score for score, _ in scored)
        if before is None or not same_terms(before.by_plugin, by_plugin):
            total_n = summed(by_plugin, len(rows))
        else:
            # perf: patching a sum takes a third of adding it up (5000 nodes, five plugins)
            total_n = before.total_n.copy()
            for old, (new, at) in zip(before.by_plugin, scored, strict=True):
                if at is None:
                    total_n += (new.normalized_n - old.normalized_n) * new.weight
                elif old is not new:
                    total_n[at] += (new.normalized_n[at] - old.normalized_n[at]) * new.weight
        self._told = Scores(rows, by_plugin, total_n)
        return self._told

    def _score(self, scorer: Scorer, pod: PodInfo, rows: Rows, located: "Located") -> tuple[PluginScore, IntN | None]:
        """The plugin's scores of the feasible rows, and at which of them they changed; None for anywhere."""
        plugin, plan = scorer.plugin, scorer.plan
        if plugin.depends is Depends.CLUSTER:
            return scorer.rank(pod, rows, scorer.raw(pod, rows)), None
        everything = rows.view.rows
        kept = self._scores.get(plugin)
        if kept is None or not same_plan(kept.plan, plan) or len(kept.stale) * WORTH_PATCHING > len(everything):
            size = len(everything)
            kept = self._scores[plugin] = KeptScores(plan, np.zeros(size, np.int64), np.zeros(size, np.bool_))
        if kept.told is not None and kept.told.weight == scorer.weight:
            if not kept.stale:
                return kept.told, NOWHERE
            kept.told, at = self._patched(kept, kept.told, scorer, pod, located)
            return kept.told, at
        if kept.stale:
            kept.known_n[everything.index.searchsorted(taken(kept.stale))] = False
        kept.told = scorer.rank(pod, rows, self._complete(kept, scorer, pod, rows))
        return kept.told, None

    def _patched(
        self, kept: KeptScores, before: PluginScore, scorer: Scorer, pod: PodInfo, located: "Located"
    ) -> tuple[PluginScore, IntN | None]:
        """What was told of the same rows, with the changed ones put in."""
        where, at, some = located.find(kept.stale)
        kept.stale.clear()
        kept.known_n[where] = False
        if some is None:
            return before, NOWHERE
        plugin = scorer.plugin
        fresh_n = scorer.raw(pod, some)
        everywhere_n = some.view.rows.index.searchsorted(some.index)
        kept.raw_n[everywhere_n], kept.known_n[everywhere_n] = fresh_n, True
        if before.raw_n[at].tolist() == fresh_n.tolist():
            return before, NOWHERE
        raw_n = before.raw_n.copy()  # a trace may still hold the old one
        raw_n[at] = fresh_n
        if type(plugin).normalize is not ScorePlugin.normalize:
            return scorer.rank(pod, located.rows, raw_n), None
        check_range(plugin.name, fresh_n)
        return PluginScore(plugin.name, before.weight, raw_n, raw_n), at

    def _complete(self, kept: KeptScores, scorer: Scorer, pod: PodInfo, rows: Rows) -> IntN:
        """The raw scores of the feasible rows, asking only about those that are not known."""
        everything = rows.view.rows
        at = None if len(rows) == len(everything) else everything.index.searchsorted(rows.index)
        missing = np.flatnonzero(~(kept.known_n if at is None else kept.known_n[at]))
        if len(missing) == len(rows):
            fresh_n = scorer.raw(pod, rows)
            place: Any = slice(None) if at is None else at
            kept.raw_n[place], kept.known_n[place] = fresh_n, True
            return fresh_n
        if len(missing):
            where = missing if at is None else at[missing]
            kept.raw_n[where] = scorer.raw(pod, Rows(rows.view, everything.index[where]))
            kept.known_n[where] = True
        return kept.raw_n.copy() if at is None else kept.raw_n[at]


@final
class Located:
    """Finds rows by their numbers, once for all plugins that ask for the same."""

    __slots__ = ("_found", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._found: dict[tuple[int, ...], tuple[IntN, IntN, Rows | None]] = {}

    def find(self, wanted: set[int]) -> tuple[IntN, IntN, Rows | None]:
        """Where they stand among all rows, where among these, and those of these that there are."""
        key = tuple(sorted(wanted))
        found = self._found.get(key)
        if found is None:
            rows, numbers = self.rows, np.array(key, np.int64)
            where = rows.view.rows.index.searchsorted(numbers)
            at = rows.index.searchsorted(numbers)
            inside = at < len(rows)
            inside[inside] = rows.index[at[inside]] == numbers[inside]
            at = at[inside]
            some = Rows(rows.view, numbers[inside]) if len(at) else None
            found = self._found[key] = (where, at, some)
        return found


def same_rows(before: Rows, rows: Rows) -> bool:
    """Whether two sets of rows hold the same."""
    return before.index is rows.index or (len(before) == len(rows) and not np.count_nonzero(before.index != rows.index))


def same_terms(before: Sequence[PluginScore], now: Sequence[PluginScore]) -> bool:
    """Whether two sums are of the same plugins with the same weights."""
    return len(before) == len(now) and all(
        old.plugin == new.plugin and old.weight == new.weight for old, new in zip(before, now, strict=True)
    )


def taken(stale: set[int]) -> IntN:
    """The rows of a set in ascending order; the set is empty then."""
    rows = np.array(sorted(stale), np.int64)
    stale.clear()
    return rows


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
