"""How long each extension point took, and how often each plugin was asked.

Upstream: the metrics of pkg/scheduler/framework/runtime/framework.go (v1.36.4).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from stowplan.clock import Clock
from stowplan.cycle.decision import Trace
from stowplan.daemon.telemetry import Telemetry
from stowplan.framework.profile import Profile
from stowplan.framework.runner import filters_for


@final
class Stopwatch:
    """Tells of one extension point after the other; each took what went by since the one before."""

    __slots__ = ("_clock", "_lap", "_profile", "_telemetry")

    def __init__(self, telemetry: Telemetry, profile: str, clock: Clock) -> None:
        self._telemetry = telemetry
        self._profile = profile
        self._clock = clock
        self._lap = clock.monotonic()

    @contextmanager
    def timing(self, point: str) -> Iterator[None]:
        """Time a point whose plugins run in the block; what went by until now belongs to none."""
        self._lap = self._clock.monotonic()
        status = "Error"
        try:
            yield
            status = "Success"
        finally:
            self.ended(point, status)

    def ended(self, point: str, status: str) -> None:
        """The plugins of a point have run."""
        now = self._clock.monotonic()
        self._telemetry.point(point, status, self._profile, now - self._lap)
        self._lap = now


def tell_evaluations(telemetry: Telemetry, profile: Profile, trace: Trace) -> None:
    """Who was asked for this decision; a filter that the memo answered for counts as asked."""
    prepared, judgement = trace.prepared, trace.judgement
    if prepared is None:
        return
    for name in prepared.plans:
        telemetry.evaluation(name, "PreFilter", profile.name, 1)
    if judgement is not None:
        left = len(judgement.rows)
        refused: dict[str, int] = {}
        for rejected, count in judgement.counted() if judgement.rejections else ():
            refused[rejected.plugin] = refused.get(rejected.plugin, 0) + count
        for plugin in filters_for(profile, prepared):
            if not left:
                break
            telemetry.evaluation(plugin.name, "Filter", profile.name, left)
            left -= refused.get(plugin.name, 0)
    if trace.scores is not None:
        prepares = {plugin.name for plugin in profile.pre_scores}
        for score in trace.scores.by_plugin:
            if score.plugin in prepares:
                telemetry.evaluation(score.plugin, "PreScore", profile.name, 1)
            telemetry.evaluation(score.plugin, "Score", profile.name, len(trace.scores.rows))
