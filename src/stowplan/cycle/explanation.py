"""A trace told in words and tables: the verdict, the reasons by plugin, the scores of the best nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import msgspec
import numpy as np

from stowplan.columns.rows import Rows
from stowplan.cycle.decision import Trace
from stowplan.framework.runner import Rejected
from stowplan.framework.verdict import Verdict

API_VERSION: Final = "explain.stowplan.dev/v1"
SHOWN_NODES: Final = 5
"""Node names listed with a reason; the count is always whole."""


class Told(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what is told: camelCase in JSON and YAML."""


@final
class Reason(Told, frozen=True):
    """Why nodes are out."""

    plugin: str
    code: str
    reason: str
    nodes: int
    examples: tuple[str, ...] = ()


@final
class PluginTold(Told, frozen=True):
    """What one plugin adds to a node's score."""

    plugin: str
    raw: int
    normalized: int
    weight: int
    score: int


@final
class NodeScore(Told, frozen=True):
    """A node's score, plugin by plugin."""

    node: str
    total: int
    plugins: tuple[PluginTold, ...]


@final
class NodeAnswer(Told, frozen=True):
    """What is said of one node."""

    node: str
    fits: bool
    rejections: tuple[Reason, ...] = ()
    score: NodeScore | None = None


@final
class Preemption(Told, frozen=True):
    """The room that can be made."""

    node: str
    victims: tuple[str, ...]


@final
class Explanation(Told, frozen=True):
    """Why a pod goes where it goes, or nowhere."""

    api_version: str = API_VERSION
    kind: str = "Explanation"
    pod: str = ""
    schedulable: bool = False
    verdict: str = ""
    node: str = ""
    nodes: int = 0
    judged: int = 0
    feasible: int = 0
    ties: int = 0
    exhaustive: bool = False
    reasons: tuple[Reason, ...] = ()
    scores: tuple[NodeScore, ...] = ()
    preemption: Preemption | None = None
    message: str = ""
    asked: NodeAnswer | None = None
    """The node the question was about, if it was about one."""


@final
@dataclass(frozen=True, slots=True)
class Exhaustive:
    """What every filter says of every node."""

    rows: Rows
    verdicts: Mapping[str, Verdict]


def explain(trace: Trace, *, exhaustive: Exhaustive | None = None, node: str = "", best: int = 10) -> Explanation:
    """Tell a trace. `exhaustive` is for those who want more than the first rejection of each node."""
    judgement, feasible = trace.judgement, trace.feasible
    reasons = _absent(trace) + _all_reasons(exhaustive) if exhaustive is not None else _first_reasons(trace)
    scores = node_scores(trace)
    return Explanation(
        pod=trace.pod.key,
        schedulable=bool(trace.node_name),
        verdict=verdict_line(trace, scores),
        node=trace.node_name,
        nodes=trace.nodes,
        judged=0 if judgement is None else len(judgement.rows),
        feasible=0 if feasible is None else len(feasible),
        ties=trace.ties,
        exhaustive=exhaustive is not None,
        reasons=tuple(reasons),
        scores=tuple(scores[:best]),
        preemption=None
        if trace.room is None
        else Preemption(node=trace.room.node_name, victims=tuple(victim.key for victim in trace.room.victims)),
        message=trace.message,
        asked=answer_about(trace, node, exhaustive, scores) if node else None,
    )


def verdict_line(trace: Trace, scores: Sequence[NodeScore]) -> str:
    """One line that says it all."""
    key = trace.pod.key
    if trace.node_name:
        assert trace.feasible is not None
        if trace.nominated_first:
            return f"{key} goes to {trace.node_name}, the node it was nominated to; no other was looked at"
        if len(trace.feasible) == 1:
            return f"{key} goes to {trace.node_name}, the only one of {trace.nodes} nodes that fits"
        line = f"{key} goes to {trace.node_name} with a score of {scores[0].total}"
        fit = f"{len(trace.feasible)} of {trace.nodes} nodes fit"
        if trace.ties > 1:
            return f"{line}; {fit}, {trace.ties} share that score"
        return f"{line}; {fit}, next is {scores[1].node} with {scores[1].total}"
    if trace.room is not None:
        victims = len(trace.room.victims)
        return (
            f"{key} fits on no node yet; evicting {victims} pod{'s' if victims != 1 else ''} "
            f"from {trace.room.node_name} would make room"
        )
    return f"{key} fits on no node: {trace.message}"


def node_scores(trace: Trace) -> list[NodeScore]:
    """The scores of all feasible nodes, the chosen one first, then the best."""
    if trace.scores is None:
        return []
    names = trace.scores.rows.names
    totals = trace.scores.total_n.tolist()
    order = sorted(range(len(names)), key=lambda i: (-totals[i], names[i] != trace.node_name, names[i]))
    columns = [
        (s.plugin, s.weight, s.raw_n.tolist(), s.normalized_n.tolist(), s.weighted_n.tolist())
        for s in trace.scores.by_plugin
    ]
    return [
        NodeScore(
            node=names[i],
            total=totals[i],
            plugins=tuple(
                PluginTold(plugin=plugin, weight=weight, raw=raw[i], normalized=normalized[i], score=weighted[i])
                for plugin, weight, raw, normalized, weighted in columns
            ),
        )
        for i in order
    ]


def answer_about(trace: Trace, node: str, exhaustive: Exhaustive | None, scores: Sequence[NodeScore]) -> NodeAnswer:
    """What is said of one node: by the first filter that rejects it, or by all."""
    rejections: list[Reason] = []
    judged = trace.judgement
    row = None if judged is None else judged.rows.view.row_of(node)
    at = [] if judged is None or row is None else np.flatnonzero(judged.rows.index == row).tolist()
    if not at and trace.absent is not None:
        rejections += [_reason(trace.absent, reason, 1, (node,)) for reason in trace.absent.why.reasons]
    if exhaustive is not None:
        position = list(exhaustive.rows.names).index(node)
        for plugin, verdict in exhaustive.verdicts.items():
            why = verdict.at(position)
            if why is not None:
                rejections += [_reason(Rejected(plugin, why), reason, 1, (node,)) for reason in why.reasons]
    elif at:
        assert judged is not None
        rejected = judged.at(at[0])
        if rejected is not None:
            rejections += [_reason(rejected, reason, 1, (node,)) for reason in rejected.why.reasons]
    score = next((score for score in scores if score.node == node), None)
    fits = trace.feasible is not None and node in trace.feasible.names
    return NodeAnswer(node=node, fits=fits, rejections=tuple(rejections), score=score)


def _absent(trace: Trace) -> list[Reason]:
    """What PreFilter said of the nodes that were not judged."""
    if trace.absent is None:
        return []
    judged = 0 if trace.judgement is None else len(trace.judgement.rows)
    return [_reason(trace.absent, reason, trace.nodes - judged, ()) for reason in trace.absent.why.reasons]


def _reason(rejected: Rejected, reason: str, nodes: int, examples: Sequence[str]) -> Reason:
    return Reason(
        plugin=rejected.plugin or "PreFilter",
        code=str(rejected.why.code),
        reason=reason,
        nodes=nodes,
        examples=tuple(examples),
    )


def _first_reasons(trace: Trace) -> list[Reason]:
    """Per plugin and reason, the nodes that this plugin was the first to reject."""
    found = _absent(trace)
    judgement = trace.judgement
    if judgement is not None:
        names = judgement.rows.names
        merged: dict[tuple[str, str, str], list[int]] = {}
        for number, rejected in enumerate(judgement.rejections, 1):
            at = np.flatnonzero(judgement.outcome_n == number).tolist()
            for reason in rejected.why.reasons if at else ():
                merged.setdefault((rejected.plugin, str(rejected.why.code), reason), []).extend(at)
        found += _from_positions(merged, names)
    return found


def _all_reasons(exhaustive: Exhaustive) -> list[Reason]:
    """Per plugin and reason, all nodes that this plugin rejects, whoever else does."""
    merged: dict[tuple[str, str, str], list[int]] = {}
    for plugin, verdict in exhaustive.verdicts.items():
        if verdict.outcome_n is None:
            continue
        for number, why in enumerate(verdict.rejections, 1):
            at = np.flatnonzero(verdict.outcome_n == number).tolist()
            for reason in why.reasons if at else ():
                merged.setdefault((plugin, str(why.code), reason), []).extend(at)
    return _from_positions(merged, exhaustive.rows.names)


def _from_positions(merged: Mapping[tuple[str, str, str], list[int]], names: Sequence[str]) -> list[Reason]:
    order = sorted(merged.items(), key=lambda item: -len(item[1]))
    return [
        Reason(
            plugin=plugin,
            code=code,
            reason=reason,
            nodes=len(at),
            examples=tuple(sorted(names[i] for i in at)[:SHOWN_NODES]),
        )
        for (plugin, code, reason), at in order
    ]
