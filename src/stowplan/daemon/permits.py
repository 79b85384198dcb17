"""Pods that wait for permission: each until all plugins that asked for a wait allow it, one refuses, or time is up.

Upstream: pkg/scheduler/framework/runtime/waiting_pods_map.go (v1.36.4).
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from stowplan.columns.pods import PodInfo
from stowplan.config.duration import format_duration
from stowplan.config.spec import SECOND_NS
from stowplan.framework.runner import Rejected
from stowplan.framework.verdict import rejection

LONGEST_WAIT: Final = 15 * 60.0


class PreemptedError(Exception):
    """Raised when a waiting pod had to make room: that is no rejection, so the pod is tried again after a pause."""


@final
@dataclass(slots=True, eq=False)
class WaitingPod:
    """A pod that was placed but may not be bound yet."""

    pod: PodInfo
    node_name: str
    pending: dict[str, float]
    """Plugins that have not allowed it yet, with how long they are willing to wait."""
    verdict: "asyncio.Future[Rejected | None]"


@final
class Permits:
    """The waiting pods by uid. Plugins that hold pods back are given this to let them go."""

    def __init__(self) -> None:
        self._waiting: dict[str, WaitingPod] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def waiting(self) -> list[WaitingPod]:
        """All waiting pods."""
        return list(self._waiting.values())

    def is_waiting(self, uid: str) -> bool:
        """Whether a pod is held."""
        return uid in self._waiting

    def hold(self, pod: PodInfo, node_name: str, waits: Mapping[str, float]) -> None:
        """Let a pod wait for these plugins."""
        verdict: asyncio.Future[Rejected | None] = asyncio.get_running_loop().create_future()
        pending = {plugin: min(seconds, LONGEST_WAIT) for plugin, seconds in waits.items()}
        self._waiting[pod.uid] = WaitingPod(pod, node_name, pending, verdict)

    def allow(self, uid: str, plugin: str) -> None:
        """A plugin has nothing against a pod any more."""
        waiting = self._waiting.get(uid)
        if waiting is None:
            return
        waiting.pending.pop(plugin, None)
        if not waiting.pending and not waiting.verdict.done():
            waiting.verdict.set_result(None)

    def reject(self, uid: str, plugin: str, reason: str) -> bool:
        """A pod may not be bound; says whether it was waiting."""
        waiting = self._waiting.get(uid)
        if waiting is None or waiting.verdict.done():
            return False
        waiting.verdict.set_result(Rejected(plugin, rejection(reason)))
        return True

    def preempt(self, uid: str, reason: str) -> bool:
        """A pod has to make room for another; says whether it was waiting."""
        waiting = self._waiting.get(uid)
        if waiting is None or waiting.verdict.done():
            return False
        waiting.verdict.set_exception(PreemptedError(reason))
        return True

    async def wait(self, uid: str) -> Rejected | None:
        """Why a pod may not be bound after all; None when it may. Raises PreemptedError.

        One that nobody holds may at once.
        """
        waiting = self._waiting.get(uid)
        if waiting is None:
            return None
        try:
            if not waiting.verdict.done():
                plugin, seconds = min(waiting.pending.items(), key=lambda item: item[1])
                try:
                    await asyncio.wait_for(asyncio.shield(waiting.verdict), seconds)
                except TimeoutError:
                    waited = format_duration(int(seconds * SECOND_NS))
                    return Rejected(
                        plugin, rejection(f"rejected due to timeout after waiting {waited} at plugin {plugin}")
                    )
            return waiting.verdict.result()
        finally:
            del self._waiting[uid]
