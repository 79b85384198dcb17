"""What one embedded server is told when it starts."""

from dataclasses import dataclass, field
from pathlib import Path

MASTERS = "system:masters"
"""The group that may do everything."""


@dataclass(frozen=True, slots=True)
class User:
    """Who is asking."""

    name: str
    groups: tuple[str, ...] = ()

    @property
    def is_master(self) -> bool:
        """True when no rule needs to be asked."""
        return MASTERS in self.groups


ADMIN = User("kubernetes-admin", (MASTERS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where the server listens, what it keeps, and whom it knows."""

    host: str = "127.0.0.1"
    port: int = 0
    """0: any free port."""
    data_dir: Path | None = None
    """None: everything is in memory."""
    cert_dir: Path | None = None
    """Where the certificate authority is kept; None: under `data_dir`, or nowhere."""
    kubeconfig: Path | None = None
    """Written with mode 0600 when the server listens."""
    token: str = ""
    """The administrator's bearer token; empty: made at random (and kept under `data_dir`)."""
    users: dict[str, User] = field(default_factory=dict)
    """Further bearer tokens."""
    audit_log: Path | None = None
    """JSON lines: one per finished write."""
    history: int = 20_000
    """Changes per kind that a watch can resume from."""
    watch_buffer: int = 32 * 1024 * 1024
    """Bytes that may wait for one watcher before it is cut off."""
    bookmark_seconds: float = 30.0
    event_seconds: float = 3600.0
    """How long an event is kept after it was last written."""


class StartError(Exception):
    """Raised when the server cannot start: a taken port, a locked or unusable folder."""
