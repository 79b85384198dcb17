"""`stowplan scheduler` as a process: what it listens on, whom it asks, which signals it hears, and how it ends."""

import asyncio
import contextlib
import json
import signal
import socket
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

from tests.daemon.api import ApiServer
from tests.daemon.objects import node, pod
from tests.daemon.replica import ended, replica, scheduler_command
from tests.daemon.scene import Hands, administrator, until
from tests.daemon.test_replicas import forget_the_lease, led
from tests.ports import free_ports

Json = dict[str, Any]


def asked(port: int, path: str, token: str = "") -> tuple[int, str]:
    """Status and text of a page of the secure port; 0 when nobody listens."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    request = urllib.request.Request(f"https://127.0.0.1:{port}{path}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, context=context, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return 0, ""


async def answers(port: int, path: str, want: int, token: str = "") -> str:
    """Wait until a page has a status; its text."""
    text = ""

    async def does() -> bool:
        nonlocal text
        status, text = await asyncio.to_thread(asked, port, path, token)
        return status == want

    await until(does, f"{path} answers {want}")
    return text


@contextlib.contextmanager
def extender(keeps: str) -> Iterator[tuple[str, list[str]]]:
    """An extender that keeps one node; its URL and the pods it was asked about."""
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append(told["Pod"]["metadata"]["name"])
            names = [name for name in told["NodeNames"] if name == keeps]
            body = json.dumps({"NodeNames": names, "FailedNodes": {}, "Error": ""}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()


def logged(folder: Path, name: str = "one") -> str:
    """What a replica said so far."""
    return (folder / f"{name}.log").read_text()


def test_the_secure_port_is_that_of_the_running_process(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await forget_the_lease(hands)
            (port,) = free_ports(1)
            with replica(server, server.url, tmp_path, "one", flags=[f"--secure-port={port}"]) as one:
                await led(hands)
                text = await answers(port, "/readyz?verbose", 200)
                assert "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n" == text
                assert (200, "ok") == asked(port, "/livez")
                assert (200, "ok") == asked(port, "/healthz")
                assert 403 == asked(port, "/metrics")[0]
                assert 401 == asked(port, "/metrics", "nonsense")[0]
                await hands.create(node("n"), pod("p"))
                await hands.bound("p")
                metrics = await answers(port, "/metrics", 200, server.admin_token)
                assert 'leader_election_master_status{name="kube-scheduler"} 1.0' in metrics
                shown = json.loads(await answers(port, "/configz", 200, server.admin_token))
                assert "kube-scheduler" == shown["componentconfig"]["leaderElection"]["resourceName"]
                one.send_signal(signal.SIGTERM)
                assert 0 == await ended(one)

    asyncio.run(story())


PRIORITY_CLASS: Json = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "process-high"},
    "value": 1000,
}
COUNTED = (
    *(
        f'scheduler_framework_extension_point_duration_seconds_count{{extension_point="{point}",'
        f'profile="default-scheduler",status="{status}"}}'
        for point, status in (
            ("PreFilter", "Success"),
            ("Filter", "Success"),
            ("PreScore", "Success"),
            ("Score", "Success"),
            ("PostFilter", "Success"),
            ("PostFilter", "Unschedulable"),
            ("Reserve", "Success"),
            ("Permit", "Success"),
            ("PreBindPreFlight", "Skip"),
            ("PreBind", "Success"),
            ("Bind", "Success"),
            ("PostBind", "Success"),
        )
    ),
    *(
        f'scheduler_plugin_evaluation_total{{extension_point="{point}",plugin="{plugin}",profile="default-scheduler"}}'
        for point, plugin in (
            ("PreFilter", "NodeResourcesFit"),
            ("Filter", "NodeName"),
            ("Filter", "NodeResourcesFit"),
            ("PreScore", "NodeResourcesFit"),
            ("Score", "ImageLocality"),
        )
    ),
    *(
        f'scheduler_event_handling_duration_seconds_count{{event="{event}"}}'
        for event in (
            "NodeAdd",
            "NodeUpdateNodeLabel",
            "NodeDelete",
            "UnschedulablePodAdd",
            "UnschedulablePodUpdate",
            "AssignedPodAdd",
            "AssignedPodUpdate",
            "AssignedPodDelete",
        )
    ),
    'scheduler_preemption_goroutines_execution_total{result="success"}',
    'scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"}',
    'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"}',
)
"""Series that kube-scheduler v1.36.4 has after such a story."""


def test_what_was_done_is_counted(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            (port,) = free_ports(1)
            with replica(server, server.url, tmp_path, "one", elects=False, flags=[f"--secure-port={port}"]):
                await hands.create(PRIORITY_CLASS, *(node(f"n{i}", cpu="1") for i in (1, 2, 3)))
                await hands.create(pod("p", cpu="600m"))
                await hands.bound("p")
                await hands.patch("Node", "n1", {"metadata": {"labels": {"a": "b"}}})
                await hands.create(pod("q", cpu="600m"), pod("r", cpu="600m"))
                await hands.bound("q")
                await hands.bound("r")
                await hands.create(pod("high", cpu="600m", priorityClassName=PRIORITY_CLASS["metadata"]["name"]))
                await hands.bound("high")
                await hands.create(pod("late", cpu="600m"))
                await hands.unschedulable("late")
                await hands.create(node("n4", cpu="500m"))
                await hands.delete("Node", "n4")
                got: list[str] = []

                async def is_counted() -> bool:
                    _, text = await asyncio.to_thread(asked, port, "/metrics", server.admin_token)
                    series = (line.rpartition(" ") for line in text.splitlines())
                    got[:] = [name for name, _, value in series if value != "0.0"]
                    return not {*COUNTED} - {*got}

                with contextlib.suppress(AssertionError):  # the comparison says better what is missing
                    await until(is_counted, "all is counted", within=5)
                assert [] == sorted({*COUNTED} - {*got})

    asyncio.run(story())


def test_a_replica_that_waits_serves_too(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await forget_the_lease(hands)
            (port,) = free_ports(1)
            with replica(server, server.url, tmp_path, "one"):
                await led(hands)
                with replica(server, server.url, tmp_path, "two", flags=[f"--secure-port={port}"]):
                    await answers(port, "/readyz", 200)
                    metrics = await answers(port, "/metrics", 200, server.admin_token)
                    assert 'leader_election_master_status{name="kube-scheduler"} 0.0' in metrics
                    assert (200, "") == asked(port, "/metrics/resources", server.admin_token)

    asyncio.run(story())


def test_extenders_of_the_configuration_are_asked(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            with extender("n2") as (url, seen):
                told = {"urlPrefix": url, "filterVerb": "filter", "nodeCacheCapable": True}
                with replica(server, server.url, tmp_path, "one", elects=False, more={"extenders": [told]}):
                    await hands.create(*(node(f"n{i}") for i in (1, 2, 3)), pod("p"))
                    await hands.bound("p", to="n2")
                    assert {"p"} == set(seen)

    asyncio.run(story())


def test_a_second_scheduler_that_waits_may_leave_the_cluster_alone(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await forget_the_lease(hands)
            (port,) = free_ports(1)
            with replica(server, server.url, tmp_path, "one") as first:
                await led(hands)
                late = {"delayCacheUntilActive": True}
                with replica(server, server.url, tmp_path, "two", flags=[f"--secure-port={port}"], more=late):
                    text = await answers(port, "/readyz", 500)
                    assert "[-]sched-handler-sync failed" in text
                    await hands.create(node("n"), pod("p"))
                    await hands.bound("p")
                    first.kill()
                    await answers(port, "/readyz", 200)
                    await hands.create(pod("q"))
                    await hands.bound("q")

    asyncio.run(story())


def test_the_lease_is_told_of(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await forget_the_lease(hands)
            with replica(server, server.url, tmp_path, "one"):
                leader = await led(hands)

                async def is_told() -> bool:
                    path = "/api/v1/namespaces/kube-system/events"
                    events = (await hands.client.get_json(path))["items"]
                    return any(event["message"] == f"{leader} became leader" for event in events)

                await until(is_told, "the cluster is told who leads")

    asyncio.run(story())


def test_a_lost_lease_ends_the_process(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            await forget_the_lease(hands)
            with replica(server, server.url, tmp_path, "one") as one:
                await led(hands)
                await take_the_lease(hands)
                assert 1 == await ended(one)
                assert "Leaderelection lost" in logged(tmp_path)

    asyncio.run(story())


async def take_the_lease(hands: Hands) -> None:
    """Write another holder into the Lease."""
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
    change = {"spec": {"holderIdentity": "somebody", "leaseDurationSeconds": 3600}}
    await hands.client.patch(path, change, content_type="application/merge-patch+json")


def test_a_dump_on_request(server: ApiServer, tmp_path: Path) -> None:
    async def story() -> None:
        async with administrator(server) as hands:
            with replica(server, server.url, tmp_path, "one", elects=False) as one:
                await hands.create(node("n", cpu="1"), pod("p", cpu="600m"))
                await hands.bound("p")
                await hands.create(pod("q", cpu="600m"))
                await hands.unschedulable("q")
                one.send_signal(signal.SIGUSR2)

                async def is_dumped() -> bool:
                    return "Dump of scheduling queue" in logged(tmp_path)

                await until(is_dumped, "the state is dumped")
                text = logged(tmp_path)
                assert "Cache mismatch" not in text
                assert 'nodes="Node name: n\\nDeleted: false\\n' in text
                assert f"Scheduled Pods(number: 1):\\nname: p, namespace: {hands.namespace}, " in text
                assert 'summary="activeQ:0; backoffQ:0; unschedulablePods:1; gated:0; in flight:0"' in text
                assert f'pods="name: q, namespace: {hands.namespace}, ' in text
                await hands.create(node("m"))
                await hands.bound("q", to="m")

    asyncio.run(story())


def test_the_configuration_is_written_instead(tmp_path: Path) -> None:
    config, written = tmp_path / "in.yaml", tmp_path / "out.yaml"
    config.write_text("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nparallelism: 3\n")
    command = scheduler_command(f"--config={config}", f"--write-config-to={written}")

    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert (0, "") == (ran.returncode, ran.stdout)
    told = yaml.safe_load(written.read_text())
    assert (3, "default-scheduler") == (told["parallelism"], told["profiles"][0]["schedulerName"])
    again = tmp_path / "again.yaml"
    command = scheduler_command(f"--config={written}", f"--write-config-to={again}")
    assert 0 == subprocess.run(command, capture_output=True, timeout=60, check=False).returncode
    assert written.read_text() == again.read_text()


def test_a_port_in_use_ends_the_start(server: ApiServer, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        flags = [f"--secure-port={taken.getsockname()[1]}", "--bind-address=127.0.0.1"]
        with replica(server, server.url, tmp_path, "one", flags=flags) as one:
            assert 1 == one.wait(timeout=30)

    assert "Error: failed to create listener" in logged(tmp_path)
    assert "Address already in use" in logged(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_without_a_server_can_be_stopped(server: ApiServer, tmp_path: Path, number: signal.Signals) -> None:
    async def story() -> None:
        (port, nobody) = free_ports(2)
        flags = [f"--secure-port={port}"]
        with replica(server, f"https://127.0.0.1:{nobody}", tmp_path, "one", flags=flags) as one:
            assert "[-]sched-handler-sync failed" in await answers(port, "/readyz", 500)
            one.send_signal(number)
            assert 0 == await ended(one)

    asyncio.run(story())
