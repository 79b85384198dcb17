"""Who is asking: a bearer token, or a client certificate of our own authority. Everybody else is nobody."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Any, final

from stowplan.apiserver.errors import ApiError
from stowplan.apiserver.options import User

AUTHENTICATED = "system:authenticated"


@final
class Authenticator:
    """Knows the tokens by their digests."""

    def __init__(self, tokens: Mapping[str, User]) -> None:
        self._users = {_digest(token): known(user) for token, user in tokens.items()}

    def by_token(self, token: str) -> User | None:
        """The holder of a token."""
        digest = _digest(token)
        for kept, user in self._users.items():
            if hmac.compare_digest(kept, digest):
                return user
        return None

    def authenticate(self, authorization: str, peer_certificate: Mapping[str, Any] | None) -> User:
        """The user behind a request; refuses those it does not know."""
        if authorization:
            scheme, _, token = authorization.partition(" ")
            user = self.by_token(token.strip()) if scheme.lower() == "bearer" else None
            if user is not None:
                return user
        elif peer_certificate:
            user = by_certificate(peer_certificate)
            if user is not None:
                return user
        raise ApiError(401, "Unauthorized")


def known(user: User) -> User:
    """The user with the group that everybody who is known belongs to."""
    if AUTHENTICATED in user.groups:
        return user
    return User(user.name, (*user.groups, AUTHENTICATED))


def by_certificate(certificate: Mapping[str, Any]) -> User | None:
    """Common name and organisations of a verified client certificate."""
    name, groups = "", []
    for part in certificate.get("subject", ()):
        for key, value in part:
            if key == "commonName":
                name = value
            elif key == "organizationName":
                groups.append(value)
    return known(User(name, tuple(groups))) if name else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
