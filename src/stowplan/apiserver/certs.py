"""The server's own certificate authority, and what it signs."""

import contextlib
import ipaddress
import os
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stowplan.apiserver.options import StartError

LIFETIME = timedelta(days=3650)
SERVICE_NAMES = (
    "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
)  # fmt: skip
SERVICE_ADDRESS = "10.96.0.1"


@dataclass(frozen=True, slots=True)
class Authority:
    """A certificate and the key that signs with it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        """The public half."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)


def load_or_create_authority(folder: Path | None) -> Authority:
    """The authority kept in `folder`; a new one when there is none or nothing is kept."""
    if folder is None:
        return _create_authority()
    certificate_path, key_path = folder / "ca.crt", folder / "ca.key"
    if certificate_path.exists() and key_path.exists():
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return Authority(x509.load_pem_x509_certificate(certificate_path.read_bytes()), key)
    made = _create_authority()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(key_path, key_pem(made.key))
    certificate_path.write_bytes(made.pem)
    return made


def server_context(authority: Authority, host: str) -> ssl.SSLContext:
    """TLS for the listening side; client certificates of this authority are read when offered."""
    key = ec.generate_private_key(ec.SECP256R1())
    addresses = {"127.0.0.1", "::1", SERVICE_ADDRESS}
    names = list(SERVICE_NAMES)
    try:
        addresses.add(str(ipaddress.ip_address(host)))
    except ValueError:
        names.append(host)
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dict.fromkeys(names)]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in sorted(addresses)]
    certificate = (
        _builder("stowplan-apiserver", (), authority.certificate.subject, key.public_key())
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    context.set_alpn_protocols(["http/1.1"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.pem"
        write_private(path, key_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(path)
    return context


def client_certificate(authority: Authority, name: str, groups: tuple[str, ...]) -> tuple[bytes, bytes]:
    """Certificate and key (PEM) that make their holder known as `name` in `groups`."""
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(name, groups, authority.certificate.subject, key.public_key())
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(authority.key, hashes.SHA256())
    )
    return certificate.public_bytes(serialization.Encoding.PEM), key_pem(key)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """The private half."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, whole or not at all. Raises StartError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise StartError(f"{path}: {error.strerror}") from error


def _create_authority() -> Authority:
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("stowplan-ca", ())
    certificate = (
        _builder("stowplan-ca", (), name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_cert_sign=True,
                crl_sign=True,
                content_commitment=False,
                key_encipherment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return Authority(certificate, key)


def _name(common: str, groups: tuple[str, ...]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    common: str, groups: tuple[str, ...], issuer: x509.Name, public: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(_name(common, groups))
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )
