"""One scheduling attempt: from a View to a Decision. Pure; what varies is an argument.

Upstream: schedulePod and schedulingAlgorithm in pkg/scheduler/schedule_one.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, Literal, final

import numpy as np

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.cycle.decision import Bind, Decision, Effect, Evict, Nominate, Park, Trace
from stowplan.cycle.extending import filter_by_extenders, score_by_extenders
from stowplan.cycle.sampling import enough_nodes, sample
from stowplan.framework.extender import EXTENDER_PLUGIN, Extender
from stowplan.framework.fit_error import fit_error_text
from stowplan.framework.memo import Memo
from stowplan.framework.plugin import PluginError
from stowplan.framework.post_filter import FailedAttempt, Nomination, NoRoom
from stowplan.framework.profile import Profile
from stowplan.framework.ranking import Scores
from stowplan.framework.runner import (
    NOBODY_NOMINATED,
    Ended,
    Judgement,
    Nominated,
    Prepared,
    Rejected,
    nobody_hears,
    run_filters_with_nominated,
    run_prepare,
    run_scores,
    status_of,
)
from stowplan.framework.standing import Standing
from stowplan.framework.verdict import Rejection, fatal, unresolvable
from stowplan.goarith import IntN

NO_NODES: Final = "no nodes available to schedule pods"

Ties = Literal["random", "first"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What an attempt depends on besides the View, the pod and the profile."""

    rng: Random
    now: float
    cursor: int = 0
    """Where in the node order the search starts."""
    ties: Ties = "random"
    """Among the best: one by chance, or the one whose name sorts first."""
    percentage: int | None = None
    """The share of nodes to find feasible; None judges all. A profile's own setting wins."""
    nominated: Nominated = field(default_factory=lambda: NOBODY_NOMINATED)
    extenders: Sequence[Extender] = ()
    memo: Memo | None = None
    """Kept answers; they never change a decision."""
    preempt: bool = True
    """Whether to look for room when no node passed."""
    ended: Ended = nobody_hears


@final
@dataclass(slots=True)
class _Judge:
    """The filters of a profile, bound to one attempt."""

    profile: Profile
    prepared: Prepared
    pod: PodInfo
    nominated: Nominated
    standing: Standing | None = None

    def judge(self, rows: Rows) -> Judgement:
        return run_filters_with_nominated(
            self.profile, self.prepared, self.pod, rows, self.nominated, standing=self.standing
        )


def decide(view: View, pod: PodInfo, profile: Profile, given: Circumstances) -> tuple[Decision, int]:
    """Where the pod goes, or why it cannot; and the cursor for the next attempt."""
    assert view.fresh, "the Cluster changed under its View"
    nodes = len(view)
    if not nodes:
        trace = Trace(pod=pod, nodes=0, message=NO_NODES)
        return Decision((Nominate(pod, ""), Park(pod, frozenset(), NO_NODES)), trace), given.cursor

    prepared = run_prepare(profile, view, pod)
    given.ended("PreFilter", status_of(prepared.rejected))
    if prepared.rejected is not None:
        trace = Trace(pod=pod, nodes=nodes, prepared=prepared, absent=prepared.rejected)
        return _no_node(view, trace, profile, given), given.cursor

    standing = None if given.memo is None else given.memo.standing(profile, pod, view)
    judge = _Judge(profile, prepared, pod, given.nominated, standing)
    earlier: Judgement | None = None
    nominated_node = pod.pod.status.nominated_node_name
    if nominated_node:
        earlier, feasible = _look_at_nominated(view, judge, given)
        if len(feasible):
            found = _Found(pod, nodes, prepared, earlier, feasible, standing, nominated_first=nominated_node)
            return _choose(found, profile, given), given.cursor

    judgement = _look(view, profile, judge, given)
    given.ended("Filter", status_of(None))
    absent = None
    if prepared.node_names is not None:
        named = set(prepared.restricting)
        if earlier is not None:
            named |= _plugins_in(earlier) - {EXTENDER_PLUGIN}
        names = " ".join(sorted(named))
        absent = Rejected("", unresolvable(f"node(s) didn't satisfy plugin(s) [{names}]"))
    feasible = filter_by_extenders(given.extenders, pod, judgement)
    known = judgement if earlier is None else judgement.with_others_of(earlier)
    # parity: the cursor advances by the nodes something is known of, whatever it is (findNodesThatFitPod)
    cursor = (given.cursor + len(known.rows)) % nodes
    if len(feasible):
        found = _Found(pod, nodes, prepared, judgement, feasible, standing, absent=absent)
        return _choose(found, profile, given), cursor
    trace = Trace(pod=pod, nodes=nodes, prepared=prepared, judgement=known, absent=absent, feasible=feasible)
    return _no_node(view, trace, profile, given), cursor


def _look_at_nominated(view: View, judge: _Judge, given: Circumstances) -> tuple[Judgement, Rows]:
    """What is said of the node where room was made for the pod, and whether it is feasible, as rows.

    Parity: it is looked at even where PreFilter plugins leave it out, and what is said there counts to the end of the
    attempt; an error there counts for nothing (findNodesThatFitPod in schedule_one.go).
    """
    nobody = view.only([])
    judgement = judge.judge(view.only([judge.pod.pod.status.nominated_node_name]))
    if judgement.failure:
        given.ended("Filter", status_of(Rejected("", fatal(judgement.failure))))
        return Judgement(nobody, np.zeros(0, np.int32), []), nobody
    given.ended("Filter", status_of(None))
    try:
        return judgement, filter_by_extenders(given.extenders, judge.pod, judgement)
    except PluginError:
        return judgement, nobody


def _look(view: View, profile: Profile, judge: _Judge, given: Circumstances) -> Judgement:
    """Judge nodes in node order from the cursor until enough passed. Raises PluginError."""
    names = judge.prepared.node_names
    rows = view.rows if names is None else view.only(names)
    judgement = judge.judge(rows)
    if not len(rows):
        return judgement
    percentage = profile.percentage_of_nodes_to_score
    enough = enough_nodes(given.percentage if percentage is None else percentage, len(rows))
    if not profile.scores and not any(e.filters or e.prioritizes for e in given.extenders):
        enough = 1  # parity: without anybody to rank them, the first that passes will do
    if enough >= len(rows):
        return _without_failure(judgement)
    order = view.order if names is None else view.order[np.isin(view.order, rows.index)]
    start = given.cursor % len(order)
    positions = np.searchsorted(rows.index, np.concatenate([order[start:], order[:start]]))
    looked = sample(judgement.passed_n[positions], enough)
    seen = np.zeros(len(rows), np.bool_)
    seen[positions[:looked]] = True
    return _without_failure(judgement.select(seen))


def _without_failure(judgement: Judgement) -> Judgement:
    if judgement.failure:
        raise PluginError(judgement.failure)
    return judgement


@final
@dataclass(slots=True)
class _Found:
    """What is known of an attempt once nodes are feasible."""

    pod: PodInfo
    nodes: int
    prepared: Prepared
    judgement: Judgement
    feasible: Rows
    standing: Standing | None = None
    nominated_first: str = ""
    absent: Rejected | None = None


def _choose(found: _Found, profile: Profile, given: Circumstances) -> Decision:
    """Score the feasible nodes and take the best. A single one is taken unscored."""
    feasible, pod = found.feasible, found.pod
    scores: Scores | None = None
    if len(feasible) == 1:
        best: IntN = np.zeros(1, np.int64)
    else:
        scores = score_by_extenders(
            given.extenders, pod, run_scores(profile, found.prepared, pod, feasible, found.standing, ended=given.ended)
        )
        best = (scores.total_n == np.maximum.reduce(scores.total_n)).nonzero()[0]
    names = feasible.view.nodes.names
    if given.ties == "first":
        node_name = min(names[feasible.index[i]] for i in best)
    else:
        node_name = names[feasible.index[best[given.rng.randrange(len(best))]]]
    # perf: the trace is made once; a frozen record costs 30 µs each time that it is replaced
    trace = Trace(
        pod=pod,
        nodes=found.nodes,
        prepared=found.prepared,
        judgement=found.judgement,
        nominated_first=found.nominated_first,
        absent=found.absent,
        feasible=feasible,
        scores=scores,
        node_name=node_name,
        ties=len(best),
    )
    return Decision((Bind(pod, node_name),), trace)


def _no_node(view: View, trace: Trace, profile: Profile, given: Circumstances) -> Decision:
    """Look for room, and say why there is none."""
    pod = trace.pod
    room: Nomination | None = None
    refusals: list[tuple[str, NoRoom]] = []
    if given.preempt:
        attempt = _failed_attempt(view, trace, profile, given)
        for plugin in profile.post_filters:
            try:
                result = plugin.post_filter(attempt)
            except PluginError as error:
                # parity: the others are not asked, and the pod is as unschedulable as before (RunPostFilterPlugins)
                refusals.append((plugin.name, NoRoom(fatal(str(error)))))
                break
            if isinstance(result, Nomination):
                room = result
                break
            refusals.append((plugin.name, result))
            if result.why.unresolvable:
                break
        if profile.post_filters:
            given.ended("PostFilter", status_of(Rejected("", refusals[-1][1].why) if room is None else None))
    trace = replace(
        trace, room=room, no_room=tuple(refusals), message=_message(trace, refusals if room is None else [])
    )
    effects: list[Effect] = [write for _, refusal in refusals for write in refusal.writes]
    if room is not None:
        effects.append(Nominate(pod, room.node_name))
        if room.victims:
            effects.append(Evict(pod, room.node_name, room.victims))
    elif any(refusal.voids_nomination for refusal in _telling(refusals)) or not profile.post_filters:
        effects.append(Nominate(pod, ""))
    effects.append(Park(pod, rejecting_plugins(trace), trace.message))
    return Decision(tuple(effects), trace)


def _telling(refusals: Sequence[tuple[str, NoRoom]]) -> list[NoRoom]:
    """The refusals that count: an error or a refusal for good ends the search, and counts alone."""
    if refusals and (refusals[-1][1].why.fatal or refusals[-1][1].why.unresolvable):
        return [refusals[-1][1]]
    return [refusal for _, refusal in refusals]


def _failed_attempt(view: View, trace: Trace, profile: Profile, given: Circumstances) -> FailedAttempt:
    assert trace.prepared is not None
    judgement, absent = trace.judgement, trace.absent
    helpable = np.zeros(len(view), np.bool_)
    if judgement is not None:
        at = np.searchsorted(view.rows.index, judgement.rows.index)
        helpable[at] = ~judgement.unresolvable_n & ~judgement.passed_n
    elif absent is not None and not absent.why.unresolvable:
        helpable[:] = True
    ordered = view.order[helpable[np.searchsorted(view.rows.index, view.order)]]
    return FailedAttempt(
        view=view,
        pod=trace.pod,
        prepared=trace.prepared,
        judgement=judgement,
        helpable=Rows(view, ordered),
        nominated_is_hopeless=_nominated_is_hopeless(view, trace),
        judge=_Judge(profile, trace.prepared, trace.pod, given.nominated),
        extenders=given.extenders,
        now=given.now,
        rng=given.rng,
    )


def _nominated_is_hopeless(view: View, trace: Trace) -> bool:
    row = view.row_of(trace.pod.pod.status.nominated_node_name)
    if row is not None and trace.judgement is not None:
        at = np.flatnonzero(trace.judgement.rows.index == row)
        if len(at):
            return bool(trace.judgement.unresolvable_n[at[0]])
    # parity: a node without a status of its own has that of the absent ones, by default for good (NodeToStatus.Get)
    return trace.absent is None or trace.absent.why.unresolvable


def _message(trace: Trace, refusals: Sequence[tuple[str, NoRoom]]) -> str:
    rejections: list[tuple[Rejection, int]] = []
    if trace.judgement is not None:
        rejections = [(rejected.why, count) for rejected, count in trace.judgement.counted()]
    prepared_rejection = trace.prepared.rejected if trace.prepared else None
    return fit_error_text(
        nodes=trace.nodes,
        pre_filter_message=prepared_rejection.why.message if prepared_rejection else "",
        rejections=rejections,
        absent=trace.absent.why if trace.absent else None,
        post_filter_message=", ".join(reason for refusal in _telling(refusals) for reason in refusal.why.reasons),
    )


def _plugins_in(judgement: Judgement) -> set[str]:
    return {rejected.plugin for rejected, _ in judgement.counted()}


def rejecting_plugins(trace: Trace) -> frozenset[str]:
    """The plugins whose wakes can bring the pod back."""
    assert trace.prepared is not None
    plugins = set(trace.prepared.restricting)
    if trace.prepared.rejected is not None:
        plugins.add(trace.prepared.rejected.plugin)
    if trace.judgement is not None:
        plugins |= _plugins_in(trace.judgement) | trace.judgement.overruled
        if trace.feasible is not None and len(trace.feasible) < int(trace.judgement.passed_n.sum()):
            plugins.add(EXTENDER_PLUGIN)
    return frozenset(plugins - {""})
