"""Plugins of third parties: named as module:Class, or announced by installed packages."""

import importlib
import inspect
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from stowplan.framework.plugin import Plugin, points_of

ENTRY_POINTS: Final = "stowplan.plugins"


class PluginLoadError(ValueError):
    """Raised when a plugin cannot be loaded, or is none."""


def load_plugin(reference: str) -> type[Plugin]:
    """The class that module:Class names. Raises PluginLoadError."""
    module_name, colon, class_name = reference.partition(":")
    if not colon or not module_name or not class_name:
        raise PluginLoadError(f"plugin {reference!r}: write it as module:Class")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise PluginLoadError(f"plugin {reference!r}: there is no module {error.name!r} to import") from error
    except Exception as error:
        raise PluginLoadError(
            f"plugin {reference!r}: importing {module_name} failed: {type(error).__name__}: {error}"
        ) from error
    found: object = module
    for part in class_name.split("."):
        if not hasattr(found, part):
            raise PluginLoadError(f"plugin {reference!r}: {module_name} has no {class_name}")
        found = getattr(found, part)
    return _plugin(found, f"plugin {reference!r}")


def installed_plugins(announced: Iterable[EntryPoint] | None = None) -> list[type[Plugin]]:
    """What installed packages announce under the entry point stowplan.plugins. Raises PluginLoadError."""
    points = entry_points(group=ENTRY_POINTS) if announced is None else announced
    found = []
    for point in sorted(points, key=lambda point: (point.name, point.value)):
        where = f"entry point {point.name!r} of {ENTRY_POINTS} ({point.value})"
        try:
            loaded = point.load()
        except Exception as error:
            raise PluginLoadError(f"{where}: loading failed: {type(error).__name__}: {error}") from error
        found.append(_plugin(loaded, where))
    return found


def load_plugins(references: Iterable[str]) -> list[type[Plugin]]:
    """The installed plugins and the named ones, each once. Raises PluginLoadError, also for two of one name."""
    by_name: dict[str, type[Plugin]] = {}
    for plugin in (*installed_plugins(), *(load_plugin(reference) for reference in references)):
        other = by_name.setdefault(plugin.name, plugin)
        if other is not plugin:
            raise PluginLoadError(
                f"two plugins are named {plugin.name}: {other.__module__}:{other.__qualname__} and "
                f"{plugin.__module__}:{plugin.__qualname__}"
            )
    return list(by_name.values())


def _plugin(found: object, where: str) -> type[Plugin]:
    if not inspect.isclass(found) or not issubclass(found, Plugin):
        raise PluginLoadError(f"{where}: {found!r} is not a class derived from stowplan.framework.plugin.Plugin")
    name = getattr(found, "name", None)
    if not isinstance(name, str) or not name:
        raise PluginLoadError(f"{where}: {found.__qualname__} has no name")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(getattr(found, "__abstractmethods__", ())))
        raise PluginLoadError(f"{where}: {found.__qualname__} does not define {missing}")
    if not points_of(found):
        raise PluginLoadError(f"{where}: {found.__qualname__} takes part in no extension point")
    return found
