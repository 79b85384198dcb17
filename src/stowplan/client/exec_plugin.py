"""Credentials that a program hands out (`client.authentication.k8s.io`), asked again when they expire or are refused.

Upstream: staging/src/k8s.io/client-go/plugin/pkg/client/auth/exec/exec.go (v1.36.4).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, final

import msgspec

from stowplan.client.credentials import bearer_header
from stowplan.client.errors import ConfigError, CredentialError
from stowplan.client.tls import ClientCertificate
from stowplan.clock import Clock

_LOG = logging.getLogger(__name__)

_GROUP = "client.authentication.k8s.io"
SUPPORTED_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
EXEC_INFO = "KUBERNETES_EXEC_INFO"
PLUGIN_TIMEOUT = 60.0
_QUOTED_STDERR = 500


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExecPlugin:
    """How to run the program. `cluster` is what it is told about the server, when it asked to be."""

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    install_hint: str = ""
    interactive_mode: str = ""
    cluster: Mapping[str, Any] | None = field(default=None, repr=False)

    def check(self) -> None:
        """ConfigError when the program is described in a way that we cannot follow."""
        if self.api_version not in SUPPORTED_VERSIONS:
            known = " and ".join(SUPPORTED_VERSIONS)
            raise ConfigError(
                f"exec plugin {self.command}: apiVersion {self.api_version!r} is not supported, {known} are"
            )
        if self.interactive_mode == "Always":
            raise ConfigError(f"exec plugin {self.command}: it needs a terminal (interactiveMode: Always)")
        allowed = {"Never", "IfAvailable"} if self.api_version.endswith("/v1") else {"Never", "IfAvailable", ""}
        if self.interactive_mode not in allowed:
            given = repr(self.interactive_mode) if self.interactive_mode else "is missing and"
            raise ConfigError(
                f"exec plugin {self.command}: interactiveMode {given} should be Never, IfAvailable or Always"
            )


class _ExecStatus(msgspec.Struct, frozen=True, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str = ""
    status: _ExecStatus | None = None


_CREDENTIAL = msgspec.json.Decoder(_ExecCredential)


@final
class ExecCredentials:
    """Asks the plugin when there is nothing to show or it has expired; one question at a time."""

    def __init__(self, plugin: ExecPlugin, *, environment: Mapping[str, str], clock: Clock) -> None:
        plugin.check()
        self._plugin = plugin
        self._environment = environment
        self._clock = clock
        self._lock = asyncio.Lock()
        self._header: str | None = None
        self._certificate: ClientCertificate | None = None
        self._known = False
        self._expires: float | None = None
        self.calls = 0

    async def authorization(self) -> str | None:
        """The bearer header; None when the plugin gives a certificate only."""
        if not self._usable():
            async with self._lock:
                if not self._usable():
                    await self._ask()
        return self._header

    def certificate(self) -> ClientCertificate | None:
        """The certificate that the plugin gave."""
        return self._certificate

    async def refused(self, authorization: str | None) -> bool:
        """Ask the plugin again unless somebody just did; True when it gave something else than was refused."""
        certificate = self._certificate
        async with self._lock:
            if self._header == authorization and self._certificate is certificate:
                try:
                    await self._ask()
                except CredentialError as error:
                    _LOG.error("refreshing credentials: %s", error)
                    return False
        return self._header != authorization or self._certificate is not certificate

    def _usable(self) -> bool:
        return self._known and (self._expires is None or self._clock.now() <= self._expires)

    async def _ask(self) -> None:
        credential = self._read(await self._run())
        status = credential.status
        if status is None:
            raise self._complaint("it did not return a status")
        has_certificate, has_key = bool(status.client_certificate_data), bool(status.client_key_data)
        if not (status.token or has_certificate or has_key):
            raise self._complaint("it returned neither a token nor a certificate with its key")
        if has_certificate != has_key:
            raise self._complaint("it returned only the certificate or only the key, not both")
        place = f"exec plugin {self._plugin.command}: the token"
        self._header = bearer_header(status.token, place=place) if status.token else None
        certificate = None
        if has_certificate:
            certificate = ClientCertificate(
                certificate=status.client_certificate_data.encode(), key=status.client_key_data.encode()
            )
        if certificate != self._certificate:  # the same object stands for the same connections
            self._certificate = certificate
        self._expires = status.expiration_timestamp.timestamp() if status.expiration_timestamp else None
        self._known = True

    def _read(self, output: bytes) -> _ExecCredential:
        try:
            credential = _CREDENTIAL.decode(output)
        except msgspec.DecodeError as error:
            raise self._complaint(f"its output is not an ExecCredential: {error}") from None
        if credential.api_version != self._plugin.api_version:
            raise self._complaint(
                f"it is configured for {self._plugin.api_version} and answered as {credential.api_version}"
            )
        return credential

    async def _run(self) -> bytes:
        plugin = self._plugin
        self.calls += 1
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env={**self._environment, **plugin.environment, EXEC_INFO: self._question()},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            hint = f". {plugin.install_hint}" if plugin.install_hint else ""
            raise self._complaint(f"it cannot be run: {error.strerror}{hint}") from error
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT):
                output, complaint = await process.communicate()
        except TimeoutError as error:
            raise self._complaint(f"it gave no answer within {PLUGIN_TIMEOUT:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            said = complaint[-_QUOTED_STDERR:].decode(errors="replace").strip()
            raise self._complaint(f"it ended with status {process.returncode}" + (f": {said}" if said else ""))
        return output

    def _question(self) -> str:
        spec: dict[str, Any] = {"interactive": False}
        if self._plugin.cluster is not None:
            spec["cluster"] = self._plugin.cluster
        question = {"kind": "ExecCredential", "apiVersion": self._plugin.api_version, "spec": spec}
        return msgspec.json.encode(question).decode()

    def _complaint(self, text: str) -> CredentialError:
        return CredentialError(f"exec plugin {self._plugin.command}: {text}")
