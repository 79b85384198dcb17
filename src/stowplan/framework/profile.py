"""Profile: the plugins of one scheduler name, in order, with their weights; and how one is put together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, final

from stowplan.framework.devices import DeviceSource
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import (
    BindPlugin,
    Books,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PluginContext,
    Point,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from stowplan.framework.registry import Registry

T = TypeVar("T", bound=Plugin)


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin enabled at a point; the weight counts at the score point."""

    name: str
    weight: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileSpec:
    """What the configuration says of one profile, defaults and precedence resolved."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None = None
    points: Mapping[str, tuple[PluginEntry, ...]]
    """Extension point to its plugins in effective order."""
    args: Mapping[str, Any] = field(default_factory=dict)
    """Plugin name to its typed arguments."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The plugins of one scheduler name, by point, in order."""

    name: str
    percentage_of_nodes_to_score: int | None
    plugins: Mapping[str, Plugin]
    pre_enqueue: tuple[PreEnqueuePlugin, ...]
    queue_sort: QueueSortPlugin
    pre_filters: tuple[PreFilterPlugin[Any], ...]
    filters: tuple[FilterPlugin[Any], ...]
    post_filters: tuple[PostFilterPlugin, ...]
    pre_scores: tuple[PreScorePlugin[Any], ...]
    late_pre_scores: tuple[PreScorePlugin[Any], ...]
    """Those that score without being enabled at preScore."""
    scores: tuple[tuple[ScorePlugin[Any], int], ...]
    reserves: tuple[ReservePlugin, ...]
    permits: tuple[PermitPlugin, ...]
    pre_binds: tuple[PreBindPlugin, ...]
    binds: tuple[BindPlugin, ...]
    post_binds: tuple[PostBindPlugin, ...]


def build_profile(
    spec: ProfileSpec,
    registry: Registry,
    gates: Gates,
    books: Books | None = None,
    devices: DeviceSource | None = None,
) -> Profile:
    """Make each plugin once and put it where the spec wants it. All profiles of a scheduler share their books."""
    names = {entry.name for entries in spec.points.values() for entry in entries}
    context = PluginContext(
        gates=gates,
        profile_name=spec.scheduler_name,
        filter_names=frozenset(entry.name for entry in spec.points.get(Point.FILTER, ())),
        books=Books() if books is None else books,
        devices=devices,
    )
    plugins = {name: registry.plugin(name).create(spec.args.get(name), context) for name in sorted(names)}

    def at(point: Point, base: type[T]) -> tuple[T, ...]:
        found = []
        for entry in spec.points.get(point, ()):
            plugin = plugins[entry.name]
            assert isinstance(plugin, base), f"{entry.name} does not take part in {point}"
            found.append(plugin)
        return tuple(found)

    pre_scores = at(Point.PRE_SCORE, PreScorePlugin)
    scores = at(Point.SCORE, ScorePlugin)
    weights = [entry.weight for entry in spec.points.get(Point.SCORE, ())]
    (queue_sort,) = at(Point.QUEUE_SORT, QueueSortPlugin)
    return Profile(
        name=spec.scheduler_name,
        percentage_of_nodes_to_score=spec.percentage_of_nodes_to_score,
        plugins=plugins,
        pre_enqueue=at(Point.PRE_ENQUEUE, PreEnqueuePlugin),
        queue_sort=queue_sort,
        pre_filters=at(Point.PRE_FILTER, PreFilterPlugin),
        filters=at(Point.FILTER, FilterPlugin),
        post_filters=at(Point.POST_FILTER, PostFilterPlugin),
        pre_scores=pre_scores,
        late_pre_scores=tuple(p for p in scores if isinstance(p, PreScorePlugin) and p not in pre_scores),
        scores=tuple(zip(scores, weights, strict=True)),
        reserves=at(Point.RESERVE, ReservePlugin),
        permits=at(Point.PERMIT, PermitPlugin),
        pre_binds=at(Point.PRE_BIND, PreBindPlugin),
        binds=at(Point.BIND, BindPlugin),
        post_binds=at(Point.POST_BIND, PostBindPlugin),
    )
