"""A configuration back as a v1 document: for --write-config-to, for /configz, and to be read again.

Upstream: cmd/kube-scheduler/app/options/configfile.go (v1.36.4).
"""

import base64
from collections.abc import Mapping
from typing import Any, Final

import msgspec
import yaml

from stowplan.config.duration import format_duration
from stowplan.config.schema_v1 import API_VERSION, KIND, PLUGIN_ARGS
from stowplan.config.spec import ExtenderSpec, SchedulerConfiguration
from stowplan.framework.profile import PluginEntry, ProfileSpec

_ALL_OFF: Final = [{"name": "*"}]


def document_of(configuration: SchedulerConfiguration) -> dict[str, Any]:
    """The document, with every default in it; every extension point lists its plugins in effective order."""
    election, connection = configuration.leader_election, configuration.client_connection
    document: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "parallelism": configuration.parallelism,
        "leaderElection": {
            "leaderElect": election.leader_elect,
            "leaseDuration": format_duration(election.lease_duration_ns),
            "renewDeadline": format_duration(election.renew_deadline_ns),
            "retryPeriod": format_duration(election.retry_period_ns),
            "resourceLock": election.resource_lock,
            "resourceName": election.resource_name,
            "resourceNamespace": election.resource_namespace,
        },
        "clientConnection": {
            "kubeconfig": connection.kubeconfig,
            "acceptContentTypes": connection.accept_content_types,
            "contentType": connection.content_type,
            "qps": connection.qps,
            "burst": connection.burst,
        },
        "enableProfiling": configuration.enable_profiling,
        "enableContentionProfiling": configuration.enable_contention_profiling,
        "podInitialBackoffSeconds": configuration.pod_initial_backoff_seconds,
        "podMaxBackoffSeconds": configuration.pod_max_backoff_seconds,
        "profiles": [_profile(profile) for profile in configuration.profiles],
        "delayCacheUntilActive": configuration.delay_cache_until_active,
    }
    if configuration.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = configuration.percentage_of_nodes_to_score
    if configuration.extenders:
        document["extenders"] = [_extender(extender) for extender in configuration.extenders]
    return document


def yaml_of(configuration: SchedulerConfiguration) -> str:
    """The document as YAML."""
    text: str = yaml.safe_dump(document_of(configuration), sort_keys=True, default_flow_style=False)
    return text


def _profile(profile: ProfileSpec) -> dict[str, Any]:
    plugins: dict[str, Any] = {"multiPoint": {"disabled": _ALL_OFF}}
    for point, entries in profile.points.items():
        plugins[point] = {"disabled": _ALL_OFF, "enabled": [_plugin(entry) for entry in entries]}
    document: dict[str, Any] = {
        "schedulerName": profile.scheduler_name,
        "plugins": plugins,
        "pluginConfig": [{"name": name, "args": _args(name, args)} for name, args in sorted(profile.args.items())],
    }
    if profile.percentage_of_nodes_to_score is not None:
        document["percentageOfNodesToScore"] = profile.percentage_of_nodes_to_score
    return document


def _plugin(entry: PluginEntry) -> dict[str, Any]:
    return {"name": entry.name, "weight": entry.weight} if entry.weight else {"name": entry.name}


def _args(name: str, args: object) -> Any:
    plain = _plain(args)
    if name in PLUGIN_ARGS:
        assert isinstance(plain, dict), f"the arguments of {name} are a record"
        return {"apiVersion": API_VERSION, "kind": f"{name}Args", **plain}
    return plain


def _plain(value: object) -> Any:
    """Plain values; what is empty is left out of records, and numbers of nanoseconds become durations."""
    if isinstance(value, msgspec.Struct):
        document = {}
        for field in msgspec.structs.fields(value):
            held = getattr(value, field.name)
            if held is None or held in ((), {}, ""):
                continue
            if field.name.endswith("_ns"):
                document[field.encode_name.removesuffix("Ns")] = format_duration(held)
            else:
                document[field.encode_name] = _plain(held)
        return document
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return value


def _extender(extender: ExtenderSpec) -> dict[str, Any]:
    document: dict[str, Any] = {
        "urlPrefix": extender.url_prefix,
        "filterVerb": extender.filter_verb,
        "preemptVerb": extender.preempt_verb,
        "prioritizeVerb": extender.prioritize_verb,
        "weight": extender.weight,
        "bindVerb": extender.bind_verb,
        "enableHTTPS": extender.enable_https,
        "httpTimeout": format_duration(extender.http_timeout_ns),
        "nodeCacheCapable": extender.node_cache_capable,
        "managedResources": [
            {"name": resource.name, "ignoredByScheduler": resource.ignored_by_scheduler}
            for resource in extender.managed_resources
        ],
        "ignorable": extender.ignorable,
    }
    if extender.tls is not None:
        tls = extender.tls
        secrets = {"certData": tls.cert_data, "keyData": tls.key_data, "caData": tls.ca_data}
        document["tlsConfig"] = {
            "insecure": tls.insecure,
            "serverName": tls.server_name,
            "certFile": tls.cert_file,
            "keyFile": tls.key_file,
            "caFile": tls.ca_file,
            **{key: base64.b64encode(data).decode() for key, data in secrets.items() if data},
        }
    return document
