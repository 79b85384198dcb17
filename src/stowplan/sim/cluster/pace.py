"""How long things take: defaults, and what a file says instead."""

from dataclasses import dataclass, fields
from typing import Any, final
from zlib import crc32

from stowplan.config.duration import parse_duration

LONGEST = 10 * 365 * 86400.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Times in seconds."""

    starting: float = 0.3
    """From the first word of the kubelet to a running pod."""
    spread: float = 0.5
    """A pod may take longer to start, by up to this fraction; which pod, its uid says."""
    stopping: float = 0.5
    """From the deletion to the end, never longer than the pod's grace period."""
    jobs: float = 5.0
    """How long a pod of a Job runs unless its annotation says so."""
    retrying: float = 10.0
    """Before a Job replaces its first failed pod; twice as long after each further failure."""
    provisioning: float = 0.2
    """From a claim's wish to its volume."""
    quarantine: float = 5.0
    """How long pods outlive their node."""
    renewing: float = 10.0
    """Between two renewals of a node's Lease, on a small cluster."""
    renewals: float = 50.0
    """Renewals per second that all nodes together may cost; many nodes renew less often."""
    reporting: float = 300.0
    """Between two reports of a node that has nothing new to say."""

    def lease_interval(self, nodes: int) -> float:
        """Seconds between two renewals of one Lease."""
        return max(self.renewing, nodes / self.renewals)

    def starting_of(self, uid: str) -> float:
        """How long this pod takes to start."""
        return self.starting * (1 + self.spread * crc32(uid.encode()) / 2**32)


def read_seconds(value: Any) -> float:
    """Seconds of `1m30s` or of a plain number; ValueError when it is neither or out of range."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"{value!r} is not a duration such as 1m30s")
    if isinstance(value, str):
        try:
            seconds = parse_duration(value) / 1e9
        except ValueError:
            raise ValueError(f"{value!r} is not a duration such as 1m30s") from None
    else:
        seconds = float(value)
    if not 0 <= seconds <= LONGEST:
        raise ValueError(f"{value!r} is not a duration between 0 and ten years")
    return seconds


def read_pace(values: dict[str, Any]) -> Pace:
    """The pace that a file asks for; ValueError names the member."""
    known = [field.name for field in fields(Pace)]
    found: dict[str, float] = {}
    for name, value in values.items():
        if name not in known:
            raise ValueError(f"{name}: not known; known are {', '.join(known)}")
        try:
            found[name] = _plain(value) if name in ("spread", "renewals") else read_seconds(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    pace = Pace(**found)
    if pace.renewals <= 0 or pace.renewing <= 0 or pace.reporting <= 0:
        raise ValueError("renewals, renewing and reporting must be more than 0")
    return pace


def _plain(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e6:
        raise ValueError(f"{value!r} is not a number between 0 and 1000000")
    return float(value)
