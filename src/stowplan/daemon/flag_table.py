"""The flags: kube-scheduler's own, by the groups its help shows, and ours.

Upstream: cmd/kube-scheduler/app/options/options.go and the option structs it adds (v1.36.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from stowplan.config.spec import SECOND_NS


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: its name, type, what it says in --help, and its default as the parser would return it."""

    name: str
    kind: str
    about: str
    default: object = ""
    repeats: bool = False
    """Whether giving it again adds to what was given before, instead of replacing it."""
    ignored: str = ""
    """Why it has no effect here; told once in the log when it is given."""

    @property
    def bare(self) -> str | None:
        """The value of a flag that is given without one."""
        return "true" if self.kind in {"bool", "version"} else None


NO_HTTP2: Final = "the server here speaks HTTP/1.1"
NO_FLUSHING: Final = "every log line is written at once, to standard error"
ONLY_WITH_CONFIG_ABSENT: Final = "Ignored when --config is given."

MISC: Final = (
    Flag("config", "string", "Path of the configuration file."),
    Flag("master", "string", "URL of the API server; wins over the kubeconfig."),
    Flag("write-config-to", "string", "Write the completed configuration to this file and exit."),
)

SECURE_SERVING: Final = (
    Flag("bind-address", "ip", "Address for --secure-port; 0.0.0.0 or :: mean all.", "0.0.0.0"),  # noqa: S104 - upstream's default
    Flag("cert-dir", "string", "Folder of kube-scheduler.crt and .key; made there when missing."),
    Flag("disable-http2-serving", "bool", "Serve HTTP/1.1 only.", False, ignored=NO_HTTP2),
    Flag("http2-max-streams-per-connection", "int", "Streams per HTTP/2 connection.", 0, ignored=NO_HTTP2),
    Flag("permit-address-sharing", "bool", "Bind the port with SO_REUSEADDR.", False),
    Flag("permit-port-sharing", "bool", "Bind the port with SO_REUSEPORT.", False),
    Flag("secure-port", "int", "Port for HTTPS with authentication and authorization; 0 turns it off.", 10259),
    Flag("tls-cert-file", "string", "The server's certificate, followed by its chain."),
    Flag("tls-cipher-suites", "strings", "Cipher suites up to TLS 1.2, by their Go names.", (), repeats=True),
    Flag(
        "tls-curve-preferences",
        "int32Slice",
        "Key exchanges by Go's CurveID numbers.",
        (),
        repeats=True,
        ignored="key exchanges are OpenSSL's choice",
    ),
    Flag("tls-min-version", "string", "VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13."),
    Flag("tls-private-key-file", "string", "Private key of --tls-cert-file."),
    Flag("tls-sni-cert-key", "namedCertKey", "CERT,KEY[:NAMES] for some host names.", (), repeats=True),
)

AUTHENTICATION: Final = (
    Flag("authentication-kubeconfig", "string", "Kubeconfig for token reviews and for the cluster's client CA."),
    Flag("authentication-skip-lookup", "bool", "Do not look the client CA up in the cluster.", False),
    Flag("authentication-token-webhook-cache-ttl", "duration", "How long token reviews hold.", 10 * SECOND_NS),
    Flag("authentication-tolerate-lookup-failure", "bool", "Serve even when that look-up fails.", True),
    Flag("client-ca-file", "string", "Client certificates signed by it are accepted."),
    Flag("requestheader-allowed-names", "strings", "Common names of trusted front proxies.", (), repeats=True),
    Flag("requestheader-client-ca-file", "string", "Who signs the certificates of front proxies."),
    Flag("requestheader-extra-headers-prefix", "strings", "Prefix of headers with extra user information.",
         ("x-remote-extra-",), repeats=True),
    Flag("requestheader-group-headers", "strings", "Headers with groups.", ("x-remote-group",), repeats=True),
    Flag("requestheader-uid-headers", "strings", "Headers with uids.", (), repeats=True),
    Flag("requestheader-username-headers", "strings", "Headers with user names.", ("x-remote-user",), repeats=True),
)  # fmt: skip

AUTHORIZATION: Final = (
    Flag("authorization-always-allow-paths", "strings", "Paths that everybody may read; a final * matches any rest.",
         ("/healthz", "/readyz", "/livez"), repeats=True),
    Flag("authorization-kubeconfig", "string", "Kubeconfig for subject access reviews."),
    Flag("authorization-webhook-cache-authorized-ttl", "duration", "How long a yes holds.", 10 * SECOND_NS),
    Flag("authorization-webhook-cache-unauthorized-ttl", "duration", "How long a no holds.", 10 * SECOND_NS),
)  # fmt: skip

DEPRECATED: Final = (
    Flag("contention-profiling", "bool", f"Profile blocking. {ONLY_WITH_CONFIG_ABSENT}", True,
         ignored="there is no Go runtime to profile"),
    Flag("kube-api-burst", "int32", f"Burst of requests to the API. {ONLY_WITH_CONFIG_ABSENT}", 100),
    Flag("kube-api-content-type", "string", f"Content type of requests. {ONLY_WITH_CONFIG_ABSENT}",
         "application/vnd.kubernetes.protobuf", ignored="requests are JSON"),
    Flag("kube-api-qps", "float32", f"Requests per second to the API. {ONLY_WITH_CONFIG_ABSENT}", 50.0),
    Flag("kubeconfig", "string", f"Kubeconfig; without one, in-cluster. {ONLY_WITH_CONFIG_ABSENT}"),
    Flag("pod-max-in-unschedulable-pods-duration", "duration", "How long a pod waits for an event at most.",
         300 * SECOND_NS),
    Flag("profiling", "bool", f"Serve /debug/flags/v. {ONLY_WITH_CONFIG_ABSENT}", True),
)  # fmt: skip

LEADER_ELECTION: Final = (
    Flag("leader-elect", "bool", "Work only while holding the Lease.", True),
    Flag("leader-elect-lease-duration", "duration", "How long a Lease holds without being renewed.", 15 * SECOND_NS),
    Flag("leader-elect-renew-deadline", "duration", "How long the leader tries to renew before it stops.",
         10 * SECOND_NS),
    Flag("leader-elect-resource-lock", "string", "Kind of the lock: leases.", "leases"),
    Flag("leader-elect-resource-name", "string", "Name of the Lease.", "kube-scheduler"),
    Flag("leader-elect-resource-namespace", "string", "Namespace of the Lease.", "kube-system"),
    Flag("leader-elect-retry-period", "duration", "Pause between tries.", 2 * SECOND_NS),
)  # fmt: skip

FEATURE_GATE: Final = (
    Flag("emulated-version", "strings", "Behave as this version: only 1.36.", (), repeats=True),
    Flag("feature-gates", "gates", "[kube:]gate=true|false pairs.", {}, repeats=True),
    Flag("min-compatibility-version", "strings", "Oldest version to get along with, 1.33 to 1.36.", (), repeats=True),
)

METRICS: Final = (
    Flag("allow-metric-labels", "stringToString", "METRIC,LABEL=VALUES: other values become \"unexpected\".", {},
         repeats=True),
    Flag("allow-metric-labels-manifest", "string", "File with such a map."),
    Flag("disabled-metrics", "strings", "Metrics that are not served.", (), repeats=True),
    Flag("show-hidden-metrics-for-version", "string", "1.35, to see metrics that were hidden since.",
         ignored="no metric is hidden in this version"),
)  # fmt: skip

LOGS: Final = (
    Flag("log-flush-frequency", "duration", "Time between flushes.", 5 * SECOND_NS, ignored=NO_FLUSHING),
    Flag("log-json-info-buffer-size", "quantity", "Buffer for information.", "0", ignored=NO_FLUSHING),
    Flag("log-json-split-stream", "bool", "Information to standard output.", False, ignored=NO_FLUSHING),
    Flag("log-text-info-buffer-size", "quantity", "Buffer for information.", "0", ignored=NO_FLUSHING),
    Flag("log-text-split-stream", "bool", "Information to standard output.", False, ignored=NO_FLUSHING),
    Flag("logging-format", "string", "text or json.", "text"),
    Flag("v", "Level", "How much is logged.", 0),
    Flag("vmodule", "pattern=N,...", "How much is logged by files whose name matches a pattern.", ()),
)

GLOBAL: Final = (
    Flag("help", "bool", "Show this and quit.", False),
    Flag("version", "version", "Show the version and quit; =raw for all there is.", ""),
)

PLUGINS: Final = (Flag("plugin", "module:Class", "A plugin of your own, beside installed ones.", (), repeats=True),)

GROUPS: Final[Mapping[str, tuple[Flag, ...]]] = {
    "Misc": MISC,
    "Secure serving": SECURE_SERVING,
    "Authentication": AUTHENTICATION,
    "Authorization": AUTHORIZATION,
    "Deprecated": DEPRECATED,
    "Leader election": LEADER_ELECTION,
    "Feature gate": FEATURE_GATE,
    "Metrics": METRICS,
    "Logs": LOGS,
    "Plugin": PLUGINS,
    "Global": GLOBAL,
}

FLAGS: Final[Mapping[str, Flag]] = {flag.name: flag for group in GROUPS.values() for flag in group}
SHORTHANDS: Final[Mapping[str, str]] = {"v": "v", "h": "help"}
