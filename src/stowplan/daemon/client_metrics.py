"""What is measured of the requests to the API server, and of leading.

Upstream: staging/src/k8s.io/component-base/metrics/prometheus/restclient/metrics.go and
staging/src/k8s.io/component-base/metrics/prometheus/clientgo/leaderelection/metrics.go (v1.36.4).
"""

from typing import Final, final

from stowplan.daemon.instruments import Definition, Instruments

REQUESTS: Final = Definition(
    name="rest_client_requests_total",
    about="Number of HTTP requests, partitioned by status code, method, and host.",
    stability="ALPHA",
    labels=("code", "method", "host"),
)
REQUEST_SECONDS: Final = Definition(
    name="rest_client_request_duration_seconds",
    about="Request latency in seconds. Broken down by verb, and host.",
    stability="ALPHA",
    labels=("verb", "host"),
    buckets=(0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0),
)
LEADING: Final = Definition(
    name="leader_election_master_status",
    about=(
        "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. "
        "'name' is the string used to identify the lease. Please make sure to group by name."
    ),
    stability="ALPHA",
    labels=("name",),
)
NO_ANSWER: Final = "<error>"
ELECTION: Final = "kube-scheduler"
"""parity: what the election is called, whatever its Lease is (makeLeaderElectionConfig in options.go)."""


@final
class ClientMetrics:
    """Hears of every attempt of a request; a RequestObserver."""

    def __init__(self, instruments: Instruments, host: str) -> None:
        self._host = host
        self._requests = instruments.values(REQUESTS)
        self._seconds = instruments.spreads(REQUEST_SECONDS)
        self._leading = instruments.values(LEADING)

    def attempt_done(self, method: str, code: int, seconds: float) -> None:
        """An attempt ended; `code` is 0 when there was no answer."""
        self._requests.of(str(code) if code else NO_ANSWER, method, self._host).add()
        self._seconds.of(method, self._host).observe(seconds)

    def leading(self, leads: bool) -> None:
        """Whether this process holds the Lease."""
        self._leading.of(ELECTION).set(float(leads))
