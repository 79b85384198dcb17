"""Who may sign client certificates: files, or what the cluster publishes in kube-system.

Upstream: staging/src/k8s.io/apiserver/pkg/server/options/authentication.go, authentication_dynamic_request_header.go,
pkg/server/dynamiccertificates (v1.36.4).
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from stowplan.client.errors import ClientError
from stowplan.client.paths import CONFIG_MAPS
from stowplan.client.transport import ApiClient
from stowplan.daemon.options import AuthenticationOptions
from stowplan.daemon.serving_tls import ServingError

_LOG = logging.getLogger(__name__)

NAMESPACE: Final = "kube-system"
CONFIG_MAP: Final = "extension-apiserver-authentication"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Authorities:
    """A bundle of certificates that are trusted to sign."""

    pem: bytes = b""
    certificates: tuple[x509.Certificate, ...] = ()

    def signed(self, certificate: x509.Certificate) -> bool:
        """Whether one of them signed this certificate."""
        return any(_signed_by(certificate, authority) for authority in self.certificates)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FrontProxy:
    """Who may speak for others, and in which headers."""

    authorities: Authorities = Authorities()
    allowed_names: frozenset[str] = frozenset()
    username_headers: tuple[str, ...] = ()
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """All that client certificates are judged by."""

    clients: Authorities = Authorities()
    proxy: FrontProxy = FrontProxy()

    @property
    def pem(self) -> bytes:
        """Every authority, for the handshake."""
        return b"\n".join(filter(None, (self.clients.pem, self.proxy.authorities.pem)))


@final
class TrustSource:
    """Where the trust comes from. What a file says is fixed; what the cluster says is looked up again and again."""

    def __init__(self, options: AuthenticationOptions, client: ApiClient | None) -> None:
        self._options = options
        self._client = None if options.skip_lookup else client
        self._given = Trust(
            clients=_from_file(options.client_ca_file, "--client-ca-file"),
            proxy=FrontProxy(
                authorities=_from_file(options.requestheader_client_ca_file, "--requestheader-client-ca-file"),
                allowed_names=frozenset(options.requestheader_allowed_names),
                username_headers=options.requestheader_username_headers,
                uid_headers=options.requestheader_uid_headers,
                group_headers=options.requestheader_group_headers,
                extra_prefixes=options.requestheader_extra_prefixes,
            ),
        )

    @property
    def looks_up(self) -> bool:
        """Whether the cluster is asked at all."""
        files = self._options.client_ca_file and self._options.requestheader_client_ca_file
        return self._client is not None and not files

    async def first(self) -> Trust:
        """The trust to start with. Raises ServingError when the look-up fails and may not."""
        try:
            return await self.current(self._given)
        except ClientError as error:
            if not self._options.tolerate_lookup_failure:
                raise ServingError(f"unable to load {NAMESPACE}/{CONFIG_MAP}: {error}") from error
            _LOG.warning("Client certificates of the cluster are not accepted for now: %s", error)
            return self._given

    async def current(self, before: Trust) -> Trust:
        """The trust as of now; parts that the cluster does not publish stay as they were before. Raises ClientError."""
        if not self.looks_up or self._client is None:
            return self._given
        answer = await self._client.get_json(CONFIG_MAPS.item(CONFIG_MAP, NAMESPACE))
        data = answer.get("data") if isinstance(answer, dict) else None
        data = data if isinstance(data, dict) else {}
        trust = before
        if not self._options.client_ca_file and (pem := _text(data, "client-ca-file")):
            trust = replace(trust, clients=_published(pem, "client-ca-file", before.clients))
        if not self._options.requestheader_client_ca_file and (pem := _text(data, "requestheader-client-ca-file")):
            trust = replace(trust, proxy=self._proxy(data, pem, before.proxy))
        return trust

    def _proxy(self, data: Mapping[str, Any], pem: str, before: FrontProxy) -> FrontProxy:
        return FrontProxy(
            authorities=_published(pem, "requestheader-client-ca-file", before.authorities),
            allowed_names=frozenset(_names(data, "requestheader-allowed-names")),
            username_headers=tuple(_names(data, "requestheader-username-headers")),
            uid_headers=tuple(_names(data, "requestheader-uid-headers")),
            group_headers=tuple(_names(data, "requestheader-group-headers")),
            extra_prefixes=tuple(_names(data, "requestheader-extra-headers-prefix")),
        )


def _from_file(path: str, flag: str) -> Authorities:
    if not path:
        return Authorities()
    try:
        return _parsed(Path(path).read_bytes())
    except (OSError, ValueError) as error:
        raise ServingError(f"{flag} {path}: {error}") from error


def _published(pem: str, key: str, before: Authorities) -> Authorities:
    if pem.encode() == before.pem:
        return before
    try:
        return _parsed(pem.encode())
    except ValueError as error:
        _LOG.warning("%s/%s: %s cannot be used: %s", NAMESPACE, CONFIG_MAP, key, error)
        return before


def _parsed(pem: bytes) -> Authorities:
    return Authorities(pem=pem, certificates=tuple(x509.load_pem_x509_certificates(pem)))


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _names(data: Mapping[str, Any], key: str) -> Sequence[str]:
    text = _text(data, key)
    if not text:
        return ()
    try:
        return msgspec.json.decode(text, type=list[str])
    except msgspec.DecodeError as error:
        _LOG.warning("%s/%s: %s is not a list of names: %s", NAMESPACE, CONFIG_MAP, key, error)
        return ()
