"""Who we are towards the server: nobody, a token, a rotating token file, or a user name with a password.

Upstream: staging/src/k8s.io/client-go/transport/token_source.go (v1.36.4).
"""

import base64
import logging
from pathlib import Path
from typing import Protocol, final

from stowplan.client.errors import CredentialError
from stowplan.client.tls import ClientCertificate
from stowplan.clock import Clock

_LOG = logging.getLogger(__name__)

# parity: token_source.go, period of one minute less ten seconds of leeway
TOKEN_FILE_SECONDS = 50.0


class Credentials(Protocol):
    """Gives what a request needs to be recognised. Implementations never show secrets in `repr` or logs."""

    async def authorization(self) -> str | None:
        """The value of the Authorization header, refreshed when it has expired."""

    def certificate(self) -> ClientCertificate | None:
        """A client certificate to present, valid as of the last `authorization`."""

    async def refused(self, authorization: str | None) -> bool:
        """The server answered 401 to this header. True when there is something new to try."""


@final
class Anonymous:
    """No header; whoever the client certificate says, if there is one."""

    async def authorization(self) -> str | None:
        """None."""
        return None

    def certificate(self) -> ClientCertificate | None:
        """None."""
        return None

    async def refused(self, authorization: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """False: there is nothing else to try."""
        return False


@final
class FixedAuthorization:
    """A header that never changes."""

    def __init__(self, header: str) -> None:
        self._header = header

    async def authorization(self) -> str | None:
        """The header."""
        return self._header

    def certificate(self) -> ClientCertificate | None:
        """None."""
        return None

    async def refused(self, authorization: str | None) -> bool:  # noqa: ARG002 - the protocol's signature
        """False: there is nothing else to try."""
        return False


def bearer_token(token: str) -> FixedAuthorization:
    """A bearer token that never changes."""
    return FixedAuthorization(bearer_header(token, place="the token"))


def bearer_header(token: str, *, place: str) -> str:
    """The header of a token; CredentialError when the token could not stand in one."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise CredentialError(f"{place} is empty or holds characters that a token cannot have")
    return f"Bearer {token}"


def basic_auth(username: str, password: str) -> FixedAuthorization:
    """A user name and a password."""
    return FixedAuthorization("Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())


@final
class TokenFile:
    """A bearer token in a file that somebody rotates, such as a projected service account token."""

    def __init__(self, path: str, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._header: str | None = None
        self._read_at = 0.0

    async def authorization(self) -> str | None:
        """The header of the token read at most fifty seconds ago; the old one stands while the file is unreadable."""
        now = self._clock.monotonic()
        if self._header is not None and now - self._read_at < TOKEN_FILE_SECONDS:
            return self._header
        try:
            self._header = self._read()
            self._read_at = now
        except CredentialError as error:
            if self._header is None:
                raise
            _LOG.error("Unable to rotate token: %s", error)
        return self._header

    def certificate(self) -> ClientCertificate | None:
        """None."""
        return None

    async def refused(self, authorization: str | None) -> bool:
        """Read the file again; True when it holds another token by now."""
        self._read_at = -TOKEN_FILE_SECONDS
        return await self.authorization() != authorization

    def _read(self) -> str:
        try:
            token = Path(self._path).read_bytes()
        except OSError as error:
            raise CredentialError(f"cannot read the token file {self._path}: {error.strerror}") from error
        return bearer_header(token.decode("latin-1").strip(), place=f"the token in the file {self._path}")
