"""Everything needed to reach one API server as somebody."""

from dataclasses import dataclass, field
from typing import final

from stowplan.client.credentials import Anonymous, Credentials
from stowplan.client.tls import TlsSettings


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A server, how to trust it, who we are there, and the namespace that commands default to."""

    server: str
    tls: TlsSettings = field(default_factory=TlsSettings)
    credentials: Credentials = field(default_factory=Anonymous, repr=False)
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    namespace: str = "default"
    context: str = ""
