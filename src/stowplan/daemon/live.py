"""What the parts of the live scheduler share: the cluster, the queue, the profiles, the ways out."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, final

from stowplan.api.meta import ObjectReference
from stowplan.api.pod import Pod
from stowplan.client.events import EventRecorder
from stowplan.client.writer import Writer
from stowplan.clock import Clock
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.daemon.telemetry import Telemetry
from stowplan.framework.extender import Extender
from stowplan.framework.profile import Profile
from stowplan.queue.scheduling_queue import SchedulingQueue

DEFAULT_SCHEDULER_NAME = "default-scheduler"


class BindingExtender(Extender, Protocol):
    """An extender that may also bind."""

    binds: bool

    def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the binding in the scheduler's place. Raises ExtenderError."""


@final
@dataclass(slots=True, kw_only=True)
class Live:
    """One running scheduler. All of it belongs to one event loop; nothing here is touched from elsewhere."""

    cluster: Cluster
    queue: SchedulingQueue
    profiles: Mapping[str, Profile]
    clock: Clock
    rng: Random
    writer: Writer
    recorder: EventRecorder
    latest: Callable[[str], Pod | None]
    """The pod of a key (namespace/name) as the watch last showed it."""
    telemetry: Telemetry
    extenders: Sequence[BindingExtender] = ()
    percentage: int | None = None
    work: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever the queue may have something to pop."""
    tasks: "set[asyncio.Task[None]]" = field(default_factory=set)
    """What runs beside the loop: bindings, evictions, status writes."""
    _lanes: "dict[str, asyncio.Task[None]]" = field(default_factory=dict)
    _held: "deque[Callable[[], None]] | None" = None

    def profile_of(self, pod: PodInfo) -> Profile | None:
        """The profile that schedules a pod, None when it is not ours."""
        return self.profiles.get(pod.cls.spec.scheduler_name or DEFAULT_SCHEDULER_NAME)

    def handles(self, pod: Pod) -> bool:
        """Whether a pod asks for one of our profiles."""
        return (pod.spec.scheduler_name or DEFAULT_SCHEDULER_NAME) in self.profiles

    def start(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something beside the loop; it is kept until it ends."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def in_lane(self, uid: str, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run something after what was started before for the same pod, so that its writes keep their order."""
        task = self.start(_after(self._lanes.get(uid), work))
        self._lanes[uid] = task
        task.add_done_callback(lambda done: self._lanes.pop(uid) if self._lanes.get(uid) is done else None)
        return task

    def apply(self, change: Callable[[], None]) -> None:
        """Let a watch event take effect, at once or after the attempt that is being made in another thread."""
        if self._held is not None:
            self._held.append(change)
            return
        change()
        if self.queue.has_work():
            self.work.set()

    def hold(self) -> None:
        """Keep watch events back: an attempt reads the Cluster in another thread."""
        self._held = deque()

    def release(self) -> None:
        """Let the held events take effect."""
        held, self._held = self._held, None
        for change in held or ():
            self.apply(change)


async def _after(previous: "asyncio.Task[None] | None", work: Coroutine[Any, Any, None]) -> None:
    if previous is not None and not previous.done():
        await asyncio.wait([previous])
    await work


def reference(pod: Pod) -> ObjectReference:
    """How events refer to a pod."""
    meta = pod.metadata
    return ObjectReference(
        kind="Pod",
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        api_version="v1",
        resource_version=meta.resource_version,
    )
