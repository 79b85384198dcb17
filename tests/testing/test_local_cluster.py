"""The cluster for other projects' tests."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stowplan.client.paths import NODES
from stowplan.client.transport import ApiClient
from stowplan.clock import SystemClock
from stowplan.sim.up import UpError
from stowplan.testing.local_cluster import KubectlError, LocalCluster
from tests.sim.clusters import is_alive, require_kubectl

pytest_plugins = ["stowplan.testing.pytest_plugin"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """A cluster without a scheduler."""
    with LocalCluster(nodes=2, scheduler=False) as made:
        yield made


def test_its_nodes_are_there_and_clients_find_it(cluster: LocalCluster) -> None:
    async def story() -> list[str]:
        async with ApiClient(cluster.connection(), clock=SystemClock()) as client:
            return [node["metadata"]["name"] for node in (await client.get_json(NODES.collection()))["items"]]

    assert ["node-0", "node-1"] == asyncio.run(story())
    assert cluster.url.startswith("https://127.0.0.1:")


def test_kubectl_works_with_it_and_its_failures_are_said(cluster: LocalCluster) -> None:
    require_kubectl()
    assert "node/node-0\nnode/node-1\n" == cluster.kubectl("get", "nodes", "-o", "name")
    with pytest.raises(KubectlError, match='nodes "none" not found'):
        cluster.kubectl("get", "node", "none")


def test_a_process_that_ends_is_started_again(cluster: LocalCluster) -> None:
    before = cluster.pids["simulation"]
    os.kill(before, signal.SIGKILL)
    said: list[str] = []
    for _ in range(300):
        cluster._up.watch(said.append)
        if cluster.pids.get("simulation", before) != before and cluster._up.wait_nodes(0.1):
            break
        asyncio.run(asyncio.sleep(0.05))
    assert cluster.pids["simulation"] != before
    assert ["the simulation was ended by SIGKILL, starting it again: the simulation said nothing"] == said


def test_a_cluster_that_cannot_start_leaves_nothing(tmp_path: Path) -> None:
    with LocalCluster(nodes=0, scheduler=False, data_dir=tmp_path):
        second = LocalCluster(nodes=0, scheduler=False, data_dir=tmp_path)
        with pytest.raises(UpError, match="locked by process"):
            second.start()
        assert {} == second.pids


def test_it_ends_with_its_block() -> None:
    with LocalCluster(nodes=0, scheduler=False) as brief:
        pids = list(brief.pids.values())
        folder = brief.kubeconfig.parent
    assert 2 == len(pids)
    assert not any(is_alive(pid) for pid in pids)
    assert not folder.exists()


def test_the_fixture_is_a_cluster_that_schedules(local_cluster: LocalCluster) -> None:
    require_kubectl()
    local_cluster.kubectl("run", "p", "--image=app")
    local_cluster.kubectl("wait", "--for=condition=Ready", "pod/p", "--timeout=30s")
