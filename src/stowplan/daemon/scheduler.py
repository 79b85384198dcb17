"""The live scheduler put together: what it follows, what it decides with, and what it writes through."""

import asyncio
import logging
from collections.abc import Sequence
from random import Random
from typing import Final, final

from stowplan.client.events import EventRecorder
from stowplan.client.transport import ApiClient
from stowplan.client.writer import Writer
from stowplan.clock import Clock
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.composition import Setup
from stowplan.cycle.decide import Circumstances, decide
from stowplan.cycle.explanation import Explanation, explain
from stowplan.daemon.binding import Binder
from stowplan.daemon.evicting import Evictor
from stowplan.daemon.extenders import http_extenders
from stowplan.daemon.following import Following
from stowplan.daemon.handlers import NodeHandler, ObjectHandler, PodHandler
from stowplan.daemon.live import BindingExtender, Live
from stowplan.daemon.loop import SchedulingLoop
from stowplan.daemon.permits import Permits
from stowplan.daemon.telemetry import Silence, Telemetry
from stowplan.daemon.writing import PluginWriter
from stowplan.framework.wake import ObjectEvent
from stowplan.queue.backoff import Backoff
from stowplan.queue.scheduling_queue import QueueSettings, SchedulingQueue

_LOG = logging.getLogger(__name__)

WRITES_AT_ONCE: Final = 256
DRAIN_SECONDS: Final = 2.0


@final
class Scheduler:
    """Follows one cluster and, while it leads, places its pods."""

    def __init__(
        self,
        setup: Setup,
        *,
        client: ApiClient,
        events_client: ApiClient,
        clock: Clock,
        rng: Random,
        host: str,
        telemetry: Telemetry | None = None,
        extenders: Sequence[BindingExtender] = (),
        most_unschedulable_seconds: float = 300.0,
    ) -> None:
        configuration = setup.configuration
        telemetry = telemetry or Silence()
        cluster = Cluster()
        self.following = Following(client, clock, rng)
        self._http_extenders = http_extenders(configuration.extenders, cluster, clock)
        settings = QueueSettings(
            backoff=Backoff(configuration.pod_initial_backoff_seconds, configuration.pod_max_backoff_seconds),
            most_unschedulable_seconds=most_unschedulable_seconds,
        )
        self.live = Live(
            cluster=cluster,
            queue=SchedulingQueue(
                setup.profiles,
                cluster.view,
                settings,
                arrived=telemetry.incoming,
                hint_failed=hint_failed,
            ),
            profiles=setup.profiles,
            clock=clock,
            rng=rng,
            writer=Writer(client, clock=clock, rng=rng, concurrency=WRITES_AT_ONCE),
            recorder=EventRecorder(events_client, host=host, clock=clock, rng=rng),
            latest=self.following.pods.store.get,
            telemetry=telemetry,
            extenders=(*self._http_extenders, *extenders),
            percentage=configuration.percentage_of_nodes_to_score,
        )
        self.permits = Permits()
        plugin_writer = PluginWriter(self.live.writer, self.live.recorder, clock)
        binder = Binder(self.live, self.permits, plugin_writer)
        evictor = Evictor(self.live, self.permits, binder.cancel)
        self._loop = SchedulingLoop(self.live, self.permits, binder, evictor, plugin_writer)
        for profile in setup.profiles.values():
            for plugin in profile.permits:
                plugin.attach(self.permits)
        for informer in self.following.objects.values():
            informer.add_handler(ObjectHandler(self.live))
        self.following.nodes.add_handler(NodeHandler(self.live))
        self.following.pods.add_handler(PodHandler(self.live, self.permits, evictor))

    async def follow(self) -> None:
        """Keep the Cluster and the queue current, and write events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.live.recorder.run())
            for informer in self.following.objects.values():
                group.create_task(informer.run())
            # parity: pods are scheduled only once everything they may refer to has been listed
            for informer in self.following.objects.values():
                await informer.synced()
            group.create_task(self.following.nodes.run())
            await self.following.nodes.synced()
            group.create_task(self.following.pods.run())

    async def lead(self) -> None:
        """Place pods until cancelled; what is under way then is given a moment to end."""
        await self.following.synced()
        _LOG.info("Scheduling: %d nodes, %d pods placed", len(self.live.cluster.view()), self.live.cluster.placed_count)
        try:
            await self._loop.run()
        finally:
            if self.live.tasks:
                await asyncio.wait(set(self.live.tasks), timeout=DRAIN_SECONDS)

    def close(self) -> None:
        """Close what it keeps open besides its clients."""
        for extender in self._http_extenders:
            extender.close()

    def explain(self, key: str) -> Explanation | None:
        """Why a waiting pod goes nowhere, decided anew on the Cluster as it is; None for an unknown pod."""
        live = self.live
        pod = self.following.pods.store.get(key)
        if pod is None:
            return None
        info: PodInfo = live.cluster.compiler.compile(pod)
        profile = live.profile_of(info)
        if profile is None:
            return None
        given = Circumstances(rng=Random(0), now=live.clock.now(), nominated=live.queue.nominations.by_node)  # noqa: S311 - repeatable
        decision, _ = decide(live.cluster.view(), info, profile, given)
        return explain(decision.trace)


def hint_failed(plugin: str, pod: PodInfo, event: ObjectEvent, error: Exception) -> None:
    """A hint that raises wakes the pod; somebody should know."""
    _LOG.error("The hint of plugin %s failed for pod %s and event %s: %s", plugin, pod.key, event.label, error)
