"""What scoring ends with: every plugin's scores of the feasible rows, and their sum."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import MAX_SCORE, PluginError, ScorePlugin
from stowplan.goarith import IntN


@final
@dataclass(frozen=True, slots=True)
class PluginScore:
    """One plugin's scores of all feasible rows."""

    plugin: str
    weight: int
    raw_n: IntN
    normalized_n: IntN

    @property
    def weighted_n(self) -> IntN:
        """What counts in the total."""
        return self.normalized_n * self.weight


@final
@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of all feasible rows."""

    rows: Rows
    by_plugin: tuple[PluginScore, ...]
    total_n: IntN


@final
class Scorer(NamedTuple):
    """A plugin about to score, with its weight and its plan."""

    plugin: ScorePlugin[Any]
    weight: int
    plan: Any

    def raw(self, pod: PodInfo, rows: Rows) -> IntN:
        """What the plugin says of some rows. Raises PluginError."""
        try:
            return self.plugin.score(pod, rows, self.plan)
        except PluginError as error:
            raise PluginError(f'running Score plugins: plugin "{self.plugin.name}" failed with: {error}') from error

    def rank(self, pod: PodInfo, rows: Rows, raw_n: IntN) -> PluginScore:
        """Raw scores, normalised and checked. Raises PluginError."""
        name = self.plugin.name
        try:
            normalized_n = self.plugin.normalize(pod, rows, self.plan, raw_n)
        except PluginError as error:
            raise PluginError(f'running Normalize on Score plugins: plugin "{name}" failed with: {error}') from error
        check_range(name, normalized_n)
        return PluginScore(name, self.weight, raw_n, normalized_n)


def summed(by_plugin: Sequence[PluginScore], rows: int) -> IntN:
    """The sum of the weighted scores."""
    total_n: IntN = np.zeros(rows, np.int64)
    for score in by_plugin:
        total_n += score.weighted_n
    return total_n


def check_range(name: str, scores_n: IntN) -> None:
    """Hold a plugin to the range of scores. Raises PluginError."""
    low, high = int(np.minimum.reduce(scores_n)), int(np.maximum.reduce(scores_n))
    if low < 0 or high > MAX_SCORE:
        bad = low if low < 0 else high
        raise PluginError(
            f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid score {bad}, '
            f"it should in the range of [0, {MAX_SCORE}] after normalizing"
        )
