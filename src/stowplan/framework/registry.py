"""Registry: plugin names to classes. A value that is passed along, never a global."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import msgspec

from stowplan.framework.plugin import Plugin, points_of


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the default order: the plugin class and its score weight (0 where it does not score)."""

    plugin: type[Plugin]
    weight: int = 0


@final
class Registry:
    """Finds plugin classes by name."""

    __slots__ = ("_by_name",)

    def __init__(self, plugins: Iterable[type[Plugin]]) -> None:
        self._by_name: dict[str, type[Plugin]] = {}
        for plugin in plugins:
            other = self._by_name.setdefault(plugin.name, plugin)
            if other is not plugin:
                raise ValueError(f"two plugins are named {plugin.name}: {other!r} and {plugin!r}")

    def plugin(self, name: str) -> type[Plugin]:
        """The class of a name; KeyError when there is none."""
        return self._by_name[name]

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._by_name)

    def points_of(self, name: str) -> frozenset[str] | None:
        """The extension points a plugin takes part in; None when nobody knows it."""
        plugin = self._by_name.get(name)
        return None if plugin is None else frozenset(points_of(plugin))

    def args_type(self, name: str) -> type[msgspec.Struct] | None:
        """The record a plugin's arguments are decoded into."""
        return self._by_name[name].args_type

    def extended(self, plugins: Iterable[type[Plugin]]) -> "Registry":
        """This registry and more plugins."""
        return Registry([*self._by_name.values(), *plugins])
