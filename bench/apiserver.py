"""Measures the embedded API server: `python -m bench.apiserver [PODS [NODES [DATA_DIR]]]`.

Pods are created as fast as one client can, five watchers listen, server and client have a core each.
"""

import argparse
import asyncio
import json
import os
import ssl
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from stowplan.apiserver.options import ServerOptions
from stowplan.apiserver.process import ServerProcess, spawn

WATCHERS = 5
AT_ONCE = 16
PODS = "/api/v1/namespaces/default/pods"
TICKS = os.sysconf("SC_CLK_TCK")


def pod() -> bytes:
    """A pod as a controller would make it."""
    amounts = {"cpu": "100m", "memory": "500Mi"}
    container = {
        "name": "main",
        "image": "registry.k8s.io/pause:3.10",
        "ports": [{"containerPort": 80}],
        "resources": {"requests": amounts, "limits": amounts},
    }
    meta = {"generateName": "pod-", "labels": {"app": "web", "tier": "front"}}
    return json.dumps(
        {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": [container]}}
    ).encode()


def node(number: int) -> bytes:
    """A node with the images that nodes have."""
    name = f"node-{number}"
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": f"zone-{number % 3}"}
    status = {
        "capacity": {"cpu": "64", "memory": "256Gi", "pods": "110"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        "images": [{"names": [f"registry.example/image-{image}:1"], "sizeBytes": 10**8} for image in range(20)],
    }
    return json.dumps({"metadata": {"name": name, "labels": labels}, "status": status}).encode()


def cpu_seconds(process: int) -> float:
    """Processor time of a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(process: int) -> float:
    """Memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def follow(http: aiohttp.ClientSession, url: str, count: int) -> None:
    """Watch until all creations are seen."""
    seen = 0
    async with http.get(url) as response:
        async for data in response.content.iter_any():
            seen += data.count(b'{"type":"ADDED"')
            if seen >= count:
                return


async def post_all(http: aiohttp.ClientSession, url: str, bodies: Iterator[bytes]) -> list[float]:
    """Send all bodies; the seconds that each took."""
    taken: list[float] = []

    async def work() -> None:
        for body in bodies:
            started = time.perf_counter()
            async with http.post(url, data=body) as response:
                await response.read()
                assert response.status == 201, response.status
            taken.append(time.perf_counter() - started)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return sorted(taken)


async def measure(server: ServerProcess, pods: int, nodes: int) -> dict[str, Any]:
    """The figures of one run."""
    trust = ssl.create_default_context(cadata=server.ready.authority)
    headers = {"Authorization": f"Bearer {server.ready.token}", "Content-Type": "application/json"}
    url, process = server.ready.url, server.child.pid
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    endless = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=endless) as http:
        await post_all(http, f"{url}/api/v1/nodes", map(node, range(nodes)))
        version = (await (await http.get(url + PODS)).json())["metadata"]["resourceVersion"]
        watch = f"{url}/api/v1/pods?watch=true&resourceVersion={version}"
        watchers = [asyncio.create_task(follow(http, watch, pods)) for _ in range(WATCHERS)]
        await asyncio.sleep(0.3)
        started, before = time.perf_counter(), cpu_seconds(process)
        taken = await post_all(http, url + PODS, iter([pod()] * pods))
        await asyncio.gather(*watchers)
        seconds, used = time.perf_counter() - started, cpu_seconds(process) - before
    return {
        "pods": pods,
        "nodes": nodes,
        "watchers": WATCHERS,
        "creates_per_second": round(pods / seconds),
        "cpu_us_per_create": round(used / pods * 1e6),
        "creates_per_core_second": round(pods / used),
        "p50_ms": round(taken[len(taken) // 2] * 1e3, 1),
        "p99_ms": round(taken[len(taken) * 99 // 100] * 1e3, 1),
        "resident_mb": round(resident_mb(process)),
    }


def main(arguments: list[str]) -> int:
    """Run once and print one line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m bench.apiserver", description="Measure the embedded API server.")
    parser.add_argument("pods", nargs="?", type=int, default=10_000)
    parser.add_argument("nodes", nargs="?", type=int, default=100)
    parser.add_argument("data_dir", nargs="?", type=Path, help="where the server keeps its state (default: in memory)")
    wanted = parser.parse_args(arguments)
    with spawn(ServerOptions(data_dir=wanted.data_dir)) as server:
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) > 1:
            os.sched_setaffinity(server.child.pid, {cores[0]})
            os.sched_setaffinity(0, {cores[1]})
        print(json.dumps(uvloop.run(measure(server, wanted.pods, wanted.nodes))))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
