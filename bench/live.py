"""Measures the live scheduler on an API server of this machine: `python -m bench.live [drain|arrive|start]...`.

drain: 10,000 pods wait on 5000 nodes; what a bound pod costs the scheduler, and who is the bottleneck.
arrive: 100 pods a second; how long from a pod's creation until it is seen bound.
start: 20,000 bound pods to list first; how long until a pod is bound, and what memory that takes.
The server is kube-apiserver where KUBEBUILDER_ASSETS names a folder with it, else the embedded one.
"""

import asyncio
import json
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, final

import aiohttp
import uvloop

from bench.apiserver import cpu_seconds, node, pod, post_all, resident_mb
from tests.daemon.api import ApiServer, new_server
from tests.daemon.replica import replica

NODES = 5000
WAITING = 10_000
BOUND = 20_000
PER_SECOND = 100
ARRIVALS = 2000
UNLIMITED = {"qps": 100_000, "burst": 100_000}
PODS = "/api/v1/namespaces/default/pods"
Measured = dict[str, Any]


@final
class Site:
    """An API server with nodes, and a client of it."""

    def __init__(self, server: ApiServer, http: aiohttp.ClientSession, folder: Path) -> None:
        self.server = server
        self.http = http
        self.folder = folder

    async def post(self, path: str, bodies: Iterator[bytes]) -> None:
        """Create objects."""
        await post_all(self.http, self.server.url + path, bodies)

    async def version(self) -> str:
        """Where a watch of the pods may start."""
        async with self.http.get(f"{self.server.url}{PODS}?limit=1") as response:
            version: str = (await response.json())["metadata"]["resourceVersion"]
            return version

    async def bound(self, version: str) -> AsyncIterator[tuple[str, float]]:
        """Names of pods as they are seen bound, with the time."""
        seen: set[str] = set()
        async with self.http.get(f"{self.server.url}{PODS}?watch=true&resourceVersion={version}") as response:
            async for line in response.content:
                found = json.loads(line)["object"]
                name = found["metadata"]["name"]
                if name not in seen and found["spec"].get("nodeName"):
                    seen.add(name)
                    yield name, time.perf_counter()

    @asynccontextmanager
    async def scheduler(self) -> AsyncIterator[int]:
        """A scheduler at work, without limits; its process."""
        connection = {**UNLIMITED, "kubeconfig": str(self.folder / "bench.kubeconfig")}
        with replica(
            self.server, self.server.url, self.folder, "bench", elects=False, more={"clientConnection": connection}
        ) as child:
            yield child.pid


async def drain(site: Site) -> Measured:
    """All pods are there before the scheduler is."""
    await site.post(PODS, iter([pod()] * WAITING))
    version = await site.version()
    async with site.scheduler() as process:
        count, first, used_first = 0, 0.0, 0.0
        async for _, now in site.bound(version):
            count += 1
            if count == 1:
                first, used_first = now, cpu_seconds(process)
            if count == WAITING:
                break
        used, seconds = cpu_seconds(process) - used_first, time.perf_counter() - first
        return {
            "pods": count,
            "binds_per_second": round(count / seconds),
            "scheduler_cpu_ms_per_pod": round(used / count * 1000, 3),
            "scheduler_busy": round(used / seconds, 2),
            "start_cpu_seconds": round(used_first, 2),
            "resident_mb": round(resident_mb(process)),
        }


async def arrive(site: Site) -> Measured:
    """Pods come one after another."""
    version = await site.version()
    created: dict[str, float] = {}
    async with site.scheduler() as process:
        async with site.http.post(site.server.url + PODS, data=pod()):
            pass  # whoever is bound first shows that the scheduler is there
        seen = site.bound(version)
        await anext(seen)
        used = cpu_seconds(process)

        async def create(at: float) -> None:
            await asyncio.sleep(at - time.perf_counter())
            started = time.perf_counter()
            async with site.http.post(site.server.url + PODS, data=pod()) as response:
                created[(await response.json())["metadata"]["name"]] = started

        begin = time.perf_counter()
        creating = asyncio.gather(*(create(begin + i / PER_SECOND) for i in range(ARRIVALS)))
        bound = {}
        async for name, now in seen:
            bound[name] = now
            if len(bound) == ARRIVALS:
                break
        await creating
        taken = sorted(bound[name] - created[name] for name in bound)
        return {
            "pods": len(taken),
            "p50_ms": round(taken[len(taken) // 2] * 1000, 1),
            "p99_ms": round(taken[len(taken) * 99 // 100] * 1000, 1),
            "scheduler_cpu_ms_per_pod": round((cpu_seconds(process) - used) / len(taken) * 1000, 3),
        }


async def start(site: Site) -> Measured:
    """A big cluster is there before the scheduler is."""
    body = json.loads(pod())
    bodies = ({**body, "spec": {**body["spec"], "nodeName": f"node-{i % NODES}"}} for i in range(BOUND))
    await site.post(PODS, (json.dumps(one).encode() for one in bodies))
    version = await site.version()
    await site.post(PODS, iter([pod()]))
    began = time.perf_counter()
    async with site.scheduler() as process:
        _, now = await anext(site.bound(version))
        return {
            "bound_before": BOUND,
            "first_bind_seconds": round(now - began, 2),
            "cpu_seconds": round(cpu_seconds(process), 2),
            "resident_mb": round(resident_mb(process)),
        }


CASES: dict[str, Callable[[Site], Coroutine[Any, Any, Measured]]] = {"drain": drain, "arrive": arrive, "start": start}


async def measure(name: str, server: ApiServer, folder: Path) -> Measured:
    """One case on a fresh server."""
    trust = ssl.create_default_context(cadata=server.authority.decode())
    headers = {"Authorization": f"Bearer {server.admin_token}", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(ssl=trust, limit=0)
    async with aiohttp.ClientSession(
        connector=connector, headers=headers, timeout=aiohttp.ClientTimeout(total=None), read_bufsize=2**20
    ) as http:
        site = Site(server, http, folder)
        await site.post("/api/v1/nodes", map(node, range(NODES)))
        return {"case": name, "nodes": NODES, "server": type(server).__name__, **await CASES[name](site)}


def main(wanted: list[str]) -> int:
    """Run the named cases, or all, and print a line of JSON each."""
    unknown = [name for name in wanted if name not in CASES]
    if unknown:
        print(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}", file=sys.stderr)  # noqa: T201
        return 2
    for name in wanted or CASES:
        with tempfile.TemporaryDirectory() as folder:
            server = new_server(Path(folder))
            try:
                print(json.dumps(uvloop.run(measure(name, server, Path(folder)))), flush=True)  # noqa: T201
            finally:
                server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
