"""The server's side of TLS: the certificate that is given, or one made on the spot, and what clients may present.

Upstream: staging/src/k8s.io/apiserver/pkg/server/options/serving.go, client-go/util/cert (v1.36.4).
"""

import ipaddress
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from stowplan.clock import Clock
from stowplan.daemon.tls_flags import ServingOptions

PAIR_NAME: Final = "kube-scheduler"
VALID_DAYS: Final = 365


class ServingError(Exception):
    """Raised when the secure port cannot be served: certificate, address, look-up of the client CA."""


@final
@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate chain and its key, as PEM."""

    certificate: bytes
    key: bytes


@final
class ServerTls:
    """The context of the server; `refresh` takes in files that have changed, for new connections."""

    def __init__(self, options: ServingOptions, clock: Clock) -> None:
        self._options = options
        self._made = self_signed("localhost", clock)
        self._files = self._given_files()
        self._stamp = self._file_stamp()
        self.context = _new_context(options)
        self._load(self.context)
        self._by_name = self._sni_contexts()
        if self._by_name:
            self.context.sni_callback = self._choose

    def refresh(self) -> bool:
        """Load the certificate again when its files have changed; says whether it did."""
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return False
        self._load(self.context)
        self._by_name = self._sni_contexts()
        self._stamp = stamp
        return True

    def accept_clients(self, authorities: bytes) -> None:
        """Ask clients for certificates, of these authorities too. Those that were accepted before stay so."""
        # the default context takes part in every handshake up to the choice by name, so all have the same authorities
        for context in (self.context, *self._by_name.values()):
            context.verify_mode = ssl.CERT_OPTIONAL
            try:
                context.load_verify_locations(cadata=authorities.decode("ascii"))
            except (ssl.SSLError, UnicodeDecodeError) as error:
                raise ServingError(f"the client CA is not PEM: {error}") from error

    def _given_files(self) -> tuple[str, str] | None:
        options = self._options
        if options.cert_file:
            return options.cert_file, options.key_file
        if not options.cert_dir:
            return None
        folder = Path(options.cert_dir)
        certificate, key = folder / f"{PAIR_NAME}.crt", folder / f"{PAIR_NAME}.key"
        if not (certificate.exists() and key.exists()):
            _store(self._made, certificate, key)
        return str(certificate), str(key)

    def _load(self, context: ssl.SSLContext) -> None:
        if self._files is not None:
            _load_files(context, *self._files)
            return
        with tempfile.TemporaryDirectory() as folder:  # the ssl module reads files only
            certificate, key = Path(folder) / "crt", Path(folder) / "key"
            _store(self._made, certificate, key)
            _load_files(context, str(certificate), str(key))

    def _sni_contexts(self) -> dict[str, ssl.SSLContext]:
        contexts = {}
        for entry in reversed(self._options.sni):  # the first that is given wins
            context = _new_context(self._options)
            _load_files(context, entry.cert_file, entry.key_file)
            for name in entry.names or _names_in(entry.cert_file):
                contexts[name.lower()] = context
        return contexts

    def _choose(self, connection: ssl.SSLObject, name: str | None, _context: ssl.SSLContext) -> None:
        if not name:
            return
        name = name.lower()
        wildcard = f"*.{name.partition('.')[2]}"
        chosen = self._by_name.get(name) or self._by_name.get(wildcard)
        if chosen is not None:
            connection.context = chosen

    def _file_stamp(self) -> tuple[int, ...]:
        files = [*(self._files or ())]
        for entry in self._options.sni:
            files += [entry.cert_file, entry.key_file]
        stamps = []
        for file in files:
            try:
                stamps.append(Path(file).stat().st_mtime_ns)
            except OSError:
                stamps.append(0)
        return tuple(stamps)


def self_signed(host: str, clock: Clock) -> KeyPair:
    """A certificate for this process alone."""
    now = datetime.fromtimestamp(clock.now(), UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{host}@{int(clock.now())}")])
    alternatives = [x509.DNSName(host), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )
    return KeyPair(
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _new_context(options: ServingOptions) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = options.min_version
    context.set_alpn_protocols(["http/1.1"])
    if options.ciphers:
        try:
            context.set_ciphers(":".join(options.ciphers))
        except ssl.SSLError as error:
            raise ServingError(f"--tls-cipher-suites: none of them is there: {error}") from error
    return context


def _load_files(context: ssl.SSLContext, certificate: str, key: str) -> None:
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one
        raise ServingError(f"cannot load the certificate {certificate} with the key {key}: {error}") from error


def _store(pair: KeyPair, certificate: Path, key: Path) -> None:
    try:
        certificate.parent.mkdir(parents=True, exist_ok=True)
        certificate.write_bytes(pair.certificate)
        key.touch(mode=0o600)
        key.write_bytes(pair.key)
    except OSError as error:
        raise ServingError(f"cannot store the certificate {certificate}: {error}") from error


def _names_in(certificate: str) -> list[str]:
    leaf = x509.load_pem_x509_certificate(Path(certificate).read_bytes())
    try:
        alternatives = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [str(name.value) for name in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    return [
        *alternatives.get_values_for_type(x509.DNSName),
        *(str(address) for address in alternatives.get_values_for_type(x509.IPAddress)),
    ]
