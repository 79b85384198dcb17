"""Measuring placement: all pending pods of a scenario one after another, assumed, nothing evicted."""

import resource
import sys
from random import Random
from typing import final

import msgspec

from stowplan.api.pod import Pod
from stowplan.clock import Clock
from stowplan.columns.cluster import Cluster
from stowplan.composition import Setup, set_up
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.decision import Bind
from stowplan.framework.memo import Memo
from stowplan.framework.reserving import assume_and_reserve
from stowplan.sim.replay import DEFAULT_SCHEDULER_NAME
from stowplan.sim.scenario import ScenarioError, decode_scenario

SEED = 1


@final
class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of one scenario."""

    id: str
    nodes: int
    bound: int
    pods: int
    scheduled: int
    unschedulable: int
    load_seconds: float
    seconds: float
    pods_per_second: float
    p50_us: float
    p99_us: float
    max_rss_mb: float


def measure(line: bytes, clock: Clock, *, percentage: int | None = None) -> Measurement:
    """Load a scenario and place its pods. Raises ScenarioError, ConfigError, QuantityError and PluginError."""
    started = clock.monotonic()
    scenario = decode_scenario(line)
    setup = set_up(scenario.config)
    cluster = Cluster()
    for obj in scenario.objects:
        cluster.put(obj)
    loaded = clock.monotonic()
    bound = cluster.placed_count
    times = _place(cluster, scenario.pending, setup, clock, percentage)
    seconds = sum(times)
    ordered = sorted(times) or [0.0]
    scheduled = cluster.placed_count - bound
    return Measurement(
        id=scenario.id,
        nodes=len(cluster.view()),
        bound=bound,
        pods=len(times),
        scheduled=scheduled,
        unschedulable=len(times) - scheduled,
        load_seconds=round(loaded - started, 3),
        seconds=round(seconds, 3),
        pods_per_second=round(len(times) / seconds, 1) if seconds else 0.0,
        p50_us=round(ordered[len(ordered) // 2] * 1e6, 1),
        p99_us=round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)] * 1e6, 1),
        max_rss_mb=round(_max_rss_mb(), 1),
    )


def _place(
    cluster: Cluster, pending: tuple[Pod, ...], setup: Setup, clock: Clock, percentage: int | None
) -> list[float]:
    """Place pods; returns how long each took, decision, assumption and reservation included."""
    rng = Random(SEED)  # noqa: S311 - chance among equals, repeatable
    memo = Memo()
    cursor = 0
    times = []
    for pod in pending:
        name = pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        profile = setup.profiles.get(name)
        if profile is None:
            raise ScenarioError(f"Pod {pod.key}: no profile for scheduler name {name!r}")
        begun = clock.monotonic()
        info = cluster.compiler.compile(pod)
        given = Circumstances(rng=rng, now=begun, cursor=cursor, percentage=percentage, memo=memo, preempt=False)
        decision, cursor = decide(cluster.view(), info, profile, given)
        for effect in decision.effects:
            if isinstance(effect, Bind):
                assert decision.trace.prepared is not None
                assume_and_reserve(cluster, profile, effect.pod, effect.node_name, decision.trace.prepared.plans)
        times.append(clock.monotonic() - begun)
    return times


def _max_rss_mb() -> float:
    """The process's largest memory so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 / 1024 if sys.platform == "darwin" else peak / 1024
