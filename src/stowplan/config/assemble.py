"""From a valid draft to the configuration: extenders in order, plugins expanded, arguments in their records.

Upstream: pkg/scheduler/scheduler.go buildExtenders, pkg/scheduler/profile/profile.go (v1.36.4).
"""

from dataclasses import replace
from types import MappingProxyType

import msgspec

from stowplan.api.gotext import aggregate, quote
from stowplan.config.catalog import PluginCatalog
from stowplan.config.document import plain
from stowplan.config.draft import ConfigDraft, Draft, ProfileDraft
from stowplan.config.errors import PluginsError
from stowplan.config.expand import expand_points
from stowplan.config.fields import child, index
from stowplan.config.plugin_sets import enabled_plugins
from stowplan.config.spec import ExtenderSpec, SchedulerConfiguration
from stowplan.config.validate_args import fit_args_errors
from stowplan.framework.plugin_args import NodeResourcesFitArgs
from stowplan.framework.profile import ProfileSpec


def assemble(draft: Draft, catalog: PluginCatalog) -> SchedulerConfiguration:
    """The configuration; PluginsError when extenders or plugins cannot be put together."""
    extenders, profiles = _with_extenders(draft)
    specs = tuple(_profile(position, profile, catalog) for position, profile in enumerate(profiles))
    _check_queue_sort(specs, profiles)
    return SchedulerConfiguration(
        parallelism=draft.parallelism,
        leader_election=draft.leader_election,
        client_connection=draft.client_connection,
        enable_profiling=draft.enable_profiling,
        enable_contention_profiling=draft.enable_contention_profiling,
        percentage_of_nodes_to_score=draft.percentage_of_nodes_to_score,
        pod_initial_backoff_seconds=draft.pod_initial_backoff_seconds,
        pod_max_backoff_seconds=draft.pod_max_backoff_seconds,
        profiles=specs,
        extenders=extenders,
        delay_cache_until_active=draft.delay_cache_until_active,
    )


def _with_extenders(draft: Draft) -> tuple[tuple[ExtenderSpec, ...], tuple[ProfileDraft, ...]]:
    """Ignorable extenders go last; resources the scheduler is to ignore go to the profiles' NodeResourcesFit."""
    for extender in draft.extenders:
        # parity: https without a root of its own does not verify, and no root is then no contradiction
        if extender.tls is not None and extender.tls.insecure and extender.tls.has_ca:
            raise PluginsError(
                "couldn't build extenders: specifying a root certificates file with the insecure flag is not allowed"
            )
    extenders = tuple(sorted(draft.extenders, key=lambda extender: extender.ignorable))
    ignored = tuple(
        resource.name
        for extender in draft.extenders
        for resource in extender.managed_resources
        if resource.ignored_by_scheduler
    )
    if not ignored:
        return extenders, draft.profiles
    return extenders, tuple(_ignoring(profile, ignored) for profile in draft.profiles)


def _ignoring(profile: ProfileDraft, ignored: tuple[str, ...]) -> ProfileDraft:
    if not any(isinstance(config.args, NodeResourcesFitArgs) for config in profile.configs):
        raise PluginsError("couldn't build extenders: can't find NodeResourcesFitArgs in plugin config")
    return replace(
        profile,
        configs=tuple(
            replace(config, args=msgspec.structs.replace(config.args, ignored_resources=ignored))
            if isinstance(config.args, NodeResourcesFitArgs)
            else config
            for config in profile.configs
        ),
    )


def _profile(position: int, profile: ProfileDraft, catalog: PluginCatalog) -> ProfileSpec:
    name = profile.scheduler_name
    try:
        args = _args(index("profiles", position), profile, catalog)
        points = expand_points(profile.sets, catalog, name)
    except PluginsError as error:
        raise PluginsError(f"initializing profiles: creating profile for scheduler name {name}: {error}") from error
    return ProfileSpec(
        scheduler_name=name,
        percentage_of_nodes_to_score=profile.percentage_of_nodes_to_score,
        points=MappingProxyType(dict(points)),
        args=MappingProxyType(args),
    )


def _args(path: str, profile: ProfileDraft, catalog: PluginCatalog) -> dict[str, object]:
    """The arguments of every plugin the profile enables, if it has any."""
    positions = {config.name: position for position, config in enumerate(profile.configs)}
    args: dict[str, object] = {}
    for name in enabled_plugins(profile.sets):
        if catalog.points_of(name) is None:
            continue
        position = positions.get(name)
        config = ConfigDraft(name=name) if position is None else profile.configs[position]
        args_path = path if position is None else child(index(child(path, "pluginConfig"), position), "args")
        try:
            made = _one(config, catalog.args_type(name), args_path)
        except PluginsError as error:
            raise PluginsError(f"initializing plugin {quote(name)}: {error}") from error
        if made is not None:
            args[name] = made
    return args


def _one(config: ConfigDraft, args_type: type[msgspec.Struct] | None, path: str) -> object:
    if config.args is not None:
        if isinstance(config.args, NodeResourcesFitArgs) and (errors := fit_args_errors(config.args)):
            raise PluginsError(aggregate(errors))
        return config.args
    if args_type is None:
        return plain(config.tree)
    try:
        return msgspec.convert({} if config.tree is None else plain(config.tree), args_type)
    except msgspec.ValidationError as error:
        text, _, place = str(error).partition(" - at `$")
        where = path + place.rstrip("`")
        raise PluginsError(f"{where}: {text}") from error


def _check_queue_sort(specs: tuple[ProfileSpec, ...], profiles: tuple[ProfileDraft, ...]) -> None:
    first = specs[0].points["queueSort"][0].name
    wanted = _written(profiles[0], first)
    for spec, profile in zip(specs, profiles, strict=True):
        name = spec.points["queueSort"][0].name
        if name != first:
            raise PluginsError(
                f"initializing profiles: different queue sort plugins for profile {quote(spec.scheduler_name)}: "
                f"{quote(name)}, first: {quote(first)}"
            )
        if _written(profile, name) != wanted:
            raise PluginsError(
                f"initializing profiles: different queue sort plugin args for profile {quote(spec.scheduler_name)}"
            )


def _written(profile: ProfileDraft, plugin: str) -> object:
    return next((plain(config.tree) for config in profile.configs if config.name == plugin), None)
