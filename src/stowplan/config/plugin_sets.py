"""Which plugins a profile names where, and how the default ones join them.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from stowplan.config.catalog import EXTENSION_POINTS, MULTI_POINT, DefaultOrder
from stowplan.framework.profile import PluginEntry

ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What is enabled and disabled at one point."""

    enabled: tuple[PluginEntry, ...] = ()
    disabled: tuple[str, ...] = ()


PluginSets = Mapping[str, PluginSet]


def merge_with_defaults(plugins: Mapping[str, Any], default_order: DefaultOrder) -> PluginSets:
    """The plugin sets of a profile (as decoded) on top of the default plugins, which all stand at multiPoint."""
    defaults = tuple(PluginEntry(name, weight) for name, weight in default_order)
    return {
        point: _merge(defaults if point == MULTI_POINT else (), _decoded(plugins.get(point, {})))
        for point in (MULTI_POINT, *EXTENSION_POINTS)
    }


def enabled_plugins(sets: PluginSets) -> tuple[str, ...]:
    """Every plugin that is enabled somewhere, once, sorted by name."""
    return tuple(sorted({entry.name for plugin_set in sets.values() for entry in plugin_set.enabled}))


def _decoded(values: Mapping[str, Any]) -> PluginSet:
    return PluginSet(
        enabled=tuple(PluginEntry(item.get("name", ""), item.get("weight", 0)) for item in values.get("enabled", ())),
        disabled=tuple(item.get("name", "") for item in values.get("disabled", ())),
    )


def _merge(defaults: tuple[PluginEntry, ...], custom: PluginSet) -> PluginSet:
    """Defaults keep their place, with the custom entry where there is one; other custom entries follow."""
    # parity: of a plugin named twice, the last replaces the default and the others stay, to be refused as double
    replacing = {entry.name: position for position, entry in enumerate(custom.enabled)}
    kept: list[PluginEntry] = []
    used: set[int] = set()
    if ALL not in custom.disabled:
        for entry in defaults:
            if entry.name in custom.disabled:
                continue
            position = replacing.get(entry.name)
            if position is None:
                kept.append(entry)
            else:
                kept.append(custom.enabled[position])
                used.add(position)
    kept += [entry for position, entry in enumerate(custom.enabled) if position not in used]
    return PluginSet(enabled=tuple(kept), disabled=custom.disabled)
