"""Kubeconfigs and service accounts become connections, as kubectl and kube-scheduler read them."""

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from stowplan.client.connection import Connection
from stowplan.client.credentials import Anonymous
from stowplan.client.errors import ConfigError
from stowplan.client.exec_plugin import ExecCredentials
from stowplan.client.kubeconfig import Kubeconfig, connect_command, connect_daemon, in_cluster
from stowplan.clock import FakeClock

B64 = base64.b64encode(b"pem").decode()


def config(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A small kubeconfig with one context."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://api:6443"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    } | changes


def connect(folder: Path, content: Any, **options: Any) -> Connection:
    """The connection of a kubeconfig."""
    file = folder / "config"
    file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return Kubeconfig.load([file]).connection(environment=options.pop("environment", {}), clock=FakeClock(), **options)


def header(connection: Connection) -> str | None:
    """What it says it is."""
    return asyncio.run(connection.credentials.authorization())


def test_a_plain_context(tmp_path: Path) -> None:
    content = config(
        {"token": "t"}, contexts=[{"name": "main", "context": {"cluster": "c", "user": "u", "namespace": "n"}}]
    )
    connection = connect(tmp_path, content)

    assert (connection.server, connection.namespace, connection.context) == ("https://api:6443", "n", "main")
    assert header(connection) == "Bearer t"
    assert "Bearer" not in repr(connection)


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param({}, None, id="nobody"),
        pytest.param({"token": "t"}, "Bearer t", id="a token"),
        pytest.param({"tokenFile": "token"}, "Bearer from-file", id="a token file beside the kubeconfig"),
        pytest.param({"token": "t", "tokenFile": "token"}, "Bearer from-file", id="the file wins over the token"),
        pytest.param({"username": "me", "password": "pw"}, "Basic bWU6cHc=", id="a user name and a password"),
    ],
)
def test_who_we_are(user: dict[str, Any], want: str | None, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")

    assert want == header(connect(tmp_path, config(user)))


def test_certificates_inline_and_by_file(tmp_path: Path) -> None:
    inline = connect(
        tmp_path,
        config(
            {"client-certificate-data": B64, "client-key-data": B64},
            {"certificate-authority-data": B64, "tls-server-name": "api.internal"},
        ),
    ).tls
    files = connect(
        tmp_path,
        config({"client-certificate": "c.crt", "client-key": "/abs/c.key"}, {"certificate-authority": "ca/ca.crt"}),
    ).tls

    assert (inline.ca_data, inline.certificate_data, inline.key_data) == (b"pem", b"pem", b"pem")
    assert inline.server_name == "api.internal"
    assert files.ca_file == str(tmp_path / "ca/ca.crt")
    assert files.certificate_file == str(tmp_path / "c.crt")
    assert files.key_file == "/abs/c.key"


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "bin/aws", "interactiveMode": "Never"}


def test_exec_plugins(tmp_path: Path) -> None:
    user = {"exec": EXEC | {"args": ["-x"], "env": [{"name": "A", "value": "1"}], "provideClusterInfo": True}}
    extension = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]
    connection = connect(tmp_path, config(user, {"extensions": extension, "certificate-authority-data": B64}))

    assert isinstance(connection.credentials, ExecCredentials)
    plugin = connection.credentials._plugin
    assert plugin.command == str(tmp_path / "bin/aws")
    assert (plugin.arguments, plugin.environment) == (("-x",), {"A": "1"})
    assert plugin.cluster == {
        "server": "https://api:6443",
        "certificate-authority-data": B64,
        "config": {"audience": "x"},
    }


def test_a_plugin_is_left_alone_when_something_else_says_who_we_are(tmp_path: Path) -> None:
    user = {"exec": EXEC, "client-certificate-data": B64, "client-key-data": B64}

    assert isinstance(connect(tmp_path, config(user)).credentials, Anonymous)


@pytest.mark.parametrize(
    ("content", "want"),
    [
        pytest.param("a: [", r"not YAML at line \d", id="no YAML"),
        pytest.param("[]\n", "not valid", id="a list"),
        pytest.param(config({"token": 7}), r"not valid: Expected `str`.*token", id="a token that is a number"),
        pytest.param(config({"as": "me"}), "impersonation", id="impersonation"),
        pytest.param(config({"auth-provider": {"name": "gcp"}}), "auth-provider is not supported", id="auth-provider"),
        pytest.param(config({"client-key-data": "%%%"}), "client-key-data is not base64", id="data that is no base64"),
        pytest.param(config({"exec": EXEC | {"apiVersion": "x/v9"}}), "x/v9", id="a plugin of another version"),
        pytest.param(config({}, {"server": ""}), "has no server", id="no server"),
        pytest.param(config({}, {"proxy-url": "socks5://p"}), "'socks5' is not supported", id="another kind of proxy"),
        pytest.param(
            config({}, {"insecure-skip-tls-verify": True, "certificate-authority": "ca"}),
            "exclude",
            id="trust and no trust",
        ),
        pytest.param(config() | {"current-context": ""}, "no current context", id="no current context"),
        pytest.param(config() | {"current-context": "x"}, "context 'x'.*knows: main", id="an unknown context"),
        pytest.param(config(clusters=[]), "'c' is not in the kubeconfig, which knows: none", id="an unknown cluster"),
        pytest.param(config(users=None), "'u' is not in the kubeconfig", id="an unknown user"),
    ],
)
def test_what_is_refused(content: Any, want: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=want):
        connect(tmp_path, content)


def test_secrets_in_broken_files_are_not_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        connect(tmp_path, "users:\n- name: u\n  user: {token: s3cret]\n")
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_proxies(tmp_path: Path) -> None:
    environment = {"HTTPS_PROXY": "http://env:1"}

    assert connect(tmp_path, config({}, {"proxy-url": "http://p:1"}), environment=environment).proxy == "http://p:1"
    assert connect(tmp_path, config(), environment=environment).proxy == "http://env:1"
    assert connect(tmp_path, config()).proxy is None


def test_several_files_merge_and_the_first_wins(tmp_path: Path) -> None:
    (tmp_path / "one").write_text(yaml.safe_dump(config({"token": "one"}, contexts=None)))
    other = config({"token": "two"}, clusters=None, contexts=[
        {"name": "main", "context": {"cluster": "c", "user": "u"}},
        {"name": "second", "context": {"cluster": "c"}},
    ])  # fmt: skip
    (tmp_path / "two").write_text(yaml.safe_dump(other | {"current-context": "second"}))
    variable = f"{tmp_path}/one:{tmp_path}/none:{tmp_path}/two"
    merged = connect_command(environment={"KUBECONFIG": variable}, clock=FakeClock())
    named = connect_command(environment={"KUBECONFIG": variable}, context="second", clock=FakeClock())

    assert header(merged) == "Bearer one"
    assert header(named) is None


def test_a_command_looks_at_the_flag_then_the_variable_then_home_then_the_cluster(tmp_path: Path) -> None:
    home = tmp_path / ".kube"
    home.mkdir()
    for place in (home / "config", tmp_path / "flag", tmp_path / "variable"):
        place.write_text(yaml.safe_dump(config({"token": place.name})))
    environment = {"HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "variable")}
    clock = FakeClock()

    assert (
        header(connect_command(kubeconfig=str(tmp_path / "flag"), environment=environment, clock=clock))
        == "Bearer flag"
    )
    assert header(connect_command(environment=environment, clock=clock)) == "Bearer variable"
    assert header(connect_command(environment={"HOME": str(tmp_path)}, clock=clock)) == "Bearer config"
    with pytest.raises(ConfigError, match="not inside a cluster"):
        connect_command(environment={"HOME": str(tmp_path / "empty")}, clock=clock)
    with pytest.raises(ConfigError, match="context 'x'"):
        connect_command(environment={"HOME": str(tmp_path / "empty")}, context="x", clock=clock)
    with pytest.raises(ConfigError, match="no kubeconfig"):
        connect_command(kubeconfig=str(tmp_path / "none"), environment={}, clock=clock)


def test_the_daemon_does_not_read_the_variable(tmp_path: Path) -> None:
    file = tmp_path / "flag"
    file.write_text(yaml.safe_dump(config({"token": "t"})))
    environment = {"KUBECONFIG": str(file)}
    clock = FakeClock()

    with pytest.raises(ConfigError, match="not inside a cluster"):
        connect_daemon(environment=environment, clock=clock)
    assert header(connect_daemon(kubeconfig=str(file), environment={}, clock=clock)) == "Bearer t"
    overridden = connect_daemon(kubeconfig=str(file), master="https://other", environment={}, clock=clock)
    assert overridden.server == "https://other"
    assert connect_daemon(master="http://bare:8080", environment={}, clock=clock).server == "http://bare:8080"


@pytest.mark.parametrize(
    ("host", "want"),
    [
        pytest.param("10.0.0.1", "https://10.0.0.1:443", id="IPv4"),
        pytest.param("fd00::1", "https://[fd00::1]:443", id="IPv6"),
    ],
)
def test_in_cluster(host: str, want: str, tmp_path: Path) -> None:
    for name, text in (("token", "t\n"), ("ca.crt", "pem"), ("namespace", "kube-system\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": "443"}
    connection = in_cluster(environment=environment, clock=FakeClock(), folder=str(tmp_path))

    assert want == connection.server
    assert connection.tls.ca_file == str(tmp_path / "ca.crt")
    assert connection.namespace == "kube-system"
    assert header(connection) == "Bearer t"


def test_in_cluster_without_a_token(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}
    with pytest.raises(ConfigError, match="no token"):
        in_cluster(environment=environment, clock=FakeClock(), folder=str(tmp_path))
