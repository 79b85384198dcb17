"""Where extenders come into an attempt: after the filters, and on top of the scores.

Upstream: findNodesThatPassExtenders and prioritizeNodes in pkg/scheduler/schedule_one.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.extender import EXTENDER_PLUGIN, MAX_EXTENDER_SCORE, Extender, ExtenderError
from stowplan.framework.plugin import MAX_SCORE, PluginError
from stowplan.framework.ranking import PluginScore, Scores
from stowplan.framework.runner import Judgement, Rejected
from stowplan.framework.verdict import Rejection
from stowplan.goarith import IntN


def filter_by_extenders(extenders: Sequence[Extender], pod: PodInfo, judgement: Judgement) -> Rows:
    """The rows that passed the filters and every interested extender; what extenders reject enters the judgement."""
    feasible = judgement.passed
    for extender in extenders:
        if not len(feasible):
            break
        if not extender.filters or not extender.interested(pod):
            continue
        try:
            answer = extender.filter(pod, feasible.names)
        except ExtenderError as error:
            if extender.ignorable:
                continue
            raise PluginError(str(error)) from error
        position = {name: at for at, name in enumerate(judgement.rows.names)}
        for name, why in answer.failed_for_good.items():
            if name in position:
                judgement.put([position[name]], Rejected(EXTENDER_PLUGIN, Rejection((why,), unresolvable=True)))
        for name, why in answer.failed.items():
            if name in position and name not in answer.failed_for_good:
                judgement.put([position[name]], Rejected(EXTENDER_PLUGIN, Rejection((why,))))
        kept = frozenset(answer.kept)
        feasible = feasible.select(np.array([name in kept for name in feasible.names], np.bool_))
    return feasible


def score_by_extenders(extenders: Sequence[Extender], pod: PodInfo, scores: Scores) -> Scores:
    """Add the scores of interested extenders; one that fails gives none."""
    asked = [extender for extender in extenders if extender.prioritizes and extender.interested(pod)]
    if not asked:
        return scores
    names = scores.rows.names
    by_plugin = list(scores.by_plugin)
    total_n = scores.total_n
    for extender in asked:
        try:
            given = extender.prioritize(pod, names)
        except ExtenderError:
            continue
        raw_n: IntN = np.array([given.get(name, 0) for name in names], np.int64)
        weight = extender.weight * (MAX_SCORE // MAX_EXTENDER_SCORE)
        by_plugin.append(PluginScore(extender.name, weight, raw_n, raw_n))
        total_n = total_n + raw_n * weight
    return replace(scores, by_plugin=tuple(by_plugin), total_n=total_n)
