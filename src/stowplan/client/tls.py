"""TLS towards an API server: trusted authorities, server name, and our own certificate, reloaded when files rotate."""

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from stowplan.client.errors import ConfigError, CredentialError
from stowplan.clock import Clock

# parity: transport/cert_rotation.go looks at rotating certificate files every five minutes; we look more often
FILE_CHECK_SECONDS = 60.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCertificate:
    """A certificate chain and its key, as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TlsSettings:
    """How to trust the server and how to present ourselves. Inline data wins over files, as in a kubeconfig."""

    ca_data: bytes | None = None
    ca_file: str | None = None
    certificate_data: bytes | None = None
    certificate_file: str | None = None
    key_data: bytes | None = field(default=None, repr=False)
    key_file: str | None = None
    server_name: str | None = None
    insecure: bool = False


@final
class TlsContexts:
    """Keeps the `ssl.SSLContext` for one server current while certificate files and plugin certificates rotate."""

    def __init__(self, settings: TlsSettings, *, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._context: ssl.SSLContext | None = None
        self._certificate: ClientCertificate | None = None
        self._stamp: tuple[tuple[int, int], ...] = ()
        self._checked = 0.0

    def current(self, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
        """The context to connect with; a new object whenever what is presented or trusted has changed."""
        now = self._clock.monotonic()
        if self._context is not None and certificate is self._certificate:
            if now - self._checked < FILE_CHECK_SECONDS:
                return self._context
            if self._file_stamp() == self._stamp:
                self._checked = now
                return self._context
        self._stamp = self._file_stamp()
        self._context = build_context(self._settings, certificate)
        self._certificate = certificate
        self._checked = now
        return self._context

    def _file_stamp(self) -> tuple[tuple[int, int], ...]:
        settings = self._settings
        stamps = []
        for path in (settings.ca_file, settings.certificate_file, settings.key_file):
            if path:
                try:
                    status = Path(path).stat()
                except OSError:
                    continue  # build_context names the missing file when it is needed
                stamps.append((status.st_mtime_ns, status.st_ino))
        return tuple(stamps)


def build_context(settings: TlsSettings, certificate: ClientCertificate | None = None) -> ssl.SSLContext:
    """A client context; `certificate` (of an exec plugin) is used when the settings name none."""
    ca_data = settings.ca_data or (_read(settings.ca_file, "certificate authority") if settings.ca_file else None)
    if settings.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca_data is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(cadata=ca_data.decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise ConfigError(f"the certificate authority {settings.ca_file or 'data'} is not PEM: {error}") from error
    else:
        context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    own = _own_certificate(settings) or certificate
    if own is not None:
        _load_certificate(context, own)
    return context


def _own_certificate(settings: TlsSettings) -> ClientCertificate | None:
    data, key = settings.certificate_data, settings.key_data
    if data is None and settings.certificate_file:
        data = _read(settings.certificate_file, "client certificate")
    if key is None and settings.key_file:
        key = _read(settings.key_file, "client key")
    if data is None and key is None:
        return None
    if data is None or key is None:
        raise ConfigError(
            f"a client certificate needs both parts: the {'key' if key is None else 'certificate'} is missing"
        )
    return ClientCertificate(certificate=data, key=key)


def _load_certificate(context: ssl.SSLContext, certificate: ClientCertificate) -> None:
    # The ssl module reads certificates from files only; the file is ours alone and gone before anybody else runs.
    handle, name = tempfile.mkstemp(prefix="stowplan-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(certificate.certificate.rstrip(b"\n") + b"\n" + certificate.key)
        context.load_cert_chain(name)
    except ssl.SSLError as error:
        raise CredentialError(f"the client certificate and its key are not usable together: {error.reason}") from error
    finally:
        os.unlink(name)


def _read(path: str, what: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the {what} {path}: {error.strerror}") from error
