"""Watch events into the cluster and the queue: what changed, and who may be woken by it.

Upstream: pkg/scheduler/eventhandlers.go (v1.36.4).
"""

import logging
from collections.abc import Callable
from typing import final

from stowplan.api.errors import QuantityError
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.daemon.evicting import Evictor
from stowplan.daemon.live import Live
from stowplan.daemon.permits import Permits
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.queue.events import node_events, object_events, pod_events

_LOG = logging.getLogger(__name__)


@final
class PodHandler:
    """Pods that have a node belong to the Cluster, those that wait for one of our profiles to the queue."""

    def __init__(self, live: Live, permits: Permits, evictor: Evictor) -> None:
        self._live = live
        self._permits = permits
        self._evictor = evictor

    def on_add(self, obj: Pod, initial: bool) -> None:  # noqa: ARG002 - the informer's contract
        """A pod came."""
        self._live.apply(lambda: self._guarded(obj, "Add", lambda: self._added(obj)))

    def on_update(self, old: Pod, new: Pod) -> None:
        """A pod changed."""
        self._live.apply(lambda: self._changed(old, new))

    def on_delete(self, obj: Pod) -> None:
        """A pod went."""
        self._live.apply(lambda: self._guarded(obj, "Delete", lambda: self._deleted(obj)))

    def _guarded(self, pod: Pod, what: str, change: Callable[[], None]) -> None:
        started = self._live.clock.monotonic()
        try:
            change()
        except QuantityError as error:
            # the API server lets no such pod in; should one come all the same, the others must not suffer
            _LOG.error("Pod %s cannot be read and is left alone: %s", pod.key, error)
        kind = Kind.ASSIGNED_POD if pod.spec.node_name else Kind.UNSCHEDULED_POD
        self._live.telemetry.event(f"{kind}{what}", self._live.clock.monotonic() - started)

    def _changed(self, old: Pod, new: Pod) -> None:
        if old.spec.node_name or not new.spec.node_name:
            self._guarded(new, "Update", lambda: self._updated(old, new))
            return
        self._guarded(new, "Add", lambda: self._placed(new))
        if self._live.handles(old):
            self._guarded(old, "Delete", lambda: self._live.queue.delete(self._live.cluster.compiler.compile(old)))

    def _added(self, pod: Pod) -> None:
        live = self._live
        if pod.spec.node_name:
            self._placed(pod)
        elif live.handles(pod):
            live.queue.add(live.cluster.compiler.compile(pod), live.clock.now())

    def _placed(self, pod: Pod) -> None:
        info = self._live.cluster.put_pod(pod)
        self._move(pod_events(None, info, assigned=True))

    def _updated(self, old: Pod, new: Pod) -> None:
        live = self._live
        if old.spec.node_name:
            before = live.cluster.placed_pod(new.metadata.uid)
            after = live.cluster.put_pod(new)
            if after.terminating:
                self._evictor.victim_left(after.uid)
            if before is not None:
                self._move(pod_events(before, after, assigned=True))
        elif live.handles(old):
            self._updated_waiting(old, new)

    def _updated_waiting(self, old: Pod, new: Pod) -> None:
        live = self._live
        if old.metadata.resource_version == new.metadata.resource_version:
            return  # parity: a pod that did not change must not be tried twice (issue 96071 upstream)
        after = live.cluster.compiler.compile(new)
        if live.cluster.is_assumed(after.uid):
            if after.terminating and old.metadata.deletion_timestamp is None:
                self._assumed_pod_goes(after.uid)
            return
        before = live.cluster.compiler.compile(old)
        live.queue.update(before, after, live.clock.now())
        nominated = old.status.nominated_node_name
        if nominated and nominated != new.status.nominated_node_name:
            self._room_is_free(before)

    def _deleted(self, pod: Pod) -> None:
        live = self._live
        uid = pod.metadata.uid
        if pod.spec.node_name:
            self._evictor.victim_left(uid)
            gone = live.cluster.remove_pod(uid) or live.cluster.compiler.compile(pod)
            self._move(pod_events(gone, None, assigned=True))
        elif live.handles(pod):
            info = live.cluster.compiler.compile(pod)
            live.queue.delete(info)
            if live.cluster.is_assumed(uid):
                self._assumed_pod_goes(uid)
            elif pod.status.nominated_node_name:
                self._room_is_free(info)

    def _assumed_pod_goes(self, uid: str) -> None:
        """A pod that is on its way to a node is being deleted: free its place now, its binding will fail."""
        live = self._live
        assumed = live.cluster.placed_pod(uid)
        if assumed is None:
            return
        if not self._permits.reject(uid, "", "pod is deleted"):
            live.cluster.forget(uid)
        self._move(pod_events(assumed, None, assigned=True))

    def _room_is_free(self, pod: PodInfo) -> None:
        """A nomination is void: pods that had to respect it may fit now."""
        event = ObjectEvent(Kind.ASSIGNED_POD, Change.DELETED, pod, None)
        now = self._live.clock.now()
        self._live.queue.move_all(event, now, only=lambda waiting: waiting.priority <= pod.priority)

    def _move(self, events: list[ObjectEvent]) -> None:
        for event in events:
            self._live.queue.move_all(event, self._live.clock.now())


@final
class NodeHandler:
    """Nodes."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def on_add(self, obj: Node, initial: bool) -> None:  # noqa: ARG002 - the informer's contract
        """A node came."""
        self._live.apply(lambda: self._put(None, obj))

    def on_update(self, old: Node, new: Node) -> None:
        """A node changed."""
        self._live.apply(lambda: self._put(old, new))

    def on_delete(self, obj: Node) -> None:
        """A node went."""
        self._live.apply(lambda: self._gone(obj))

    def _put(self, old: Node | None, new: Node) -> None:
        started = self._live.clock.monotonic()
        try:
            self._live.cluster.put_node(new)
        except QuantityError as error:
            _LOG.error("Node %s cannot be read and keeps its last state: %s", new.name, error)
            return
        updating = self._live.clock.monotonic() - started
        for event in node_events(old, new):
            move_and_tell(self._live, event, updating)

    def _gone(self, node: Node) -> None:
        for event in node_events(node, None):
            move_and_tell(self._live, event)
        self._live.cluster.remove_node(node.name)


@final
class ObjectHandler:
    """All other objects."""

    def __init__(self, live: Live) -> None:
        self._live = live

    def on_add(self, obj: KubeObject, initial: bool) -> None:  # noqa: ARG002 - the informer's contract
        """An object came."""
        self._live.apply(lambda: self._put(None, obj))

    def on_update(self, old: KubeObject, new: KubeObject) -> None:
        """An object changed."""
        self._live.apply(lambda: self._put(old, new))

    def on_delete(self, obj: KubeObject) -> None:
        """An object went."""
        self._live.apply(lambda: self._gone(obj))

    def _put(self, old: KubeObject | None, new: KubeObject) -> None:
        self._live.cluster.put_object(new)
        self._move(object_events(old, new))

    def _gone(self, obj: KubeObject) -> None:
        self._live.cluster.remove_object(type(obj), obj.key)
        self._move(object_events(obj, None))

    def _move(self, events: list[ObjectEvent]) -> None:
        for event in events:
            move_and_tell(self._live, event)


def move_and_tell(live: Live, event: ObjectEvent, updating: float = 0.0) -> None:
    """Wake whom the event may help; that took as long as it took, on top of what went before."""
    started = live.clock.monotonic()
    live.queue.move_all(event, live.clock.now())
    live.telemetry.event(event.label, updating + live.clock.monotonic() - started)
