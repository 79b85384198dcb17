"""Nodes that live: their objects are made at the start, their Leases renewed, their conditions reported.

Upstream: pkg/kubelet/kubelet_node_status.go, component-helpers/apimachinery/lease/controller.go (v1.36.4).
"""

import asyncio
import logging
from typing import Any, final
from zlib import crc32

from stowplan.client.errors import AlreadyExists, Invalid, NotFound
from stowplan.client.paths import RESOURCE_SLICES
from stowplan.client.transport import MERGE_PATCH, ApiClient
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.kubelets import answers
from stowplan.sim.cluster.names import FAILURE, NOT_READY
from stowplan.sim.cluster.node_objects import (
    LEASE_NAMESPACE,
    machine_status,
    missing_labels,
    node_conditions,
    node_lease,
    pool_node,
    renewal,
    resource_slices,
)
from stowplan.sim.cluster.objects import annotations_of, find_condition, is_deleting, name_of, status_of, uid_of
from stowplan.sim.cluster.pools import DEFAULT_CAPACITY, Pool, Shape
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]

_LOG = logging.getLogger(__name__)

AT_ONCE = 16


async def register_nodes(client: ApiClient, inventory: Inventory, shape: Shape, *, clock: Clock) -> None:
    """Make the nodes of all pools that are not there yet, and the slices of their devices."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def register(pool: Pool, index: int, number: int) -> None:
        async with slots:
            node = await _register_node(inventory, pool_node(pool, index, number, clock.now()))
            for found in resource_slices(pool, node):
                try:
                    await client.post(RESOURCE_SLICES.collection(), found)
                except AlreadyExists:
                    continue
                except Invalid as error:
                    _LOG.error("the devices of node %s: %s", name_of(node), error)

    async with asyncio.TaskGroup() as group:
        number = 0
        for pool in shape.pools:
            for index in range(pool.count):
                group.create_task(register(pool, index, number))
                number += 1


async def _register_node(inventory: Inventory, node: Json) -> Json:
    known = inventory.nodes.get(name_of(node))
    if known is not None:
        return known
    try:
        return await inventory.nodes.create("", node)
    except AlreadyExists:
        return inventory.nodes.get(name_of(node)) or node


@final
class Heartbeats:
    """Renews Leases and reports conditions, for every node whose kubelet is simulated and alive."""

    name = "heartbeats"
    workers = 8

    def __init__(self, inventory: Inventory, shape: Shape, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._inventory = inventory
        self._pace = shape.pace
        self._planned = shape.nodes
        self._clock = clock
        self._renewed: dict[str, float] = {}  # node uid -> when
        self._reported: dict[str, float] = {}
        inventory.nodes.listen(self._changed)

    async def reconcile(self, key: str) -> float | None:
        """Say of one node what is due to be said; seconds until more is."""
        node = self._inventory.nodes.get(key)
        if node is None or is_deleting(node) or not answers(node):
            return None
        now, uid = self._clock.now(), uid_of(node)
        # Nodes that are still to come count already: they will want their share of the renewals.
        count = max(len(self._inventory.nodes), self._planned)
        interval = self._pace.lease_interval(count)
        if uid not in self._renewed:
            # perf: the first renewals of many nodes are spread over one interval
            spread = min(interval, count / self._pace.renewals)
            self._renewed[uid] = now - interval + spread * crc32(uid.encode()) / 2**32
            self._reported.setdefault(uid, now + self._pace.reporting * crc32(uid.encode()) / 2**32)
        if self._says_otherwise(node) or now >= self._reported[uid] + self._pace.reporting:
            self._reported[uid] = now
            await self._report(node, now)
        if now >= self._renewed[uid] + interval:
            self._renewed[uid] = now
            await self._renew(node, now, interval)
        due = min(self._renewed[uid] + interval, self._reported[uid] + self._pace.reporting)
        return max(due - now, 0.01)

    def _says_otherwise(self, node: Json) -> bool:
        ready = find_condition(status_of(node).get("conditions"), "Ready")
        wanted = "True" if is_well(node) else "False"
        return ready is None or ready.get("status") != wanted or not status_of(node).get("capacity")

    async def _report(self, node: Json, now: float) -> None:
        name = name_of(node)
        labels = missing_labels(node)
        if labels:
            node = await self._inventory.nodes.patch("", name, {"metadata": {"uid": uid_of(node), "labels": labels}})
        conditions = node_conditions(now, ready=is_well(node))
        for condition in conditions:
            known = find_condition(status_of(node).get("conditions"), condition["type"])
            if known is not None and known.get("status") == condition["status"]:
                condition["lastTransitionTime"] = known.get("lastTransitionTime") or condition["lastTransitionTime"]
        status: Json = {"conditions": conditions}
        known_status = status_of(node)
        if not known_status.get("capacity"):
            capacity = known_status.get("allocatable") or {key: str(value) for key, value in DEFAULT_CAPACITY.items()}
            made = machine_status(name, capacity)
            status |= {key: value for key, value in made.items() if not known_status.get(key)}
        change = {"metadata": {"uid": uid_of(node)}, "status": status}
        await self._inventory.nodes.patch("", name, change, subresource="status")

    async def _renew(self, node: Json, now: float, interval: float) -> None:
        leases, name = self._inventory.leases, name_of(node)
        try:
            if leases.get(f"{LEASE_NAMESPACE}/{name}") is None:
                await leases.create(LEASE_NAMESPACE, node_lease(node, now, interval))
            else:
                change = {"spec": renewal(now, interval)}
                await leases.patch(LEASE_NAMESPACE, name, change, content_type=MERGE_PATCH)
        except (NotFound, AlreadyExists):
            self._renewed[uid_of(node)] = 0.0  # the copy was old; soon again

    def _changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(name_of(new))
        elif old is not None:
            self._renewed.pop(uid_of(old), None)
            self._reported.pop(uid_of(old), None)


def is_well(node: Json) -> bool:
    """Whether the kubelet says that its node is ready."""
    return annotations_of(node).get(FAILURE) != NOT_READY
