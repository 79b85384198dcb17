"""From kubeconfig files, or the environment inside a cluster, to a Connection.

Upstream: staging/src/k8s.io/client-go/tools/clientcmd and rest/config.go (v1.36.4).
"""

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, final

import msgspec
import yaml

from stowplan.client.connection import Connection
from stowplan.client.credentials import Anonymous, Credentials, TokenFile, basic_auth, bearer_token
from stowplan.client.errors import ConfigError
from stowplan.client.exec_plugin import ExecCredentials, ExecPlugin
from stowplan.client.proxy import checked_proxy, proxy_from_environment
from stowplan.client.tls import TlsSettings
from stowplan.clock import Clock

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_EXEC_EXTENSION = "client.authentication.k8s.io/exec"

V = TypeVar("V")


class _Entry(msgspec.Struct, frozen=True, rename="kebab"):
    """Base of what a kubeconfig holds; unknown fields are skipped, as kubectl does."""


class _Extension(_Entry, frozen=True):
    name: str
    extension: Any = None


class _Cluster(_Entry, frozen=True):
    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: bool = False
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[_Extension] | None = None


class _Variable(_Entry, frozen=True):
    name: str
    value: str


class _Exec(msgspec.Struct, frozen=True, rename="camel"):
    command: str
    api_version: str = ""
    args: list[str] | None = None
    env: list[_Variable] | None = None
    install_hint: str = ""
    interactive_mode: str = ""
    provide_cluster_info: bool = False


class _User(_Entry, frozen=True):
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    username: str = ""
    password: str = ""
    exec: _Exec | None = None
    auth_provider: dict[str, Any] | None = None
    as_: str = msgspec.field(default="", name="as")


class _Context(_Entry, frozen=True):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Entry, frozen=True):
    name: str
    cluster: _Cluster = _Cluster()


class _NamedUser(_Entry, frozen=True):
    name: str
    user: _User = _User()


class _NamedContext(_Entry, frozen=True):
    name: str
    context: _Context = _Context()


class _File(_Entry, frozen=True):
    current_context: str | None = ""
    clusters: list[_NamedCluster] | None = None
    users: list[_NamedUser] | None = None
    contexts: list[_NamedContext] | None = None


@final
class Kubeconfig:
    """One kubeconfig, or several merged: whoever names a thing first wins, as kubectl merges them."""

    def __init__(self) -> None:
        self.current_context = ""
        self._clusters: dict[str, tuple[_Cluster, Path]] = {}
        self._users: dict[str, tuple[_User, Path]] = {}
        self._contexts: dict[str, _Context] = {}

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of the contexts."""
        return tuple(self._contexts)

    @classmethod
    def load(cls, paths: Sequence[str | Path]) -> "Kubeconfig":
        """Read the files. Of several, those that do not exist are skipped; a single one has to exist."""
        config = cls()
        for path in paths:
            file = Path(path).expanduser()
            try:
                text = file.read_bytes()
            except FileNotFoundError:
                if len(paths) == 1:
                    raise ConfigError(f"there is no kubeconfig {file}") from None
                continue
            except OSError as error:
                raise ConfigError(f"cannot read the kubeconfig {file}: {error.strerror}") from error
            config._merge(text, file)
        return config

    def _merge(self, text: bytes, file: Path) -> None:
        try:
            parsed = yaml.load(text, yaml.CSafeLoader)
            content = msgspec.convert({} if parsed is None else parsed, _File)
        except yaml.YAMLError as error:
            # The message of a YAML error quotes the line, which may hold a secret.
            mark = getattr(error, "problem_mark", None)
            where = f" at line {mark.line + 1}" if mark is not None else ""
            raise ConfigError(f"the kubeconfig {file} is not YAML{where}") from None
        except msgspec.ValidationError as error:
            raise ConfigError(f"the kubeconfig {file} is not valid: {error}") from None
        folder = file.resolve().parent
        self.current_context = self.current_context or content.current_context or ""
        for cluster in content.clusters or ():
            self._clusters.setdefault(cluster.name, (cluster.cluster, folder))
        for user in content.users or ():
            self._users.setdefault(user.name, (user.user, folder))
        for context in content.contexts or ():
            self._contexts.setdefault(context.name, context.context)

    def connection(
        self, *, context: str = "", server: str = "", environment: Mapping[str, str], clock: Clock
    ) -> Connection:
        """The connection of a context, the current one unless named; `server` overrides its address."""
        name = context or self.current_context
        if not name:
            raise ConfigError("the kubeconfig names no current context and none was asked for")
        chosen = _named(self._contexts, name, "context")
        cluster, cluster_folder = _named(self._clusters, chosen.cluster, f"cluster of the context {name!r}:")
        user, user_folder = _User(), cluster_folder
        if chosen.user:
            user, user_folder = _named(self._users, chosen.user, f"user of the context {name!r}:")
        address = server or cluster.server
        if not address:
            raise ConfigError(f"the cluster {chosen.cluster!r} has no server")
        address = address if "://" in address else f"http://{address}"
        proxy = cluster.proxy_url and checked_proxy(cluster.proxy_url, place=f"the cluster {chosen.cluster!r}")
        tls = _tls_settings(cluster, cluster_folder, user, user_folder, place=f"the context {name!r}")
        return Connection(
            server=address,
            tls=tls,
            credentials=_credentials(
                user, user_folder, cluster, tls, place=chosen.user, environment=environment, clock=clock
            ),
            proxy=proxy or proxy_from_environment(address, environment),
            namespace=chosen.namespace or "default",
            context=name,
        )


def in_cluster(*, environment: Mapping[str, str], clock: Clock, folder: str = SERVICE_ACCOUNT) -> Connection:
    """The connection that a pod has through its service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise ConfigError(
            "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; name a kubeconfig"
        )
    place = Path(folder)
    if not (place / "token").is_file():
        raise ConfigError(f"the service account has no token {place / 'token'}")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    authority = place / "ca.crt"
    namespace = place / "namespace"
    return Connection(
        server=server,
        # parity: without the file the system's authorities are trusted (rest/config.go InClusterConfig)
        tls=TlsSettings(ca_file=str(authority) if authority.is_file() else None),
        credentials=TokenFile(str(place / "token"), clock=clock),
        proxy=proxy_from_environment(server, environment),
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
        context="in-cluster",
    )


def connect_daemon(
    *, kubeconfig: str = "", master: str = "", environment: Mapping[str, str], clock: Clock
) -> Connection:
    """As kube-scheduler connects: the file of `--kubeconfig`, or in-cluster. The KUBECONFIG variable is not read."""
    if kubeconfig:
        return Kubeconfig.load([kubeconfig]).connection(server=master, environment=environment, clock=clock)
    if master:
        return Connection(server=master, proxy=proxy_from_environment(master, environment), context="master")
    return in_cluster(environment=environment, clock=clock)


def connect_command(
    *, kubeconfig: str = "", context: str = "", environment: Mapping[str, str], clock: Clock
) -> Connection:
    """As kubectl connects: `--kubeconfig`, else KUBECONFIG (files merge), else ~/.kube/config, else in-cluster."""
    if kubeconfig:
        return Kubeconfig.load([kubeconfig]).connection(context=context, environment=environment, clock=clock)
    listed = [path for path in environment.get("KUBECONFIG", "").split(os.pathsep) if path]
    home = Path(environment.get("HOME") or Path.home()) / ".kube" / "config"
    if listed or home.is_file():
        return Kubeconfig.load(listed or [home]).connection(context=context, environment=environment, clock=clock)
    if context:
        raise ConfigError(f"there is no kubeconfig that could hold the context {context!r}")
    return in_cluster(environment=environment, clock=clock)


def _named(things: Mapping[str, V], name: str, what: str) -> V:
    try:
        return things[name]
    except KeyError:
        known = ", ".join(sorted(things)) or "none"
        raise ConfigError(f"{what} {name!r} is not in the kubeconfig, which knows: {known}") from None


def _tls_settings(
    cluster: _Cluster, cluster_folder: Path, user: _User, user_folder: Path, *, place: str
) -> TlsSettings:
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
        raise ConfigError(f"{place}: a certificate authority and insecure-skip-tls-verify exclude each other")
    return TlsSettings(
        ca_data=_inline(cluster.certificate_authority_data, "certificate-authority-data", place),
        ca_file=_absolute(cluster.certificate_authority, cluster_folder),
        certificate_data=_inline(user.client_certificate_data, "client-certificate-data", place),
        certificate_file=_absolute(user.client_certificate, user_folder),
        key_data=_inline(user.client_key_data, "client-key-data", place),
        key_file=_absolute(user.client_key, user_folder),
        server_name=cluster.tls_server_name or None,
        insecure=cluster.insecure_skip_tls_verify,
    )


def _credentials(
    user: _User,
    folder: Path,
    cluster: _Cluster,
    tls: TlsSettings,
    *,
    place: str,
    environment: Mapping[str, str],
    clock: Clock,
) -> Credentials:
    if user.as_:
        raise ConfigError(f"the user {place!r}: impersonation (as) is not supported")
    if user.auth_provider:
        raise ConfigError(f"the user {place!r}: auth-provider is not supported, use an exec plugin")
    # parity: the file wins over the token, which is what the file held once (getUserIdentificationPartialConfig)
    if user.token_file:
        return TokenFile(str(_absolute(user.token_file, folder)), clock=clock)
    if user.token:
        return bearer_token(user.token)
    if user.username or user.password:
        return basic_auth(user.username, user.password)
    has_certificate = user.client_certificate or user.client_certificate_data
    # parity: a plugin is not asked when something else says who we are (exec.go UpdateTransportConfig)
    if user.exec is None or has_certificate:
        return Anonymous()
    command = user.exec.command
    plugin = ExecPlugin(
        api_version=user.exec.api_version,
        # parity: a command with a separator is relative to the kubeconfig, a bare one is looked for on PATH
        command=str(_absolute(command, folder)) if os.sep in command else command,
        arguments=tuple(user.exec.args or ()),
        environment={variable.name: variable.value for variable in user.exec.env or ()},
        install_hint=user.exec.install_hint,
        interactive_mode=user.exec.interactive_mode,
        cluster=_cluster_info(cluster, tls) if user.exec.provide_cluster_info else None,
    )
    return ExecCredentials(plugin, environment=environment, clock=clock)


def _cluster_info(cluster: _Cluster, tls: TlsSettings) -> dict[str, Any]:
    authority = tls.ca_data or (Path(tls.ca_file).read_bytes() if tls.ca_file else b"")
    info: dict[str, Any] = {
        "server": cluster.server,
        "tls-server-name": cluster.tls_server_name,
        "insecure-skip-tls-verify": cluster.insecure_skip_tls_verify,
        "certificate-authority-data": base64.b64encode(authority).decode(),
        "proxy-url": cluster.proxy_url,
        "disable-compression": cluster.disable_compression,
    }
    info = {key: value for key, value in info.items() if value}
    # parity: the plugin gets this one extension, null when there is none (clientauthentication Cluster.Config)
    found = [entry.extension for entry in cluster.extensions or () if entry.name == _EXEC_EXTENSION]
    return info | {"config": found[0] if found else None}


def _inline(data: str, what: str, place: str) -> bytes | None:
    if not data:
        return None
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except binascii.Error:
        raise ConfigError(f"{place}: {what} is not base64") from None


def _absolute(path: str, folder: Path) -> str | None:
    return str(folder / Path(path)) if path else None
