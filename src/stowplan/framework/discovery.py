"""Finding third-party plugins: named on the command line as module:Class, or offered by installed packages."""

import importlib
from collections.abc import Iterable
from importlib.metadata import entry_points
from typing import Final

from stowplan.framework.plugin import Plugin, points_of

ENTRY_POINTS: Final = "stowplan.plugins"


class PluginLoadError(ValueError):
    """Raised when a plugin cannot be loaded: the text names what was asked for and what is wrong with it."""


def load_plugins(named: Iterable[str]) -> list[type[Plugin]]:
    """The plugins named as module:Class, then those that installed packages offer. Raises PluginLoadError."""
    plugins = [_load(name) for name in named]
    for offer in entry_points(group=ENTRY_POINTS):
        plugin = _load(offer.value)
        if plugin not in plugins:
            plugins.append(plugin)
    return plugins


def _load(name: str) -> type[Plugin]:
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or not class_name:
        raise PluginLoadError(f"plugin {name!r}: write module:Class")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise PluginLoadError(f"plugin {name!r}: {module_name} cannot be imported: {error}") from error
    plugin = vars(module).get(class_name)
    if plugin is None:
        raise PluginLoadError(f"plugin {name!r}: {module_name} has no {class_name}")
    if not (isinstance(plugin, type) and issubclass(plugin, Plugin)):
        raise PluginLoadError(f"plugin {name!r}: it does not derive from stowplan.framework.plugin.Plugin")
    if "name" not in vars(plugin) and not hasattr(plugin, "name"):
        raise PluginLoadError(f"plugin {name!r}: it has no name")
    if not points_of(plugin):
        raise PluginLoadError(f"plugin {name!r}: it takes part in no extension point")
    return plugin
