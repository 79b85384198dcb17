"""Core/v1 events on a Lease that changes hands, which `kubectl describe lease` shows.

Upstream: staging/src/k8s.io/client-go/tools/leaderelection/resourcelock/leaselock.go, tools/record (v1.36.4).
"""

import asyncio
import logging
from typing import Any, final

from stowplan.client.errors import ClientError
from stowplan.client.paths import CORE_EVENTS, LEASES
from stowplan.client.timestamps import rfc3339
from stowplan.client.transport import ApiClient, encode
from stowplan.clock import Clock

_LOG = logging.getLogger(__name__)


@final
class LeaseEvents:
    """Tells that a candidate "became leader" or "stopped leading"; a server that is away loses it."""

    def __init__(self, client: ApiClient, *, component: str, clock: Clock) -> None:
        self._client = client
        self._component = component
        self._clock = clock
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, lease: dict[str, Any], message: str) -> None:
        """Write an event about this state of the Lease, in the background."""
        task = asyncio.create_task(self._write(lease["metadata"], message, self._clock.now()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def drained(self) -> None:
        """Wait until everything told is written or given up."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _write(self, meta: dict[str, Any], message: str, now: float) -> None:
        namespace, name = meta["namespace"], meta["name"]
        event = {
            "kind": CORE_EVENTS.kind,
            "apiVersion": CORE_EVENTS.api_version,
            "metadata": {"name": f"{name}.{int(now * 1e9):x}", "namespace": namespace},
            "involvedObject": {
                "kind": LEASES.kind,
                "namespace": namespace,
                "name": name,
                "uid": meta.get("uid", ""),
                "apiVersion": LEASES.api_version,
                "resourceVersion": meta.get("resourceVersion", ""),
            },
            "reason": "LeaderElection",
            "message": message,
            "source": {"component": self._component},
            "firstTimestamp": rfc3339(now),
            "lastTimestamp": rfc3339(now),
            "count": 1,
            "type": "Normal",
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": "",
        }
        try:
            await self._client.request("POST", CORE_EVENTS.collection(namespace), body=encode(event))
        except ClientError as error:
            _LOG.error("Unable to write event: %s", error)
