"""A configuration decoded and defaulted, but not yet judged.

Upstream: pkg/scheduler/apis/config/v1/defaults.go (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stowplan.config.catalog import DefaultOrder
from stowplan.config.decode import Values
from stowplan.config.document import Tree
from stowplan.config.plugin_args import PluginArgs, default_args
from stowplan.config.plugin_sets import PluginSets, enabled_plugins, merge_with_defaults
from stowplan.config.schema_v1 import PLUGIN_ARGS
from stowplan.config.spec import (
    SECOND_NS,
    ClientConnection,
    ExtenderSpec,
    ExtenderTls,
    LeaderElection,
    ManagedResource,
)
from stowplan.framework.gates import Gates

DEFAULT_SCHEDULER: str = "default-scheduler"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDraft:
    """The arguments of one plugin.

    In-tree plugins that take arguments have `args`, the others the tree as it was written.
    """

    name: str
    args: PluginArgs | None = None
    tree: Tree = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileDraft:
    """One profile with the default plugins merged in."""

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    sets: PluginSets
    configs: tuple[ConfigDraft, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The whole configuration."""

    parallelism: int
    leader_election: LeaderElection
    client_connection: ClientConnection
    enable_profiling: bool
    enable_contention_profiling: bool
    percentage_of_nodes_to_score: int | None
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    profiles: tuple[ProfileDraft, ...]
    extenders: tuple[ExtenderSpec, ...]
    delay_cache_until_active: bool


def draft_configuration(
    values: Values,
    args_values: Mapping[tuple[int, int], Values],
    default_order: DefaultOrder,
    gates: Gates,
) -> Draft:
    """Fill in the defaults; `args_values` are the decoded in-tree arguments by profile and pluginConfig position."""
    profiling: bool = values.get("enableProfiling", True)
    profiles: tuple[Values, ...] = values.get("profiles") or ({},)
    default_name = DEFAULT_SCHEDULER if len(profiles) == 1 else ""
    return Draft(
        parallelism=values.get("parallelism", 16),
        leader_election=_leader_election(values.get("leaderElection", {})),
        client_connection=_client_connection(values.get("clientConnection", {})),
        enable_profiling=profiling,
        enable_contention_profiling=values.get("enableContentionProfiling", profiling),
        percentage_of_nodes_to_score=values.get("percentageOfNodesToScore"),
        pod_initial_backoff_seconds=values.get("podInitialBackoffSeconds", 1),
        pod_max_backoff_seconds=values.get("podMaxBackoffSeconds", 10),
        profiles=tuple(
            _profile(
                profile,
                {entry: found for (owner, entry), found in args_values.items() if owner == position},
                default_name,
                default_order,
                gates,
            )
            for position, profile in enumerate(profiles)
        ),
        extenders=tuple(_extender(extender) for extender in values.get("extenders", ())),
        delay_cache_until_active=values.get("delayCacheUntilActive", False),
    )


def _profile(
    values: Values,
    args_values: Mapping[int, Values],
    default_name: str,
    default_order: DefaultOrder,
    gates: Gates,
) -> ProfileDraft:
    sets = merge_with_defaults(values.get("plugins", {}), default_order)
    configs = [
        _config(entry, args_values.get(position), gates)
        for position, entry in enumerate(values.get("pluginConfig", ()))
    ]
    given = {config.name for config in configs}
    configs += [
        ConfigDraft(name=name, args=default_args(name, {}, gates))
        for name in enabled_plugins(sets)
        if name in PLUGIN_ARGS and name not in given
    ]
    return ProfileDraft(
        scheduler_name=values.get("schedulerName", default_name),
        percentage_of_nodes_to_score=values.get("percentageOfNodesToScore"),
        sets=sets,
        configs=tuple(configs),
    )


def _config(entry: Values, args_values: Values | None, gates: Gates) -> ConfigDraft:
    name = entry.get("name", "")
    if args_values is None:
        return ConfigDraft(name=name, tree=entry.get("args"))
    return ConfigDraft(name=name, args=default_args(name, args_values, gates))


def _leader_election(values: Values) -> LeaderElection:
    return LeaderElection(
        leader_elect=values.get("leaderElect", True),
        lease_duration_ns=values.get("leaseDuration") or 15 * SECOND_NS,
        renew_deadline_ns=values.get("renewDeadline") or 10 * SECOND_NS,
        retry_period_ns=values.get("retryPeriod") or 2 * SECOND_NS,
        resource_lock=values.get("resourceLock") or "leases",
        resource_name=values.get("resourceName") or "kube-scheduler",
        resource_namespace=values.get("resourceNamespace") or "kube-system",
    )


def _client_connection(values: Values) -> ClientConnection:
    default = ClientConnection()
    return ClientConnection(
        kubeconfig=values.get("kubeconfig", ""),
        accept_content_types=values.get("acceptContentTypes", ""),
        content_type=values.get("contentType") or default.content_type,
        qps=values.get("qps") or default.qps,
        burst=values.get("burst") or default.burst,
    )


def _extender(values: Values) -> ExtenderSpec:
    tls: Any = values.get("tlsConfig")
    return ExtenderSpec(
        url_prefix=values.get("urlPrefix", ""),
        filter_verb=values.get("filterVerb", ""),
        preempt_verb=values.get("preemptVerb", ""),
        prioritize_verb=values.get("prioritizeVerb", ""),
        weight=values.get("weight", 0),
        bind_verb=values.get("bindVerb", ""),
        enable_https=values.get("enableHTTPS", False),
        tls=None if tls is None else _tls(tls),
        http_timeout_ns=values.get("httpTimeout") or 5 * SECOND_NS,
        node_cache_capable=values.get("nodeCacheCapable", False),
        managed_resources=tuple(
            ManagedResource(name=item.get("name", ""), ignored_by_scheduler=item.get("ignoredByScheduler", False))
            for item in values.get("managedResources", ())
        ),
        ignorable=values.get("ignorable", False),
    )


def _tls(values: Values) -> ExtenderTls:
    return ExtenderTls(
        insecure=values.get("insecure", False),
        server_name=values.get("serverName", ""),
        cert_file=values.get("certFile", ""),
        key_file=values.get("keyFile", ""),
        ca_file=values.get("caFile", ""),
        cert_data=values.get("certData", b""),
        key_data=values.get("keyData", b""),
        ca_data=values.get("caData", b""),
    )
