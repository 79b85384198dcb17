"""What a configuration may say, judged as a whole: every fault is found, not only the first.

Upstream: pkg/scheduler/apis/config/validation/validation.go, component-base/config/validation (v1.36.4).
"""

from typing import Final

from stowplan.api.gotext import label_key_errors, quote
from stowplan.api.resource_names import is_extended
from stowplan.config.document import plain
from stowplan.config.draft import Draft, ProfileDraft
from stowplan.config.duration import format_duration
from stowplan.config.fields import as_json, child, duplicate, index, invalid, required
from stowplan.config.plugin_sets import PluginSet
from stowplan.config.schema_v1 import API_VERSION
from stowplan.config.spec import ExtenderSpec, LeaderElection
from stowplan.config.validate_args import args_errors
from stowplan.framework.gates import Gates

REMOVED_PLUGINS: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})

# parity: multiPoint and the placement points are not looked at for removed plugins
_JUDGED_POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)


def configuration_errors(draft: Draft, gates: Gates) -> list[str]:
    """All faults of a configuration, in upstream's order and words."""
    errors = []
    if draft.client_connection.burst < 0:
        errors.append(invalid("clientConnection.burst", draft.client_connection.burst, "must be non-negative"))
    errors += leader_election_errors(draft.leader_election)
    if draft.parallelism <= 0:
        errors.append(invalid("parallelism", draft.parallelism, "should be an integer value greater than zero"))
    errors += _profiles(draft.profiles, gates)
    errors += _percentage("percentageOfNodesToScore", draft.percentage_of_nodes_to_score)
    initial, longest = draft.pod_initial_backoff_seconds, draft.pod_max_backoff_seconds
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        detail = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, detail))
    errors += _extenders(draft.extenders)
    return errors


def leader_election_errors(election: LeaderElection) -> list[str]:
    """The faults of a leader election, none when it is off."""
    if not election.leader_elect:
        return []
    lease, deadline = election.lease_duration_ns, election.renew_deadline_ns
    errors = [
        invalid(child("leaderElection", name), format_duration(value), "must be greater than zero")
        for name, value in (
            ("leaseDuration", lease),
            ("renewDeadline", deadline),
            ("retryPeriod", election.retry_period_ns),
        )
        if value <= 0
    ]
    if lease <= deadline:
        # parity: the value that is shown is the other one
        shown = format_duration(deadline)
        errors.append(invalid("leaderElection.leaseDuration", shown, "must be greater than `RenewDeadline`"))
    errors += [
        required(child("leaderElection", name))
        for name, value in (
            ("resourceLock", election.resource_lock),
            ("resourceNamespace", election.resource_namespace),
            ("resourceName", election.resource_name),
        )
        if not value
    ]
    if election.resource_lock != "leases":
        detail = 'resourceLock value must be "leases"'
        errors.append(invalid("leaderElection.resourceLock", election.resource_lock, detail))
    return errors


def _profiles(profiles: tuple[ProfileDraft, ...], gates: Gates) -> list[str]:
    errors = []
    seen: set[str] = set()
    for position, profile in enumerate(profiles):
        path = index("profiles", position)
        errors += _profile(path, profile, gates)
        if profile.scheduler_name in seen:
            # parity: upstream shows an empty object where the first profile's path was meant
            errors.append(duplicate(child(path, "schedulerName"), {}))
        seen.add(profile.scheduler_name)
    return errors + _common_queue_sort(profiles)


def _profile(path: str, profile: ProfileDraft, gates: Gates) -> list[str]:
    errors = []
    if not profile.scheduler_name:
        errors.append(required(child(path, "schedulerName")))
    errors += _percentage(child(path, "percentageOfNodesToScore"), profile.percentage_of_nodes_to_score)
    for point in _JUDGED_POINTS:
        enabled_path = child(path, "plugins", point, "enabled")
        for position, entry in enumerate(profile.sets[point].enabled):
            errors += _removed(index(enabled_path, position), entry.name)
    seen: set[str] = set()
    for position, config in enumerate(profile.configs):
        config_path = index(child(path, "pluginConfig"), position)
        if config.name in seen:
            errors.append(duplicate(config_path, config.name))
        seen.add(config.name)
        if config.name in REMOVED_PLUGINS:
            errors += _removed(config_path, config.name)
        elif config.args is not None:
            errors += args_errors(child(config_path, "args"), config.args, gates)
    return errors


def _removed(path: str, name: str) -> list[str]:
    if name not in REMOVED_PLUGINS:
        return []
    # parity: the group is not part of the first version upstream prints
    detail = f'was invalid in version "v1" (KubeSchedulerConfiguration is version {quote(API_VERSION)})'
    return [invalid(path, name, detail)]


def _percentage(path: str, percentage: int | None) -> list[str]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _common_queue_sort(profiles: tuple[ProfileDraft, ...]) -> list[str]:
    first = profiles[0].sets["queueSort"]
    errors = []
    if len(first.enabled) > 1:
        detail = "only one queue sort plugin can be enabled"
        errors.append(invalid("profiles[0].plugins.queueSort.Enabled", len(first.enabled), detail))
    name = first.enabled[0].name if first.enabled else ""
    wanted = next((plain(config.tree) for config in profiles[0].configs if name and config.name == name), None)
    for position, profile in enumerate(profiles[1:], start=1):
        path = index("profiles", position)
        current = profile.sets["queueSort"]
        if current != first:
            detail = "must be the same for all profiles"
            errors.append(f"{child(path, 'plugins', 'queueSort')}: Invalid value: {_set_json(current)}: {detail}")
        for config in profile.configs:
            if name and config.name == name and plain(config.tree) != wanted:
                detail = "queueSort must be the same for all profiles"
                errors.append(invalid(child(path, "pluginConfig", "args"), plain(config.tree), detail))
    return errors


def _set_json(plugin_set: PluginSet) -> str:
    enabled = [{"Name": entry.name, "Weight": entry.weight} for entry in plugin_set.enabled]
    disabled = [{"Name": name, "Weight": 0} for name in plugin_set.disabled]
    return as_json({"Enabled": enabled or None, "Disabled": disabled or None})


def _extenders(extenders: tuple[ExtenderSpec, ...]) -> list[str]:
    errors = []
    managed: set[str] = set()
    for position, extender in enumerate(extenders):
        path = index("extenders", position)
        if extender.prioritize_verb and extender.weight <= 0:
            detail = "must have a positive weight applied to it"
            errors.append(invalid(child(path, "weight"), extender.weight, detail))
        for place, resource in enumerate(extender.managed_resources):
            name_path = child(index(child(path, "managedResources"), place), "name")
            errors += _extended_resource(name_path, resource.name)
            if resource.name in managed:
                errors.append(invalid(name_path, resource.name, "duplicate extender managed resource name"))
            managed.add(resource.name)
    binders = sum(1 for extender in extenders if extender.bind_verb)
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.append(invalid("extenders", found, "only one extender can implement bind"))
    return errors


def _extended_resource(path: str, name: str) -> list[str]:
    if faults := label_key_errors(name):
        return [invalid(path, name, fault) for fault in faults]
    return [] if is_extended(name) else [invalid(path, name, "is an invalid extended resource name")]
