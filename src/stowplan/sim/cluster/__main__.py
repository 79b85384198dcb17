"""`python -m stowplan.sim.cluster KUBECONFIG NODES`: the simulation as a process of its own.

It may be started before its server: it waits for the kubeconfig, which the server writes when it listens.
"""

import asyncio
import logging
import random
import signal
import sys
from pathlib import Path

import uvloop

from stowplan.client.errors import ClientError
from stowplan.client.kubeconfig import connect_daemon
from stowplan.clock import SystemClock
from stowplan.sim.cluster.pools import PoolsError, read_shape
from stowplan.sim.cluster.running import Standing, simulate

POLL = 0.02
LONGEST_WAIT = 60.0


def announce(standing: Standing) -> None:
    """Say on standard output that the nodes are there."""
    sys.stdout.write(f"{standing.nodes}\n")
    sys.stdout.flush()


async def appearance(path: Path) -> None:
    """Wait for a file."""
    while not path.is_file():
        await asyncio.sleep(POLL)


async def serve(kubeconfig: str, nodes: str) -> None:
    """Simulate until SIGINT or SIGTERM."""
    clock = SystemClock()
    shape = read_shape(nodes)
    async with asyncio.timeout(LONGEST_WAIT):
        await appearance(Path(kubeconfig))
    connection = connect_daemon(kubeconfig=kubeconfig, environment={}, clock=clock)
    running = asyncio.create_task(
        simulate(connection, shape, clock=clock, rng=random.Random(), ready=announce)  # noqa: S311
    )
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    await asyncio.wait({running})
    if not running.cancelled():
        running.result()


def run(arguments: list[str]) -> int:
    """Run until told to end; the exit status."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m stowplan.sim.cluster KUBECONFIG NODES\n")
        return 2
    try:
        uvloop.run(serve(*arguments))
    except TimeoutError:
        sys.stderr.write(f"stowplan simulation: no kubeconfig {arguments[0]} appeared\n")
        return 1
    except (PoolsError, ClientError) as error:
        sys.stderr.write(f"stowplan simulation: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
