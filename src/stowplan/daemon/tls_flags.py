"""The flags about the secure port: address, certificates, and what TLS may look like.

Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go and
staging/src/k8s.io/component-base/cli/flag/ciphersuites_flag.go (v1.36.4).
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from stowplan.api.gotext import quote
from stowplan.daemon.flag_parsing import UsageError
from stowplan.daemon.flag_table import FLAGS

VERSIONS: Final[Mapping[str, ssl.TLSVersion]] = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}
TLS13_SUITES: Final = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})
SUITES: Final[Mapping[str, str]] = {
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
}
"""Go's names to OpenSSL's; the rest of Go's (RC4, 3DES) OpenSSL does not have any more."""
CURVES: Final = frozenset({23, 24, 25, 29, 4587, 4588, 4589})
"""The CurveID numbers that Go knows."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SniCertificate:
    """A certificate for some host names; no names: those in the certificate."""

    cert_file: str
    key_file: str
    names: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """The secure port. `ciphers` are OpenSSL's names for TLS up to 1.2, () for the default."""

    bind_address: str = "0.0.0.0"  # noqa: S104 - upstream's default
    port: int = 10259
    cert_dir: str = ""
    cert_file: str = ""
    key_file: str = ""
    sni: tuple[SniCertificate, ...] = ()
    min_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    ciphers: tuple[str, ...] = ()
    share_port: bool = False
    share_address: bool = False


def read_serving_flags(given: Mapping[str, Any]) -> ServingOptions:
    """Judge them. Raises UsageError."""
    port = given.get("secure-port", FLAGS["secure-port"].default)
    if not 0 <= port <= 65535:
        raise UsageError(f"--secure-port {port} must be between 0 and 65535, inclusive. 0 for turning off secure port")
    cert_file, key_file = given.get("tls-cert-file", ""), given.get("tls-private-key-file", "")
    if bool(cert_file) != bool(key_file):
        missing = "tls-private-key-file" if cert_file else "tls-cert-file"
        raise UsageError(f"--tls-cert-file and --tls-private-key-file go together: --{missing} is missing")
    for number in given.get("tls-curve-preferences", ()):
        if number not in CURVES:
            raise UsageError(f"curve preference {number} is not supported")
    version = given.get("tls-min-version", "")
    if version not in VERSIONS:
        raise UsageError(f"unknown tls version {quote(version)}")
    return ServingOptions(
        bind_address=given.get("bind-address") or "0.0.0.0",  # noqa: S104 - upstream's default
        port=port,
        cert_dir=given.get("cert-dir", ""),
        cert_file=cert_file,
        key_file=key_file,
        sni=tuple(_sni(text) for text in given.get("tls-sni-cert-key", ())),
        min_version=VERSIONS[version],
        ciphers=tuple(filter(None, (_cipher(name) for name in given.get("tls-cipher-suites", ())))),
        share_port=given.get("permit-port-sharing", False),
        share_address=given.get("permit-address-sharing", False),
    )


def _cipher(name: str) -> str:
    if name in TLS13_SUITES:  # parity: Go does not let the suites of TLS 1.3 be chosen
        return ""
    if name not in SUITES:
        raise UsageError(f"Cipher suite {name} not supported or doesn't exist")
    return SUITES[name]


def _sni(text: str) -> SniCertificate:
    files, _, names = text.partition(":")
    cert_file, comma, key_file = files.partition(",")
    if not comma or not cert_file or not key_file or "," in key_file:
        raise UsageError(f"--tls-sni-cert-key {text}: expected comma separated certificate and key file paths")
    return SniCertificate(cert_file=cert_file, key_file=key_file, names=tuple(filter(None, names.split(","))))
