"""A configuration as the rest of the scheduler reads it: complete, valid, profiles as the framework takes them.

Upstream: pkg/scheduler/apis/config/types.go (v1.36.4).
"""

from dataclasses import dataclass
from typing import Final

from stowplan.framework.profile import ProfileSpec

SECOND_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """Who leads, and for how long; durations in nanoseconds."""

    leader_elect: bool = True
    lease_duration_ns: int = 15 * SECOND_NS
    renew_deadline_ns: int = 10 * SECOND_NS
    retry_period_ns: int = 2 * SECOND_NS
    resource_lock: str = "leases"
    resource_name: str = "kube-scheduler"
    resource_namespace: str = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnection:
    """How the API server is reached."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = "application/vnd.kubernetes.protobuf"
    qps: float = 50.0
    burst: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedResource:
    """A resource an extender looks after."""

    name: str
    ignored_by_scheduler: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderTls:
    """Certificates for an extender; data wins over files."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = ""
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = b""

    @property
    def has_ca(self) -> bool:
        """Whether the server's certificate can be checked against a given root."""
        return bool(self.ca_file or self.ca_data)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtenderSpec:
    """One HTTP extender; an empty verb is not called."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: int = 0
    bind_verb: str = ""
    enable_https: bool = False
    tls: ExtenderTls | None = None
    http_timeout_ns: int = 5 * SECOND_NS
    node_cache_capable: bool = False
    managed_resources: tuple[ManagedResource, ...] = ()
    ignorable: bool = False

    @property
    def verifies_server(self) -> bool:
        """Whether the server's certificate is checked: never without a root of its own."""
        return self.enable_https and self.tls is not None and self.tls.has_ca and not self.tls.insecure


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerConfiguration:
    """A whole configuration.

    `percentage_of_nodes_to_score` is None when the file does not say it, 0 when it asks for upstream's adaptive share.
    `extenders` are in calling order.
    """

    parallelism: int = 16
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = True
    enable_contention_profiling: bool = True
    percentage_of_nodes_to_score: int | None = None
    pod_initial_backoff_seconds: int = 1
    pod_max_backoff_seconds: int = 10
    profiles: tuple[ProfileSpec, ...] = ()
    extenders: tuple[ExtenderSpec, ...] = ()
    delay_cache_until_active: bool = False
