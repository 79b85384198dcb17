"""Certificates for tests: an authority, and what it signs."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@final
@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


@final
class Authority:
    """Signs certificates."""

    def __init__(self, name: str = "test-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        self.certificate = self._sign(self._name, self._key, authority=True).public_bytes(serialization.Encoding.PEM)

    def issue(self, common: str, *hosts: str) -> Pair:
        """A certificate for a user, or for hosts."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name(common), key, hosts=hosts)
        return Pair(
            certificate.public_bytes(serialization.Encoding.PEM),
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            ),
        )

    def _sign(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        *,
        hosts: tuple[str, ...] = (),
        authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            names: list[x509.GeneralName] = [
                x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
                for host in hosts
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def server_context(authority: Authority, pair: Pair, folder: Path, *, ask_client: bool = False) -> ssl.SSLContext:
    """What a server listens with."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    place = folder / "server.pem"
    place.write_bytes(pair.certificate + pair.key)
    context.load_cert_chain(place)
    if ask_client:
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=authority.certificate.decode())
    return context
