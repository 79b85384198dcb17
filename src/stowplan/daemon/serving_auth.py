"""Who asks on the secure port: front proxies, client certificates, tokens that the cluster reviews, or nobody.

Upstream: staging/src/k8s.io/apiserver/pkg/authentication (v1.36.4).
"""

import hashlib
import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar, final
from urllib.parse import unquote

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from multidict import CIMultiDictProxy

from stowplan.client.errors import ClientError
from stowplan.client.paths import TOKEN_REVIEWS
from stowplan.client.transport import ApiClient
from stowplan.clock import Clock
from stowplan.daemon.client_cas import FrontProxy, Trust

_LOG = logging.getLogger(__name__)

MOST_KEPT: Final = 4096
AUTHENTICATED: Final = "system:authenticated"
_CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"

V = TypeVar("V")


class Unauthorized(Exception):  # noqa: N818 - the reason in the answer
    """Raised when a request shows a credential that nobody vouches for."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Who somebody is."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


ANONYMOUS: Final = User(name="system:anonymous", groups=("system:unauthenticated",))


@final
class Kept(Generic[V]):
    """Answers that hold for a while; the oldest go when there are too many."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: OrderedDict[Any, tuple[float, V]] = OrderedDict()

    def get(self, key: Any) -> V | None:
        """The answer, while it holds."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry[0] <= self._clock.monotonic():
            del self._entries[key]
            return None
        return entry[1]

    def put(self, key: Any, value: V, seconds: float) -> None:
        """Remember an answer."""
        if seconds <= 0:
            return
        self._entries[key] = (self._clock.monotonic() + seconds, value)
        self._entries.move_to_end(key)
        while len(self._entries) > MOST_KEPT:
            self._entries.popitem(last=False)


@final
@dataclass(frozen=True, slots=True)
class _Review:
    """What the cluster said of a token; nobody's is a refusal."""

    user: User | None


@final
class Authenticator:
    """Finds out who asks. `trust` is replaced when the authorities change."""

    def __init__(self, client: ApiClient | None, trust: Trust, *, token_seconds: float, clock: Clock) -> None:
        self.trust = trust
        self._client = client
        self._token_seconds = token_seconds
        self._reviews: Kept[_Review] = Kept(clock)
        self._salt = secrets.token_bytes(16)

    async def user_of(self, headers: CIMultiDictProxy[str], certificate: bytes | None) -> User:
        """The user behind a request, anonymous when it shows no credential. Raises Unauthorized."""
        presented = None if certificate is None else x509.load_der_x509_certificate(certificate)
        user = None if presented is None else self._by_certificate(presented, headers)
        if user is None:
            user = await self._by_token(headers)
        if user is not None:
            groups = user.groups if AUTHENTICATED in user.groups else (*user.groups, AUTHENTICATED)
            return replace(user, groups=groups)
        if presented is not None:
            raise Unauthorized(f"the client certificate of {presented.subject.rfc4514_string()} is not accepted")
        return ANONYMOUS

    def _by_certificate(self, presented: x509.Certificate, headers: CIMultiDictProxy[str]) -> User | None:
        proxy = self.trust.proxy
        if proxy.authorities.signed(presented) and (user := _through_proxy(proxy, presented, headers)) is not None:
            return user
        if not self.trust.clients.signed(presented):
            return None
        names = presented.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        if not names or not names[0].value:
            return None
        digest = hashlib.sha256(presented.public_bytes(Encoding.DER)).hexdigest()
        return User(
            name=str(names[0].value),
            groups=tuple(
                str(part.value) for part in presented.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
            ),
            extra={_CREDENTIAL: (f"X509SHA256={digest}",)},
        )

    async def _by_token(self, headers: CIMultiDictProxy[str]) -> User | None:
        scheme, _, token = headers.get("Authorization", "").strip().partition(" ")
        token = token.strip()
        if self._client is None or scheme.lower() != "bearer" or not token:
            return None
        key = hashlib.blake2b(token.encode("utf-8", "surrogateescape"), key=self._salt).digest()
        review = self._reviews.get(key)
        if review is None:
            review = await self._review(self._client, token)
            self._reviews.put(key, review, self._token_seconds)
        if review.user is None:
            raise Unauthorized("invalid bearer token")
        return review.user

    async def _review(self, client: ApiClient, token: str) -> _Review:
        wish = {"apiVersion": TOKEN_REVIEWS.api_version, "kind": TOKEN_REVIEWS.kind, "spec": {"token": token}}
        try:
            answer = await client.post(TOKEN_REVIEWS.collection(), wish)
        except ClientError as error:
            _LOG.error("Unable to authenticate a request: %s", error)
            raise Unauthorized("the token could not be reviewed") from error
        return _Review(_reviewed_user(answer))


def _reviewed_user(answer: Any) -> User | None:
    status = answer.get("status") if isinstance(answer, dict) else None
    if not isinstance(status, dict) or status.get("authenticated") is not True:
        return None
    user = status.get("user")
    if not isinstance(user, dict) or not isinstance(user.get("username"), str) or not user["username"]:
        return None
    extra = user.get("extra") or {}
    return User(
        name=user["username"],
        uid=str(user.get("uid") or ""),
        groups=tuple(str(group) for group in user.get("groups") or ()),
        extra={str(key): tuple(str(value) for value in values) for key, values in extra.items()},
    )


def _through_proxy(proxy: FrontProxy, presented: x509.Certificate, headers: CIMultiDictProxy[str]) -> User | None:
    """The user that a trusted proxy speaks for."""
    common = [str(name.value) for name in presented.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if proxy.allowed_names and not proxy.allowed_names.intersection(common):
        raise Unauthorized(f"the proxy {', '.join(common) or 'without a name'} is not one of the allowed ones")
    name = next((value for header in proxy.username_headers if (value := headers.get(header))), "")
    if not name:
        return None
    extra: dict[str, tuple[str, ...]] = {}
    for prefix in proxy.extra_prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                key = unquote(header[len(prefix) :].lower())
                extra[key] = (*extra.get(key, ()), value)
    return User(
        name=name,
        uid=next((value for header in proxy.uid_headers if (value := headers.get(header))), ""),
        groups=tuple(value for header in proxy.group_headers for value in headers.getall(header, ()) if value),
        extra=extra,
    )
