"""What the command line asks of the live scheduler, as one record.

Upstream: cmd/kube-scheduler/app/options/options.go (v1.36.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar, final

from stowplan.api.gotext import aggregate, quote
from stowplan.config.spec import SECOND_NS, ClientConnection, LeaderElection, SchedulerConfiguration
from stowplan.daemon.flag_parsing import UsageError, parse_flags
from stowplan.daemon.flag_table import DEPRECATED, FLAGS
from stowplan.daemon.gate_flag import read_gates
from stowplan.daemon.metric_flags import MetricsOptions, read_metric_flags
from stowplan.daemon.tls_flags import ServingOptions, read_serving_flags
from stowplan.framework.gates import Gates

T = TypeVar("T")

UPSTREAM_VERSION: Final = "v1.36.4"
"""The kube-scheduler that this stands in for."""
MINOR: Final = "1.36"
"""The version whose behaviour this is."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationOptions:
    """Who may be who on the secure port."""

    kubeconfig: str = ""
    skip_lookup: bool = False
    token_cache_ns: int = 10 * SECOND_NS
    tolerate_lookup_failure: bool = True
    client_ca_file: str = ""
    requestheader_client_ca_file: str = ""
    requestheader_allowed_names: tuple[str, ...] = ()
    requestheader_username_headers: tuple[str, ...] = ("x-remote-user",)
    requestheader_uid_headers: tuple[str, ...] = ()
    requestheader_group_headers: tuple[str, ...] = ("x-remote-group",)
    requestheader_extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationOptions:
    """Who may do what on the secure port."""

    kubeconfig: str = ""
    always_allow_paths: tuple[str, ...] = ("/healthz", "/readyz", "/livez")
    allowed_cache_ns: int = 10 * SECOND_NS
    denied_cache_ns: int = 10 * SECOND_NS


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LoggingOptions:
    """What is logged, and how."""

    format: str = "text"
    verbosity: int = 0
    vmodule: tuple[tuple[str, int], ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The whole command line. `given` holds the flags that were really there, `help` and `version` what only prints."""

    config_file: str = ""
    write_config_to: str = ""
    master: str = ""
    serving: ServingOptions = field(default_factory=ServingOptions)
    authentication: AuthenticationOptions = AuthenticationOptions()
    authorization: AuthorizationOptions = AuthorizationOptions()
    metrics: MetricsOptions = field(default_factory=MetricsOptions)
    logging: LoggingOptions = LoggingOptions()
    gates: Gates = field(default_factory=Gates)
    pod_max_in_unschedulable_ns: int = 300 * SECOND_NS
    plugins: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()
    """One sentence for every flag that was given and has no effect."""
    help: bool = False
    version: str = ""

    def adjust_leader_election(self, election: LeaderElection) -> LeaderElection:
        """Put in what the flags say: they win over a configuration file."""
        return replace(election, **_given(self.given, _LEADER_ELECTION_FIELDS))

    def adjust_defaults(self, configuration: SchedulerConfiguration) -> SchedulerConfiguration:
        """Put all flags into the default configuration: for when there is no file."""
        connection: ClientConnection = replace(
            configuration.client_connection, **_given(self.given, _CONNECTION_FIELDS)
        )
        return replace(
            configuration,
            client_connection=connection,
            leader_election=self.adjust_leader_election(configuration.leader_election),
            **_given(self.given, _DEBUGGING_FIELDS),
        )

    def flag_values(self) -> Mapping[str, Any]:
        """Every flag and its value, given or not."""
        return {name: self.given.get(name, flag.default) for name, flag in sorted(FLAGS.items())}


_LEADER_ELECTION_FIELDS: Final[Mapping[str, str]] = {
    "leader-elect": "leader_elect",
    "leader-elect-lease-duration": "lease_duration_ns",
    "leader-elect-renew-deadline": "renew_deadline_ns",
    "leader-elect-retry-period": "retry_period_ns",
    "leader-elect-resource-lock": "resource_lock",
    "leader-elect-resource-name": "resource_name",
    "leader-elect-resource-namespace": "resource_namespace",
}
_CONNECTION_FIELDS: Final[Mapping[str, str]] = {
    "kubeconfig": "kubeconfig",
    "kube-api-content-type": "content_type",
    "kube-api-qps": "qps",
    "kube-api-burst": "burst",
}
_DEBUGGING_FIELDS: Final[Mapping[str, str]] = {
    "profiling": "enable_profiling",
    "contention-profiling": "enable_contention_profiling",
}
_REPLACED_BY_CONFIG: Final = frozenset(flag.name for flag in DEPRECATED) - {"pod-max-in-unschedulable-pods-duration"}
_LOG_FORMATS: Final = ("text", "json")


def parse_options(arguments: Sequence[str]) -> Options:
    """Read the command line. Raises UsageError."""
    given = parse_flags(arguments)
    if given.get("help") or given.get("version"):
        return Options(given=given, help=given.get("help", False), version=given.get("version", ""))
    faults: list[str] = []
    serving = _gather(faults, ServingOptions(), lambda: read_serving_flags(given))
    metrics = _gather(faults, MetricsOptions(), lambda: read_metric_flags(given))
    no_gates: tuple[Gates, tuple[str, ...]] = (Gates(), ())
    gates, gates_ignored = _gather(faults, no_gates, lambda: read_gates(given.get("feature-gates", {})))
    faults.extend(_version_faults(given))
    faults.extend(_lock_faults(given))
    logging = _read_logging(given)
    if faults:
        raise UsageError(aggregate(faults))
    flag = _Values(given)
    return Options(
        config_file=flag["config"],
        write_config_to=flag["write-config-to"],
        master=flag["master"],
        serving=serving,
        authentication=_read_authentication(flag),
        authorization=AuthorizationOptions(
            kubeconfig=flag["authorization-kubeconfig"],
            always_allow_paths=flag["authorization-always-allow-paths"],
            allowed_cache_ns=flag["authorization-webhook-cache-authorized-ttl"],
            denied_cache_ns=flag["authorization-webhook-cache-unauthorized-ttl"],
        ),
        metrics=metrics,
        logging=logging,
        gates=gates,
        pod_max_in_unschedulable_ns=flag["pod-max-in-unschedulable-pods-duration"],
        plugins=flag["plugin"],
        given=given,
        ignored=(*_ignored(given), *gates_ignored),
    )


@final
class _Values:
    """The value of every flag: as given, or its default."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def __getitem__(self, name: str) -> Any:
        return self._given.get(name, FLAGS[name].default)


def _given(given: Mapping[str, Any], fields: Mapping[str, str]) -> dict[str, Any]:
    return {field_name: given[flag] for flag, field_name in fields.items() if flag in given}


def _gather(faults: list[str], otherwise: T, read: Callable[[], T]) -> T:
    """All groups are judged before any fault is told."""
    try:
        return read()
    except UsageError as error:
        faults.append(str(error))
        return otherwise


def _read_authentication(flag: _Values) -> AuthenticationOptions:
    return AuthenticationOptions(
        kubeconfig=flag["authentication-kubeconfig"],
        skip_lookup=flag["authentication-skip-lookup"],
        token_cache_ns=flag["authentication-token-webhook-cache-ttl"],
        tolerate_lookup_failure=flag["authentication-tolerate-lookup-failure"],
        client_ca_file=flag["client-ca-file"],
        requestheader_client_ca_file=flag["requestheader-client-ca-file"],
        requestheader_allowed_names=flag["requestheader-allowed-names"],
        requestheader_username_headers=flag["requestheader-username-headers"],
        requestheader_uid_headers=flag["requestheader-uid-headers"],
        requestheader_group_headers=flag["requestheader-group-headers"],
        requestheader_extra_prefixes=flag["requestheader-extra-headers-prefix"],
    )


def _read_logging(given: Mapping[str, Any]) -> LoggingOptions:
    log_format = given.get("logging-format", "text")
    if log_format not in _LOG_FORMATS:
        raise UsageError(f"format: Invalid value: {quote(log_format)}: Unsupported log format")
    vmodule = given.get("vmodule", ())
    if vmodule and log_format != "text":
        raise UsageError("vmodule: Forbidden: Only supported for text log format")
    return LoggingOptions(format=log_format, verbosity=given.get("v", 0), vmodule=vmodule)


def _version_faults(given: Mapping[str, Any]) -> list[str]:
    emulated, compatible = given.get("emulated-version", ()), given.get("min-compatibility-version", ())
    return [
        *(
            f"--emulated-version {text}: stowplan behaves as {MINOR} and as no other version"
            for text in emulated
            if _kube_version(text) != MINOR
        ),
        *(
            f"--min-compatibility-version {text} is not between [1.33, {MINOR}]"
            for text in compatible
            if _kube_version(text) not in {"1.33", "1.34", "1.35", "1.36"}
        ),
    ]


def _lock_faults(given: Mapping[str, Any]) -> list[str]:
    """A lock that could never be held; the durations are judged with those of the file."""
    if not given.get("leader-elect", True):
        return []
    lock = given.get("leader-elect-resource-lock", "leases")
    named = ("leader-elect-resource-name", "leader-elect-resource-namespace")
    return [
        *([] if lock == "leases" else [f"couldn't create resource lock: Invalid lock-type {lock}"]),
        *(f"--{name} must not be empty" for name in named if given.get(name) == ""),
    ]


def _kube_version(text: str) -> str:
    component, equals, version = text.rpartition("=")
    return version.strip().removeprefix("v") if not equals or component.strip() == "kube" else ""


def _ignored(given: Mapping[str, Any]) -> list[str]:
    sentences = []
    with_file = bool(given.get("config"))
    for name in given:
        if with_file and name in _REPLACED_BY_CONFIG:
            sentences.append(f"--{name} is ignored, because --config is given")
        elif FLAGS[name].ignored:
            sentences.append(f"--{name} has no effect: {FLAGS[name].ignored}")
    return sentences
