"""The binding cycle: permission, what must be done before, the binding, and the way back when any of it fails.

Upstream: bindingCycle in pkg/scheduler/schedule_one.go (v1.36.4).
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from stowplan.client.errors import ClientError
from stowplan.client.status_patch import pod_status_patch
from stowplan.columns.pods import PodInfo
from stowplan.daemon.failing import Failure, patch_status, pod_failed
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME, Live, reference
from stowplan.daemon.permits import Permits, PreemptedError
from stowplan.daemon.stopwatch import Stopwatch
from stowplan.daemon.writing import PluginWriter
from stowplan.framework.extender import ExtenderError
from stowplan.framework.fit_error import fit_error_text
from stowplan.framework.plugin import ApiFailure, Binding, PluginError
from stowplan.framework.profile import Profile
from stowplan.framework.runner import Rejected
from stowplan.framework.verdict import Rejection
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.queue.queued_pod import QueuedPod

_LOG = logging.getLogger(__name__)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A pod that was placed: reserved and assumed, not bound yet."""

    queued: QueuedPod
    pod: PodInfo
    node_name: str
    profile: Profile
    plans: Mapping[str, Any]
    started: float
    """When its attempt began, on the monotonic clock."""


class BindingError(Exception):
    """Raised when a step of the binding cycle failed without being a rejection."""


@final
class Binder:
    """Takes placements to the API."""

    def __init__(self, live: Live, permits: Permits, writer: PluginWriter) -> None:
        self._live = live
        self._permits = permits
        self._writer = writer
        self._preparing: dict[str, tuple[asyncio.Task[None], list[str]]] = {}
        """Pods whose PreBind runs: it can still be broken off."""

    def start(self, placement: Placement) -> None:
        """Run the cycle beside the loop."""
        self._live.in_lane(placement.pod.uid, self._cycle(placement))

    def cancel(self, uid: str, why: str) -> bool:
        """Break off a pod's PreBind; says whether it was in time."""
        preparing = self._preparing.get(uid)
        if preparing is None:
            return False
        task, reasons = preparing
        if not reasons:
            task.cancel()
        reasons.append(why)
        return True

    async def _cycle(self, placement: Placement) -> None:
        live, profile = self._live, placement.profile
        try:
            failure = await self._bind(placement)
        except (BindingError, ClientError, ApiFailure, ExtenderError, PluginError) as error:
            self._give_back(placement, Failure(message=str(error), error=True))
            return
        except Exception as error:  # noqa: BLE001 - plugins are other people's code: theirs may fail, the scheduler must not
            _LOG.exception("Binding %s to %s failed", placement.pod.key, placement.node_name)
            self._give_back(placement, Failure(message=f"{type(error).__name__}: {error}", error=True))
            return
        if failure is not None:
            self._give_back(placement, failure)
            return
        queued = placement.queued
        live.recorder.tell(
            reference(placement.queued.info.pod),
            controller=queued.info.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
            type_="Normal",
            reason="Scheduled",
            action="Binding",
            note=f"Successfully assigned {placement.pod.key} to {placement.node_name}",
        )
        live.telemetry.attempt("scheduled", profile.name, live.clock.monotonic() - placement.started)
        since = live.clock.now() - (queued.first_tried_at or queued.queued_at)
        live.telemetry.scheduled(queued.attempts, since, queued.flushed)
        with Stopwatch(live.telemetry, profile.name, live.clock).timing("PostBind"):
            for plugin in profile.post_binds:
                plugin.post_bind(placement.pod, placement.node_name)

    async def _bind(self, placement: Placement) -> Failure | None:
        live, pod, profile = self._live, placement.pod, placement.profile
        view = live.cluster.view()
        watch = Stopwatch(live.telemetry, profile.name, live.clock)
        needed = [p for p in profile.pre_binds if p.pre_bind_needed(view, pod, placement.node_name, placement.plans)]
        watch.ended("PreBindPreFlight", "Success" if needed else "Skip")
        waits = self._permits.is_waiting(pod.uid)
        if needed or waits:
            await self._expect(placement)
        if waits:
            rejected = await self._wait(pod.uid)
            if rejected is not None:
                return rejection_failure(rejected)
        # no rejection can come any more for which an event that happens now would matter
        live.queue.done(pod.uid)
        binding = Binding(
            pod=pod,
            node_name=placement.node_name,
            plans=placement.plans,
            objects=live.cluster.objects,
            find_node=lambda: live.cluster.node(placement.node_name),
            pod_exists=lambda: live.latest(pod.key) is not None,
            writer=self._writer,
        )
        with watch.timing("PreBind"):
            why = await self._prepare(placement, binding, needed) if needed else None
        if why is not None:
            # parity: told as it is and of nobody, since nothing that happens would lift it: it is tried again
            return Failure(message=why.message)
        with watch.timing("Bind"):
            await self._write(placement, binding)
        return None

    async def _wait(self, uid: str) -> Rejected | None:
        """Why the pod did not get permission."""
        clock, result = self._live.clock, "Success"
        started = clock.monotonic()
        try:
            rejected = await self._permits.wait(uid)
            if rejected is not None:
                result = "Unschedulable"
            return rejected
        except PreemptedError as error:
            result = "Error"
            raise BindingError(f"waiting on permit for pod: {error}") from error
        finally:
            self._live.telemetry.permit_wait(result, clock.monotonic() - started)

    async def _expect(self, placement: Placement) -> None:
        """Tell others, such as an autoscaler, where the pod is about to go, since that may take a while."""
        pod = placement.queued.info.pod
        patch = pod_status_patch((), old_nominated=pod.status.nominated_node_name, new_nominated=placement.node_name)
        await patch_status(self._live, pod, patch)

    async def _prepare(self, placement: Placement, binding: Binding, needed: list[Any]) -> Rejection | None:
        task = asyncio.current_task()
        assert task is not None
        reasons: list[str] = []
        self._preparing[placement.pod.uid] = (task, reasons)
        try:
            for plugin in needed:
                try:
                    why: Rejection | None = await plugin.pre_bind(binding)
                except (PluginError, ApiFailure, ClientError) as error:
                    raise BindingError(f'running PreBind plugin "{plugin.name}": {error}') from error
                except asyncio.CancelledError:
                    if not reasons:
                        raise
                    task.uncancel()
                    raise BindingError(f'running PreBind plugin "{plugin.name}": {reasons[0]}') from None
                if why is not None:
                    return why
        finally:
            del self._preparing[placement.pod.uid]
        return None

    async def _write(self, placement: Placement, binding: Binding) -> None:
        for extender in self._live.extenders:
            if not extender.binds or not extender.interested(placement.pod):
                continue
            try:
                await asyncio.to_thread(extender.bind, placement.pod, placement.node_name)
            except ExtenderError:
                if extender.ignorable:
                    continue
                raise
            return
        for plugin in placement.profile.binds:
            try:
                if await plugin.bind(binding):
                    return
            except (PluginError, ApiFailure, ClientError) as error:
                raise BindingError(f'running Bind plugin "{plugin.name}": {error}') from error
        raise BindingError("no plugin bound the pod")

    def _give_back(self, placement: Placement, failure: Failure) -> None:
        """Undo what was reserved and assumed, wake whom that may help, and queue the pod again."""
        # an attempt that is being made in another thread reads the Cluster: this waits for it as watch events do
        self._live.apply(lambda: self._return(placement, failure))

    def _return(self, placement: Placement, failure: Failure) -> None:
        live, pod = self._live, placement.pod
        give_back(live, placement)
        event = ObjectEvent(Kind.ASSIGNED_POD, Change.DELETED, pod.on_node(placement.node_name), None)
        now = live.clock.now()
        result = "error" if failure.error else "unschedulable"
        live.telemetry.attempt(result, placement.profile.name, live.clock.monotonic() - placement.started)
        if failure.error:
            live.queue.move_all(event, now)
            pod_failed(live, placement.queued, failure)
        else:
            # parity: the pod itself must not be woken by its own failure, so it comes back first
            pod_failed(live, placement.queued, failure)
            live.queue.move_all(event, now, only=lambda waiting: waiting.uid != pod.uid)
        live.work.set()


def give_back(live: Live, placement: Placement) -> None:
    """Undo what plugins reserved and the Cluster assumed."""
    view = live.cluster.view()
    for plugin in reversed(placement.profile.reserves):
        for write in plugin.unreserve(view, placement.pod, placement.node_name, placement.plans) or ():
            live.start(PluginWriter(live.writer, live.recorder, live.clock).perform(write))
    live.cluster.forget(placement.pod.uid)


def rejection_failure(rejected: Rejected) -> Failure:
    """A rejection that came after a node was chosen, told as upstream tells it: of one node."""
    text = fit_error_text(
        nodes=1, pre_filter_message="", rejections=[(rejected.why, 1)], absent=None, post_filter_message=""
    )
    return Failure(message=text, rejected_by={rejected.plugin} - {""})
