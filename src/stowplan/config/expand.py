"""From plugin sets to the plugins of every extension point, in the order they run.

Upstream: pkg/scheduler/framework/runtime/framework.go (v1.36.4): NewFramework, updatePluginList,
expandMultiPointPlugins, getValidScoreWeights.
"""

from collections.abc import Mapping
from typing import Final

from stowplan.api.gotext import quote
from stowplan.config.catalog import EXTENSION_POINTS, MULTI_POINT, WEIGHTED_POINTS, PluginCatalog, interface_of
from stowplan.config.errors import PluginsError
from stowplan.config.plugin_sets import ALL, PluginSet, PluginSets, enabled_plugins
from stowplan.framework.profile import PluginEntry
from stowplan.goarith import wrap_int64

_MAX_PLUGIN_SCORE: Final = 100
_MAX_TOTAL_SCORE: Final = 2**63 - 1
_WEIGHT_WORDS: Final = {"score": "score", "placementScore": "placement score"}


def expand_points(
    sets: PluginSets, catalog: PluginCatalog, scheduler_name: str
) -> Mapping[str, tuple[PluginEntry, ...]]:
    """The plugins of every point in effective order, with effective weights; PluginsError when they do not fit."""
    points_of = {name: points for name in enabled_plugins(sets) if (points := catalog.points_of(name)) is not None}
    for point in EXTENSION_POINTS:
        _check_explicit(point, sets[point], points_of)
    names = {point: _ordered_names(point, sets, points_of) for point in EXTENSION_POINTS}
    _check_counts(names, scheduler_name)
    weights = {point: _weights(point, sets, points_of) for point in EXTENSION_POINTS if point in WEIGHTED_POINTS}
    return {
        point: tuple(PluginEntry(name, weights.get(point, {}).get(name, 0)) for name in names[point])
        for point in EXTENSION_POINTS
    }


def _check_explicit(point: str, plugin_set: PluginSet, points_of: Mapping[str, frozenset[str]]) -> None:
    seen: set[str] = set()
    for entry in plugin_set.enabled:
        points = points_of.get(entry.name)
        if points is None:
            raise PluginsError(f"{interface_of(point)} {quote(entry.name)} does not exist")
        if point not in points:
            raise PluginsError(f"plugin {quote(entry.name)} does not extend {interface_of(point)} plugin")
        if entry.name in seen:
            raise PluginsError(f"plugin {quote(entry.name)} already registered as {quote(interface_of(point))}")
        seen.add(entry.name)


def _ordered_names(point: str, sets: PluginSets, points_of: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Explicit plugins that multiPoint also names, then what multiPoint adds, then the other explicit ones."""
    explicit = [entry.name for entry in sets[point].enabled]
    disabled = sets[point].disabled
    if ALL in disabled:
        return tuple(explicit)
    overriding: set[str] = set()
    added: list[str] = []
    for entry in sets[MULTI_POINT].enabled:
        points = points_of.get(entry.name)
        if points is None:
            raise PluginsError(f"{interface_of(point)} {quote(entry.name)} does not exist")
        if point not in points or entry.name in disabled:
            continue
        if entry.name in explicit:
            overriding.add(entry.name)
        elif entry.name in added:
            raise PluginsError(f"plugin {quote(entry.name)} already registered as {quote(interface_of(point))}")
        else:
            added.append(entry.name)
    first = [name for name in explicit if name in overriding]
    last = [name for name in explicit if name not in overriding]
    return (*first, *added, *last)


def _check_counts(names: Mapping[str, tuple[str, ...]], scheduler_name: str) -> None:
    profile = f"profile with scheduler name {quote(scheduler_name)}"
    if len(names["queueSort"]) != 1:
        raise PluginsError(f"only one queue sort plugin required for {profile}, but got {len(names['queueSort'])}")
    if not names["bind"]:
        raise PluginsError(f"at least one bind plugin is needed for {profile}")
    if len(names["placementGenerate"]) > 1:
        raise PluginsError(f"at most one placement generate plugin is allowed for {profile}")


def _weights(point: str, sets: PluginSets, points_of: Mapping[str, frozenset[str]]) -> Mapping[str, int]:
    """Weights by name: the point's own before multiPoint's, and 1 for none."""
    weights: dict[str, int] = {}
    total = 0
    for entry in (*sets[point].enabled, *sets[MULTI_POINT].enabled):
        if point not in points_of.get(entry.name, frozenset()) or entry.name in weights:
            continue
        weight = entry.weight or 1
        # parity: a negative total makes the room left overflow int64, which is how negative weights are caught
        if weight * _MAX_PLUGIN_SCORE > wrap_int64(_MAX_TOTAL_SCORE - total):
            raise PluginsError(f"{_WEIGHT_WORDS[point]} plugins: total score of Score plugins could overflow")
        weights[entry.name] = weight
        total += weight * _MAX_PLUGIN_SCORE
    return weights
