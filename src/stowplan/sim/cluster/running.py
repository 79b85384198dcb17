"""The simulation as a whole: nodes, kubelets and controllers of one API server, until told to end."""

import asyncio
import random
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import final

from stowplan.client.connection import Connection
from stowplan.client.errors import AlreadyExists
from stowplan.client.events import EventRecorder
from stowplan.client.transport import ApiClient, TransportSettings
from stowplan.clock import Clock
from stowplan.sim.cluster.heartbeats import Heartbeats, register_nodes
from stowplan.sim.cluster.inventory import Inventory, take_inventory
from stowplan.sim.cluster.kubelets import Kubelets
from stowplan.sim.cluster.pools import Shape
from stowplan.sim.cluster.work import Controller, run_controllers
from stowplan.sim.controllers.assembly import all_controllers
from stowplan.sim.controllers.provisioning import DEFAULT_CLASS

# perf: one server process answers; more connections only queue there
SETTINGS = TransportSettings(max_connections=32, user_agent="stowplan-simulation")


@final
@dataclass(frozen=True, slots=True)
class Standing:
    """What the simulation says when its nodes are there."""

    nodes: int


async def simulate(
    connection: Connection,
    shape: Shape,
    *,
    clock: Clock,
    rng: random.Random,
    ready: Callable[[Standing], None],
) -> None:
    """Run everything until cancelled; `ready` is told when all nodes are registered."""
    async with ApiClient(connection, clock=clock, settings=SETTINGS) as client, asyncio.TaskGroup() as group:
        recorder = EventRecorder(client, host=socket.gethostname(), clock=clock, rng=rng, concurrency=4)
        inventory = take_inventory(client, clock=clock, rng=rng)
        workloads, garbage = all_controllers(client, inventory, recorder, shape.pace, clock=clock, rng=rng)
        controllers: list[Controller] = [
            Heartbeats(inventory, shape, clock=clock),
            Kubelets(inventory, shape.pace, clock=clock),
            *workloads,
        ]
        group.create_task(recorder.run(), name="events")
        group.create_task(inventory.follow(), name="inventory")
        await inventory.synced()
        group.create_task(run_controllers(controllers), name="controllers")
        await register_class(inventory)
        await register_nodes(client, inventory, shape, clock=clock)
        ready(Standing(len(inventory.nodes)))
        await garbage.follow()


async def register_class(inventory: Inventory) -> None:
    """Make the default storage class, unless there is a class already."""
    if not len(inventory.classes):
        with suppress(AlreadyExists):
            await inventory.classes.create("", DEFAULT_CLASS)
