"""An API server for a test: kube-apiserver where KUBEBUILDER_ASSETS names a folder with it, else the embedded one."""

import contextlib
import os
import secrets
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Protocol, final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stowplan.apiserver.options import MASTERS, ServerOptions, User
from stowplan.apiserver.process import ServerProcess, spawn
from tests.client.certificates import Authority
from tests.ports import free_ports

ASSETS = "KUBEBUILDER_ASSETS"
SCHEDULER = "system:kube-scheduler"
START_SECONDS = 60.0


class ApiServer(Protocol):
    """A server process that keeps its state, may be killed, and comes back at the same address."""

    url: str
    authority: bytes
    admin_token: str
    scheduler_token: str

    def start(self) -> None:
        """Start it, again with what it kept, and wait until it answers."""

    def kill(self) -> None:
        """End it without a word."""

    def stop(self) -> None:
        """End all of it."""


def new_server(folder: Path) -> ApiServer:
    """A started server that keeps its state in a folder."""
    assets = os.environ.get(ASSETS)
    server: ApiServer = RealServer(folder, Path(assets)) if assets else Embedded(folder)
    try:
        server.start()
    except BaseException:
        server.stop()
        raise
    return server


@final
class Embedded:
    """The project's own server as a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: ServerProcess | None = None
        (self._port,) = free_ports(1)  # the same again after a restart
        self.url = ""
        self.authority = b""
        self.admin_token = secrets.token_hex(16)
        self.scheduler_token = secrets.token_hex(16)

    def start(self) -> None:
        """Start it, again with what it kept, and wait until it answers."""
        options = ServerOptions(
            port=self._port,
            data_dir=self._folder / "data",
            token=self.admin_token,
            # it keeps no roles for system:kube-scheduler; against kube-apiserver its own rights are all there is
            users={self.scheduler_token: User(SCHEDULER, (MASTERS,))},
        )
        self._process = spawn(options, stderr=subprocess.DEVNULL)
        ready = self._process.ready
        self.url, self.authority, self._port = ready.url, ready.authority.encode(), ready.port

    def kill(self) -> None:
        """End it without a word."""
        assert self._process is not None
        self._process.kill()

    def stop(self) -> None:
        """End all of it."""
        if self._process is not None:
            self._process.stop()


@final
class RealServer:
    """kube-apiserver with an etcd of its own, from a folder with both binaries."""

    def __init__(self, folder: Path, assets: Path) -> None:
        self._folder = folder
        self._assets = assets
        self._etcd: subprocess.Popen[bytes] | None = None
        self._api: subprocess.Popen[bytes] | None = None
        self._etcd_port, self._peer_port, port = free_ports(3)
        self._port = port
        self.url = f"https://127.0.0.1:{port}"
        authority = Authority()
        self.authority = authority.certificate
        self.admin_token = secrets.token_hex(16)
        self.scheduler_token = secrets.token_hex(16)
        serving = authority.issue("kube-apiserver", "127.0.0.1", "localhost")
        self._write("ca.crt", authority.certificate)
        self._write("serving.crt", serving.certificate)
        self._write("serving.key", serving.key)
        self._write("accounts.key", account_key())
        tokens = f'{self.admin_token},admin,admin,"{MASTERS}"\n{self.scheduler_token},{SCHEDULER},{SCHEDULER}\n'
        self._write("tokens.csv", tokens.encode())

    def _write(self, name: str, content: bytes) -> None:
        path = self._folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)

    def start(self) -> None:
        """Start it, again with what it kept, and wait until it answers."""
        if self._etcd is None:
            self._etcd = self._run("etcd", self._etcd_arguments())
            wait_for_port(self._etcd_port, self._etcd)
        folder = self._folder
        self._api = self._run(
            "kube-apiserver",
            [
                f"--etcd-servers=http://127.0.0.1:{self._etcd_port}",
                "--bind-address=127.0.0.1",
                "--advertise-address=127.0.0.1",
                f"--secure-port={self._port}",
                f"--tls-cert-file={folder / 'serving.crt'}",
                f"--tls-private-key-file={folder / 'serving.key'}",
                f"--client-ca-file={folder / 'ca.crt'}",
                f"--token-auth-file={folder / 'tokens.csv'}",
                f"--cert-dir={folder}",
                "--service-account-issuer=https://kubernetes.default.svc",
                f"--service-account-key-file={folder / 'accounts.key'}",
                f"--service-account-signing-key-file={folder / 'accounts.key'}",
                "--service-cluster-ip-range=10.96.0.0/24",
                "--authorization-mode=RBAC",
                # pods need no service accounts, and new nodes no kubelet
                "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
            ],
        )
        self._wait_until_ready()

    def _etcd_arguments(self) -> list[str]:
        data, client, peer = str(self._folder / "etcd"), self._etcd_port, self._peer_port
        return [
            f"--data-dir={data}",
            f"--listen-client-urls=http://127.0.0.1:{client}",
            f"--advertise-client-urls=http://127.0.0.1:{client}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
        ]

    def _run(self, program: str, arguments: list[str]) -> "subprocess.Popen[bytes]":
        with (self._folder / f"{program}.log").open("ab") as log:
            return subprocess.Popen(
                [self._assets / program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
            )

    def _wait_until_ready(self) -> None:
        context = ssl.create_default_context(cadata=self.authority.decode())
        until = time.monotonic() + START_SECONDS
        for path in ("/readyz", "/api/v1/namespaces/default"):
            request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.admin_token}"})
            while True:
                assert self._api is not None
                assert self._api.poll() is None, f"kube-apiserver ended, see {self._folder}/kube-apiserver.log"
                assert time.monotonic() < until, "kube-apiserver does not become ready"
                with (
                    contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError),
                    urllib.request.urlopen(request, context=context, timeout=5),
                ):
                    break
                time.sleep(0.1)

    def kill(self) -> None:
        """End it without a word."""
        assert self._api is not None
        self._api.kill()
        self._api.wait()

    def stop(self) -> None:
        """End all of it."""
        for child in (self._api, self._etcd):
            if child is not None and child.poll() is None:
                child.kill()
                child.wait()


def account_key() -> bytes:
    """A key for service account tokens, in the form of which kube-apiserver also reads the public half."""
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )


def wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    """Wait until a process listens; that it ended says more than that nobody does."""
    until = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, f"{process.args!r} ended with status {process.returncode}"
        assert time.monotonic() < until, f"nobody listens on port {port}"
        time.sleep(0.05)
