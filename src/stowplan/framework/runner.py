"""The runner: calls the plugins of a profile in order. Who rejects first has the word; that rule stands here once.

Upstream: pkg/scheduler/framework/runtime/framework.go (v1.36.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.columns.worlds import Worlds
from stowplan.framework.plugin import FilterPlugin, PluginError, PreFilterPlugin, Restricted, Skip
from stowplan.framework.profile import Profile
from stowplan.framework.ranking import Scorer, Scores, summed
from stowplan.framework.standing import Standing
from stowplan.framework.verdict import OutcomeN, Rejection, Verdict, fatal, unresolvable
from stowplan.goarith import BoolN, IntN

Nominated = Mapping[str, Sequence[PodInfo]]
"""Node name to the pods that are nominated to it."""

NOBODY_NOMINATED: Final[Nominated] = MappingProxyType({})

FEW: Final = 4
"""Once fewer than one row in so many still passes, the filters that follow judge only those."""


@final
@dataclass(frozen=True, slots=True)
class Rejected:
    """A rejection and the plugin it came from; no plugin when the runner itself or an extender rejected."""

    plugin: str
    why: Rejection

    @property
    def failure(self) -> str:
        """What is told of a fatal one, empty for any other."""
        return f'running "{self.plugin}" filter plugin: {self.why.message}' if self.why.fatal else ""


@final
@dataclass(slots=True)
class Prepared:
    """What the PreFilter plugins made of a pod."""

    plans: dict[str, Any] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    node_names: frozenset[str] | None = None
    """The only nodes that come into question; None for all."""
    restricting: set[str] = field(default_factory=set)
    """Who said so."""
    rejected: Rejected | None = None


@final
class Judgement:
    """What all filters together say of some rows: pass, or who rejected first and why."""

    __slots__ = ("outcome_n", "overruled", "rejections", "rows")

    def __init__(self, rows: Rows, outcome_n: OutcomeN, rejections: list[Rejected]) -> None:
        self.rows = rows
        self.outcome_n = outcome_n
        """Per row 0 when it passes, else 1 + the index of its rejection."""
        self.rejections = rejections
        self.overruled: set[str] = set()
        """Plugins whose rejection of a row another one stands for now."""

    @property
    def passed_n(self) -> BoolN:
        """Mask of the rows that pass."""
        passed_n: BoolN = self.outcome_n == 0
        return passed_n

    @property
    def failure(self) -> str:
        """The error of the first row on which a plugin failed instead of judging; empty when none did."""
        if not any(rejected.why.fatal for rejected in self.rejections):
            return ""
        told = (self.rejections[outcome - 1].failure for outcome in self.outcome_n.tolist() if outcome)
        return next(filter(None, told), "")

    @property
    def unresolvable_n(self) -> BoolN:
        """Mask of the rows that are rejected for good."""
        hard = np.array([False, *(r.why.unresolvable for r in self.rejections)], np.bool_)
        hard_n: BoolN = hard[self.outcome_n]
        return hard_n

    def at(self, position: int) -> Rejected | None:
        """The rejection of the row at a position, None when it passes."""
        outcome = int(self.outcome_n[position])
        return self.rejections[outcome - 1] if outcome else None

    def counted(self) -> list[tuple[Rejected, int]]:
        """Each rejection that occurs, and on how many rows."""
        counts = np.bincount(self.outcome_n, minlength=len(self.rejections) + 1)
        return [(r, int(n)) for r, n in zip(self.rejections, counts[1:], strict=True) if n]

    def put(self, positions: Sequence[int], rejected: Rejected) -> None:
        """Let a rejection stand at some positions."""
        self.overruled |= {before.plugin for at in positions if (before := self.at(at)) is not None}
        self.rejections.append(rejected)
        self.outcome_n[positions] = len(self.rejections)

    @property
    def passed(self) -> Rows:
        """The rows that pass."""
        # perf: rows of all nodes are slices; an index array copies every column that is read along it
        return self.rows.select(self.outcome_n == 0) if self.rejections else self.rows

    def select(self, mask_n: BoolN) -> "Judgement":
        """What is said of some of the rows."""
        return Judgement(self.rows.select(mask_n), self.outcome_n[mask_n], list(self.rejections))

    def with_others_of(self, earlier: "Judgement") -> "Judgement":
        """This one, and what an earlier one said of rows that this one lacks."""
        others = earlier.select(np.isin(earlier.rows.index, self.rows.index, invert=True))
        if not len(others.rows):
            return self
        index = np.concatenate([self.rows.index, others.rows.index])
        outcome_n = np.concatenate([self.outcome_n, others.outcome_n])
        outcome_n[len(self.rows) :][others.outcome_n != 0] += len(self.rejections)
        by_row = np.argsort(index)
        rejections = [*self.rejections, *others.rejections]
        joined = Judgement(Rows(self.rows.view, index[by_row]), outcome_n[by_row], rejections)
        joined.overruled = self.overruled | earlier.overruled
        return joined


def run_prepare(profile: Profile, view: View, pod: PodInfo) -> Prepared:
    """Ask every PreFilter plugin for its plan. Raises PluginError."""
    prepared = Prepared()
    for plugin in profile.pre_filters:
        name = plugin.name
        try:
            result = plugin.prepare(view, pod)
        except PluginError as error:
            raise PluginError(f'running PreFilter plugin "{name}": {error}') from error
        if result is Skip.SKIP:
            prepared.skipped.add(name)
            continue
        if isinstance(result, Rejection):
            if result.unresolvable:
                # parity: nothing that follows can change this, so the others are not asked (framework.go:958)
                prepared.rejected = Rejected(name, result)
                prepared.restricting = set()
                return prepared
            # parity: preemption may follow, which needs the plans of the others; the last rejection stands
            prepared.rejected = Rejected(name, result)
            continue
        if isinstance(result, Restricted):
            prepared.restricting.add(name)
            before = prepared.node_names
            prepared.node_names = result.node_names if before is None else before & result.node_names
            result = result.plan
        prepared.plans[name] = result
        if prepared.node_names is not None and not prepared.node_names:
            names = sorted(prepared.restricting)
            text = (
                f"node(s) didn't satisfy plugin {names[0]}"
                if len(names) == 1
                else f"node(s) didn't satisfy plugin(s) [{' '.join(names)}] simultaneously"
            )
            prepared.rejected = Rejected("", unresolvable(text))
            return prepared
    return prepared


def filters_for(profile: Profile, prepared: Prepared) -> list[FilterPlugin[Any]]:
    """The filters that have something to say about the pod."""
    return [plugin for plugin in profile.filters if plugin.name not in prepared.skipped]


def plan_of(plugin: FilterPlugin[Any], prepared: Prepared) -> Any:
    """The plan a filter works with."""
    if plugin.name not in prepared.plans and isinstance(plugin, PreFilterPlugin):
        raise PluginError(f"{plugin.name} is enabled as a filter but not at preFilter, where it prepares its work")
    return prepared.plans.get(plugin.name)


def run_filters(
    profile: Profile, prepared: Prepared, pod: PodInfo, rows: Rows, standing: Standing | None = None
) -> Judgement:
    """Judge rows as they are, without nominated pods. What is kept of all rows counts when all are judged."""
    outcome_n = np.zeros(len(rows), np.int32)
    rejections: list[Rejected] = []
    judgement = Judgement(rows, outcome_n, rejections)
    at: IntN | None = None  # positions still judged; None for all
    left = rows
    for plugin in filters_for(profile, prepared):
        plan = plan_of(plugin, prepared)
        try:
            if standing is not None and left is rows.view.rows:
                verdict = standing.verdict(plugin, pod, left, plan)
            else:
                verdict = plugin.filter(pod, left, plan)
        except PluginError as error:
            verdict = Verdict.reject_all(left, fatal(str(error)))
        if verdict.outcome_n is None:
            continue
        _merge(judgement, plugin.name, verdict, at)
        passing = outcome_n == 0
        count = int(np.count_nonzero(passing))
        if not count:
            break
        if count * FEW < len(left):
            at = np.flatnonzero(passing)
            left = rows.select(passing)
    return judgement


def _merge(judgement: Judgement, name: str, verdict: Verdict, at: IntN | None) -> None:
    assert verdict.outcome_n is not None
    offset = len(judgement.rejections)
    judgement.rejections.extend(Rejected(name, why) for why in verdict.rejections)
    outcome_n = judgement.outcome_n
    if at is None:
        new = (outcome_n == 0) & (verdict.outcome_n != 0)
        outcome_n[new] = verdict.outcome_n[new] + offset
    else:
        new = (outcome_n[at] == 0) & (verdict.outcome_n != 0)
        outcome_n[at[new]] = verdict.outcome_n[new] + offset


def run_every_filter(profile: Profile, prepared: Prepared, pod: PodInfo, rows: Rows) -> dict[str, Verdict]:
    """What each filter says of each row, also of those that another has rejected."""
    return {
        plugin.name: plugin.filter(pod, rows, plan_of(plugin, prepared)) for plugin in filters_for(profile, prepared)
    }


def run_filters_with_nominated(
    profile: Profile,
    prepared: Prepared,
    pod: PodInfo,
    rows: Rows,
    nominated: Nominated,
    *,
    standing: Standing | None = None,
) -> Judgement:
    """Judge rows so that pods nominated there, of equal or higher priority, fit too.

    A row with such pods must pass with them and without them: they may come, and they may end up elsewhere.
    """
    judgement = run_filters(profile, prepared, pod, rows, standing)
    if not nominated:
        return judgement
    guests = _guests(pod, rows, nominated)
    if not guests:
        return judgement
    at = np.array(sorted(guests), dtype=np.int64)
    worlds = _with_guests(rows, at, guests)
    crowded = run_filters(profile, prepared, pod, worlds)
    hit = crowded.outcome_n != 0
    offset = len(judgement.rejections)
    judgement.rejections.extend(crowded.rejections)
    judgement.outcome_n[at[hit]] = crowded.outcome_n[hit] + offset
    return judgement


def _guests(pod: PodInfo, rows: Rows, nominated: Nominated) -> dict[int, list[PodInfo]]:
    guests = {}
    for name, pods in nominated.items():
        row = rows.view.row_of(name)
        coming = [other for other in pods if other.priority >= pod.priority and other.uid != pod.uid]
        if row is None or not coming:
            continue
        # a world may stand on any row, and only once in a set of rows
        for position in np.flatnonzero(rows.index == row).tolist():
            guests[position] = coming
    return guests


def _with_guests(rows: Rows, at: IntN, guests: Mapping[int, Sequence[PodInfo]]) -> Worlds:
    if isinstance(rows, Worlds):
        mask = np.zeros(len(rows), np.bool_)
        mask[at] = True
        worlds = rows.select(mask)
    else:
        worlds = Worlds(rows.view, rows.index[at])
    for position, original in enumerate(at.tolist()):
        for guest in guests[original]:
            worlds.add(position, guest)
    return worlds


Ended = Callable[[str, str], None]
"""Hears of every extension point whose plugins have run: its name and how that ended, as Go names them."""


def nobody_hears(_point: str, _status: str) -> None:
    """For those who keep no time."""


def status_of(rejected: Rejected | None) -> str:
    """How an extension point ended, as Go names it."""
    if rejected is None:
        return "Success"
    if rejected.why.fatal:
        return "Error"
    return "UnschedulableAndUnresolvable" if rejected.why.unresolvable else "Unschedulable"


def run_scores(
    profile: Profile,
    prepared: Prepared,
    pod: PodInfo,
    rows: Rows,
    standing: Standing | None = None,
    *,
    ended: Ended = nobody_hears,
) -> Scores:
    """Score the feasible rows by every plugin that has something to say, normalise, weigh and add up.

    Raises PluginError.
    """
    plans: dict[str, Any] = {}
    skipped: set[str] = set()
    for plugin in (*profile.pre_scores, *profile.late_pre_scores):
        if plugin.unprepared and plugin in profile.late_pre_scores:
            raise PluginError(f'running Score plugins: plugin "{plugin.name}" failed with: {plugin.unprepared}')
        try:
            plan = plugin.prepare_score(pod, rows, prepared.plans)
        except PluginError as error:
            raise PluginError(f'running PreScore plugin "{plugin.name}": {error}') from error
        if plan is Skip.SKIP:
            skipped.add(plugin.name)
        else:
            plans[plugin.name] = plan
    ended("PreScore", "Success")
    asked = [Scorer(s, weight, plans.get(s.name)) for s, weight in profile.scores if s.name not in skipped]
    if standing is not None and not rows.differs:
        scores = standing.scores(asked, pod, rows)
    else:
        by_plugin = tuple(scorer.rank(pod, rows, scorer.raw(pod, rows)) for scorer in asked)
        scores = Scores(rows, by_plugin, summed(by_plugin, len(rows)))
    ended("Score", "Success")
    return scores
