"""Evictions: victims get a condition, are deleted, and are told by whom; beside the loop, so that nobody waits.

Upstream: pkg/scheduler/framework/preemption/executor.go (v1.36.4).
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final, final

from stowplan.api.meta import Condition
from stowplan.client.errors import ClientError, NotFound
from stowplan.client.status_patch import pod_status_patch, with_condition
from stowplan.columns.pods import PodInfo
from stowplan.daemon.failing import patch_status
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME, Live, reference
from stowplan.daemon.permits import Permits
from stowplan.plugins.default_preemption import DefaultPreemption

_LOG = logging.getLogger(__name__)

DISRUPTION_TARGET: Final = "DisruptionTarget"
PREEMPTED: Final = "PreemptionByScheduler"


@final
class Evictor:
    """Evicts victims, and keeps their preemptors out of the queue meanwhile."""

    def __init__(self, live: Live, permits: Permits, cancel_binding: Callable[[str, str], bool]) -> None:
        self._live = live
        self._permits = permits
        self._cancel_binding = cancel_binding
        self._last_victims: dict[str, PodInfo] = {}
        """The uid of a last victim to its preemptor: when it leaves, the preemptor need not wait for our call."""

    def evict(self, preemptor: PodInfo, node_name: str, victims: Sequence[PodInfo]) -> None:
        """Start evicting; victims that are leaving already are left alone."""
        self._live.telemetry.preemption(len(victims))
        staying = [victim for victim in victims if not victim.terminating]
        if not staying:
            return
        self._keep_out(preemptor, True)
        self._live.start(self._evict_all(preemptor, node_name, staying))

    def victim_left(self, uid: str) -> None:
        """The watch shows that a victim is going: if it was the last, its preemptor may be tried."""
        preemptor = self._last_victims.pop(uid, None)
        if preemptor is not None:
            self._keep_out(preemptor, False)

    async def _evict_all(self, preemptor: PodInfo, node_name: str, victims: Sequence[PodInfo]) -> None:
        """All victims but one at the same time, then the last, whose end brings the preemptor back."""
        started = self._live.clock.monotonic()
        ok = await self._clear_weaker_nominations(preemptor, node_name)
        *others, last = victims
        done = await asyncio.gather(*(self._evict(preemptor, node_name, victim) for victim in others))
        if all(done):
            self._last_victims[last.uid] = preemptor
            ok = await self._evict(preemptor, node_name, last) and ok
            self._last_victims.pop(last.uid, None)
        self._keep_out(preemptor, False)
        ok = ok and all(done)
        self._live.telemetry.evicted("success" if ok else "error", self._live.clock.monotonic() - started)
        if not ok or self._missed_the_end(preemptor, victims):
            self._live.queue.activate([preemptor], self._live.clock.now())
            self._live.work.set()

    def _missed_the_end(self, preemptor: PodInfo, victims: Sequence[PodInfo]) -> bool:
        """Whether the last event that could bring the preemptor back came while it was kept out.

        Upstream leaves such a pod to the flush, five minutes later.
        """
        live = self._live
        if any(live.cluster.placed_pod(victim.uid) is not None for victim in victims):
            return False
        queued = live.queue.get(preemptor.uid)
        return queued is not None and queued.gated_by == DefaultPreemption.name

    async def _evict(self, preemptor: PodInfo, node_name: str, victim: PodInfo) -> bool:
        live = self._live
        scheduler = preemptor.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME
        note = f"Preempted by pod {preemptor.uid} on node {node_name}"
        in_memory = self._permits.preempt(victim.uid, "preempted") or self._cancel_binding(
            victim.uid, f"preempted by {DefaultPreemption.name}"
        )
        if in_memory:
            note += " (in kube-scheduler memory)."
        else:
            try:
                await self._delete(victim, scheduler)
            except NotFound:
                return True  # it left by itself, and is not told of anything
            except ClientError as error:
                _LOG.warning("Victim %s could not be evicted: %s", victim.key, error)
                return False
        live.recorder.tell(
            reference(victim.pod),
            controller=scheduler,
            type_="Normal",
            reason="Preempted",
            action="Preempting",
            note=note,
        )
        return True

    async def _delete(self, victim: PodInfo, scheduler: str) -> None:
        """Say why in the victim's status, then delete it. Raises ClientError."""
        live, pod = self._live, victim.pod
        condition = Condition(
            type=DISRUPTION_TARGET,
            status="True",
            observed_generation=pod.metadata.generation,
            reason=PREEMPTED,
            message=f"{scheduler}: preempting to accommodate a higher priority pod",
        )
        conditions = with_condition(pod.status.conditions, condition, now=live.clock.now())
        patch = pod_status_patch(pod.status.conditions, conditions)
        if patch is not None:
            await live.writer.patch_pod_status(namespace=pod.namespace, name=pod.name, patch=patch)
        await live.writer.delete_pod(namespace=pod.namespace, name=pod.name)

    async def _clear_weaker_nominations(self, preemptor: PodInfo, node_name: str) -> bool:
        """Less important pods that counted on the room are told that it is not theirs."""
        live, ok = self._live, True
        for nominated in list(live.queue.nominations.by_node.get(node_name, ())):
            status = nominated.pod.status
            if nominated.priority >= preemptor.priority or not status.nominated_node_name:
                continue
            patch = pod_status_patch((), old_nominated=status.nominated_node_name, new_nominated="")
            ok = await patch_status(live, nominated.pod, patch) and ok
        return ok

    def _keep_out(self, preemptor: PodInfo, out: bool) -> None:
        profile = self._live.profile_of(preemptor)
        plugin = None if profile is None else profile.plugins.get(DefaultPreemption.name)
        if isinstance(plugin, DefaultPreemption):
            if out:
                plugin.evicting.add(preemptor.uid)
            else:
                plugin.evicting.discard(preemptor.uid)
