"""Puts profiles together: the configuration, the registry of plugins and the feature gates. Built on by every shell."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, final

from stowplan.config.errors import ConfigError
from stowplan.config.load import default_configuration, load_configuration
from stowplan.config.spec import SchedulerConfiguration
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books, Plugin
from stowplan.framework.profile import Profile, build_profile
from stowplan.framework.registry import Registry
from stowplan.plugins.default_order import DEFAULT_ORDER
from stowplan.plugins.dynamic_resources.totals import CountedDevices

DEFAULT_REGISTRY: Final = Registry(entry.plugin for entry in DEFAULT_ORDER)
NAMES_AND_WEIGHTS: Final = tuple((entry.plugin.name, entry.weight) for entry in DEFAULT_ORDER)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A configuration and its profiles by scheduler name."""

    configuration: SchedulerConfiguration
    profiles: Mapping[str, Profile]

    @property
    def first(self) -> Profile:
        """The first profile of the configuration."""
        return self.profiles[self.configuration.profiles[0].scheduler_name]


def set_up(
    data: bytes | None = None,
    filename: str = "configuration",
    *,
    plugins: Iterable[type[Plugin]] = (),
    gates: Gates | None = None,
) -> Setup:
    """Profiles from a configuration file, or the default one when there is none. Raises ConfigError."""
    gates = gates or Gates()
    registry = DEFAULT_REGISTRY.extended(plugins)
    configuration = (
        load_configuration(data, filename, registry, NAMES_AND_WEIGHTS, gates=gates)
        if data is not None
        else default_configuration(registry, NAMES_AND_WEIGHTS, gates=gates)
    )
    return compose(configuration, registry, gates, filename=filename)


def compose(configuration: SchedulerConfiguration, registry: Registry, gates: Gates, *, filename: str) -> Setup:
    """Build the profiles of a configuration. Raises ConfigError when a plugin refuses its arguments."""
    profiles = {}
    books = Books()
    devices = CountedDevices(gates, books)
    for spec in configuration.profiles:
        try:
            profiles[spec.scheduler_name] = build_profile(spec, registry, gates, books, devices)
        except ValueError as error:
            raise ConfigError(filename, f"profile {spec.scheduler_name}: {error}") from error
    return Setup(configuration=configuration, profiles=profiles)
