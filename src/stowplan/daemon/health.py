"""Health checks by name, as /healthz, /livez and /readyz tell them.

Upstream: staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go (v1.36.4).
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, final

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from stowplan.api.gotext import quote
from stowplan.daemon.instruments import Definition, Instruments
from stowplan.daemon.metric_flags import MetricsOptions

_LOG = logging.getLogger(__name__)

RESULT: Final = Definition(
    name="kubernetes_healthcheck",
    about="This metric records the result of a single healthcheck.",
    stability="STABLE",
    labels=("type", "name"),
)
RESULTS: Final = Definition(
    name="kubernetes_healthchecks_total",
    about="This metric records the results of all healthcheck.",
    stability="STABLE",
    labels=("type", "name", "status"),
)


@final
@dataclass(frozen=True, slots=True)
class Check:
    """One check: what is wrong, or None."""

    name: str
    fault: Callable[[], str | None]


PING: Final = Check("ping", lambda: None)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What each of the endpoints asks; no checks at all is a ping."""

    healthz: Sequence[Check] = ()
    livez: Sequence[Check] = ()
    readyz: Sequence[Check] = ()


@final
@dataclass(frozen=True, slots=True)
class Health:
    """What an endpoint answers."""

    ok: bool
    text: str


@final
class Probes:
    """The endpoints' answers, and how often each check passed."""

    def __init__(self, checks: Checks, options: MetricsOptions) -> None:
        self.checks = {
            "healthz": tuple(checks.healthz) or (PING,),
            "livez": tuple(checks.livez) or (PING,),
            "readyz": tuple(checks.readyz) or (PING,),
        }
        instruments = Instruments(options)
        self._result = instruments.values(RESULT)
        self._results = instruments.values(RESULTS)
        self._registry = CollectorRegistry()
        self._registry.register(instruments)

    def metrics(self) -> bytes:
        """What /metrics/slis answers."""
        return generate_latest(self._registry)

    def all_of(self, endpoint: str, *, verbose: bool, excluded: Collection[str] = ()) -> Health:
        """The answer of a whole endpoint. Why a check failed is for the log: everybody may ask here."""
        lines, failed = [], []
        unknown = set(excluded)
        for check in self.checks[endpoint]:
            if check.name in excluded:
                unknown.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            fault = self._ask(endpoint, check)
            if fault is None:
                lines.append(f"[+]{check.name} ok\n")
            else:
                lines.append(f"[-]{check.name} failed: reason withheld\n")
                failed.append((check.name, fault))
        if unknown:
            names = ", ".join(quote(name) for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if failed:
            _LOG.log(
                logging.INFO - 2, "%s check failed: %s", endpoint, "; ".join(f"{name}: {why}" for name, why in failed)
            )
            return Health(False, f"{''.join(lines)}{endpoint} check failed\n")
        return Health(True, f"{''.join(lines)}{endpoint} check passed\n" if verbose else "ok")

    def one_of(self, endpoint: str, name: str) -> Health | None:
        """The answer of one check, reasons included; None when there is no such check."""
        for check in self.checks[endpoint]:
            if check.name == name:
                fault = check.fault()
                return Health(True, "ok") if fault is None else Health(False, f"internal server error: {fault}\n")
        return None

    def _ask(self, endpoint: str, check: Check) -> str | None:
        fault = check.fault()
        self._result.of(endpoint, check.name).set(float(fault is None))
        self._results.of(endpoint, check.name, "success" if fault is None else "error").add()
        return fault
