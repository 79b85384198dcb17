"""The secure port: where it listens, and with which certificates."""

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from stowplan.clock import SystemClock
from stowplan.daemon.health import Checks
from stowplan.daemon.options import Options
from stowplan.daemon.serving import Serving
from stowplan.daemon.serving_tls import ServingError
from stowplan.daemon.tls_flags import ServingOptions, SniCertificate
from tests.client.certificates import Authority
from tests.daemon.serving import Client, pages, run, serving_options


def test_port_zero_serves_nothing() -> None:
    async def play() -> None:
        serving = Serving(
            Options(serving=ServingOptions(port=0)),
            authentication=None,
            authorization=None,
            checks=Checks(),
            pages=pages(),
            clock=SystemClock(),
        )
        await serving.start()
        assert 0 == serving.port
        await serving.stop()

    asyncio.run(play())


def test_a_taken_port_is_told() -> None:
    async def story(client: Client) -> None:
        raise AssertionError("it started")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = Options(serving=replace(serving_options(), port=port))
        with pytest.raises(ServingError, match=rf"failed to create listener: 127\.0\.0\.1:{port}: Address already"):
            run(story, options=options)


def test_a_given_certificate_and_one_by_name(tmp_path: Path) -> None:
    authority = Authority()
    for name, hosts in (("main", ("127.0.0.1",)), ("other", ("other.example",))):
        pair = authority.issue(name, *hosts)
        (tmp_path / f"{name}.crt").write_bytes(pair.certificate)
        (tmp_path / f"{name}.key").write_bytes(pair.key)
    options = Options(
        serving=serving_options(
            cert_file=str(tmp_path / "main.crt"),
            key_file=str(tmp_path / "main.key"),
            sni=(SniCertificate(cert_file=str(tmp_path / "other.crt"), key_file=str(tmp_path / "other.key")),),
        )
    )

    async def story(client: Client) -> None:
        assert (200, "ok") == await client.ask("/livez", token="")
        async with client.session.get(client.url + "/livez", server_hostname="other.example") as response:
            assert 200 == response.status

    run(story, options=options, trusted=authority.certificate)


def test_the_certificate_is_kept_in_a_folder(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        assert (200, "ok") == await client.ask("/livez", token="")

    folder = tmp_path / "certificates"
    run(story, options=Options(serving=serving_options(cert_dir=str(folder))))
    first = (folder / "kube-scheduler.crt").read_bytes()
    run(story, options=Options(serving=serving_options(cert_dir=str(folder))))

    assert first == (folder / "kube-scheduler.crt").read_bytes()
    assert 0o600 == (folder / "kube-scheduler.key").stat().st_mode & 0o777


def test_a_certificate_that_is_not_there(tmp_path: Path) -> None:
    async def story(client: Client) -> None:
        raise AssertionError("it started")

    options = Options(serving=serving_options(cert_file=str(tmp_path / "a"), key_file=str(tmp_path / "b")))
    with pytest.raises(ServingError, match=r"cannot load the certificate .*/a with the key .*/b"):
        run(story, options=options)


def test_old_tls_is_refused() -> None:
    async def story(client: Client) -> None:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(aiohttp.ClientConnectorError):
            async with client.session.get(client.url + "/livez", ssl=context):
                pass

    run(story, options=Options(serving=serving_options(min_version=ssl.TLSVersion.TLSv1_3)))
