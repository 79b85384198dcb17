"""The scheduling loop: one pod at a time from the queue to a decision, and its effects into the world.

Upstream: ScheduleOne in pkg/scheduler/schedule_one.go (v1.36.4).
"""

import asyncio
import logging
import math
from typing import Final, final

from stowplan.columns.pods import PodInfo
from stowplan.cycle.decide import NO_NODES, Circumstances, decide
from stowplan.cycle.decision import Bind, Decision, Evict, Nominate, Park
from stowplan.daemon.binding import Binder, Placement, give_back, rejection_failure
from stowplan.daemon.evicting import Evictor
from stowplan.daemon.failing import Failure, pod_failed
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME, Live, reference
from stowplan.daemon.permits import Permits
from stowplan.daemon.stopwatch import Stopwatch, tell_evaluations
from stowplan.daemon.writing import PluginWriter
from stowplan.framework.memo import Memo
from stowplan.framework.plugin import ApiFailure, PluginError, Wait
from stowplan.framework.post_filter import Write
from stowplan.framework.profile import Profile
from stowplan.framework.runner import Rejected, status_of
from stowplan.queue.queued_pod import QueuedPod

_LOG = logging.getLogger(__name__)

UNSCHEDULABLE_FLUSH_SECONDS: Final = 30.0
SLICE_SECONDS: Final = 0.005
"""How long attempts follow one another before watch events and answers are let in."""


@final
class SchedulingLoop:
    """Tries pods while it runs. Everything it starts beside itself is in `live.tasks`."""

    def __init__(self, live: Live, permits: Permits, binder: Binder, evictor: Evictor, writer: PluginWriter) -> None:
        self._live = live
        self._permits = permits
        self._binder = binder
        self._evictor = evictor
        self._writer = writer
        self._cursor = 0
        self._memo = Memo()

    async def run(self) -> None:
        """Schedule until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._tick_backoff())
            group.create_task(self._tick_unschedulable())
            group.create_task(self._work())

    async def _work(self) -> None:
        live = self._live
        while True:
            live.work.clear()
            # perf: letting the loop in after every pod costs a poll each, 40 µs; after 5 ms nobody notices
            until = live.clock.monotonic() + SLICE_SECONDS
            while live.clock.monotonic() < until:
                queued = live.queue.pop(live.clock.now())
                if queued is None:
                    break
                await self._attempt(queued)
            if live.queue.has_work():
                await asyncio.sleep(0)
            else:
                live.telemetry.pending(live.queue.counts())
                await live.work.wait()

    async def _tick_backoff(self) -> None:
        """Let pods out of back-off, whole windows at a time."""
        live = self._live
        while True:
            now = live.clock.now()
            await asyncio.sleep(math.floor(now) + 1 - now)
            if live.queue.flush_backoff(live.clock.now()):
                live.work.set()
            live.telemetry.pending(live.queue.counts())
            assumed = sum(1 for _ in live.cluster.assumed())
            live.telemetry.cache(len(live.cluster.view()), live.cluster.placed_count, assumed)

    async def _tick_unschedulable(self) -> None:
        """Try again what was parked for very long."""
        while True:
            await asyncio.sleep(UNSCHEDULABLE_FLUSH_SECONDS)
            if self._live.queue.flush_unschedulable(self._live.clock.now()):
                self._live.work.set()

    async def _attempt(self, queued: QueuedPod) -> None:
        live, pod = self._live, queued.info
        profile = live.profile_of(pod)
        if profile is None or self._skips(pod):
            live.queue.done(pod.uid)
            return
        started = live.clock.monotonic()
        try:
            decision = await self._decide(pod, profile)
            live.telemetry.algorithm(live.clock.monotonic() - started)
            tell_evaluations(live.telemetry, profile, decision.trace)
            self._perform(decision, queued, profile, started)
        except PluginError as error:
            self._failed(queued, profile, Failure(message=str(error), error=True), started)
        except Exception as error:  # noqa: BLE001 - plugins are other people's code: theirs may fail, the scheduler must not
            _LOG.exception("Scheduling %s failed", pod.key)
            self._failed(queued, profile, Failure(message=f"{type(error).__name__}: {error}", error=True), started)

    def _skips(self, pod: PodInfo) -> bool:
        if pod.terminating:
            self._live.recorder.tell(
                reference(pod.pod),
                controller=pod.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
                type_="Warning",
                reason="FailedScheduling",
                action="Scheduling",
                note=f"skip schedule deleting pod: {pod.key}",
            )
            return True
        # an update during its last attempt may have queued it again
        return self._live.cluster.is_assumed(pod.uid)

    async def _decide(self, pod: PodInfo, profile: Profile) -> Decision:
        live = self._live
        given = Circumstances(
            rng=live.rng,
            now=live.clock.now(),
            cursor=self._cursor,
            percentage=live.percentage,
            nominated=live.queue.nominations.by_node,
            extenders=live.extenders,
            memo=self._memo,
            ended=Stopwatch(live.telemetry, profile.name, live.clock).ended,
        )
        view = live.cluster.view()
        if not live.extenders:
            decision, self._cursor = decide(view, pod, profile, given)
            return decision
        # extenders are asked over the network: the loop goes on meanwhile, and watch events wait
        live.hold()
        try:
            decision, self._cursor = await asyncio.to_thread(decide, view, pod, profile, given)
        finally:
            live.release()
        return decision

    def _perform(self, decision: Decision, queued: QueuedPod, profile: Profile, started: float) -> None:
        nominated: str | None = None
        for effect in decision.effects:
            match effect:
                case Bind(pod, node_name):
                    assert decision.trace.prepared is not None
                    placement = Placement(
                        queued=queued,
                        pod=pod,
                        node_name=node_name,
                        profile=profile,
                        plans=decision.trace.prepared.plans,
                        started=started,
                    )
                    self._place(placement)
                case Write():
                    self._live.start(self._write(effect))
                case Nominate(_, node_name):
                    nominated = node_name
                case Evict(preemptor, node_name, victims):
                    self._evictor.evict(preemptor, node_name, victims)
                case Park(_, plugins, message):
                    if message != NO_NODES:
                        self._live.telemetry.preemption_attempt()
                    failure = Failure(message=message, rejected_by=plugins, nominated=nominated)
                    self._failed(queued, profile, failure, started)

    async def _write(self, write: Write) -> None:
        try:
            await self._writer.perform(write)
        except ApiFailure as error:
            _LOG.warning("%s %s could not be written: %s", write.obj.kind, write.obj.key, error)

    def _place(self, placement: Placement) -> None:
        """Assume, reserve, ask for permission, and send the pod on its way."""
        live = self._live
        live.cluster.assume(placement.pod, placement.node_name)
        live.queue.nominations.remove(placement.pod.uid)
        watch = Stopwatch(live.telemetry, placement.profile.name, live.clock)
        try:
            rejected = self._reserve(placement)
            watch.ended("Reserve", status_of(rejected))
            if rejected is None:
                rejected = self._permit(placement)
                waits = self._permits.is_waiting(placement.pod.uid)
                watch.ended("Permit", "Wait" if waits else status_of(rejected))
        except Exception:
            give_back(live, placement)
            raise
        if rejected is not None:
            give_back(live, placement)
            self._failed(placement.queued, placement.profile, rejection_failure(rejected), placement.started)
            return
        self._binder.start(placement)

    def _reserve(self, placement: Placement) -> Rejected | None:
        view = self._live.cluster.view()
        for plugin in placement.profile.reserves:
            why = plugin.reserve(view, placement.pod, placement.node_name, placement.plans)
            if why is not None:
                return Rejected(plugin.name, why)
        return None

    def _permit(self, placement: Placement) -> Rejected | None:
        waits = {}
        view = self._live.cluster.view() if placement.profile.permits else None
        for plugin in placement.profile.permits:
            assert view is not None
            answer = plugin.permit(view, placement.pod, placement.node_name)
            if isinstance(answer, Wait):
                waits[plugin.name] = answer.seconds
            elif answer is not None:
                return Rejected(plugin.name, answer)
        if waits:
            self._permits.hold(placement.pod, placement.node_name, waits)
        return None

    def _failed(self, queued: QueuedPod, profile: Profile, failure: Failure, started: float) -> None:
        live = self._live
        result = "error" if failure.error else "unschedulable"
        live.telemetry.attempt(result, profile.name, live.clock.monotonic() - started)
        pod_failed(live, queued, failure)
