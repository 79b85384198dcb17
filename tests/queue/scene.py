"""A small profile for the queue's tests: a gate, two filters that wake differently, one that waits for claims."""

from typing import Final

from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import FilterPlugin, Plugin, Point, PreEnqueuePlugin
from stowplan.framework.profile import PluginEntry, Profile, ProfileSpec, build_profile
from stowplan.framework.registry import Registry
from stowplan.framework.verdict import Rejection, Verdict, rejection
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.plugins.default_binder import DefaultBinder
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.testing.builders import cluster, node, pod

CLOSED: Final = rejection("the gate is closed")
EMPTY_VIEW: Final = cluster().view()


class Gate(PreEnqueuePlugin):
    """Closed for the pods whose label says so."""

    name = "Gate"
    wakes = (Wake(Kind.UNSCHEDULED_POD, Change.POD_LABELS),)

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        return CLOSED if "gate" in pod.cls.labels else None


class SecondGate(PreEnqueuePlugin):
    """Closed for the pods whose other label says so."""

    name = "SecondGate"
    wakes = ()

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        return CLOSED if "second-gate" in pod.cls.labels else None


class _Passes(FilterPlugin[None]):
    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        return Verdict.pass_all()


def is_for(parked: PodInfo, event: ObjectEvent, _view: View) -> bool:
    """Whether a new node carries the pod's app as a label; a node called `broken` makes it fail."""
    if event.new.name == "broken":
        raise ValueError("a hint that fails")
    wanted: object = parked.cls.labels.get("app", "")
    return bool(event.new.labels.get("for") == wanted)


class NeedsNode(_Passes):
    """Wakes for new nodes of the pod's app."""

    name = "NeedsNode"
    wakes = (Wake(Kind.NODE, Change.ADDED | Change.NODE_TAINTS, is_for),)


class NeedsRoom(_Passes):
    """Wakes whenever a placed pod goes."""

    name = "NeedsRoom"
    wakes = (Wake(Kind.ASSIGNED_POD, Change.DELETED),)


class NeedsClaim(_Passes):
    """Waits for claims."""

    name = "NeedsClaim"
    wakes = (Wake(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED | Change.UPDATED),)


PLUGINS: Final[tuple[type[Plugin], ...]] = (
    PrioritySort, Gate, SecondGate, NeedsNode, NeedsRoom, NeedsClaim, DefaultBinder
)  # fmt: skip


def profile_of(*plugins: type[Plugin], name: str = "default-scheduler") -> Profile:
    """A profile of these plugins, each at every point it takes part in."""
    registry = Registry(plugins)
    points = {
        str(point): tuple(PluginEntry(p.name, 1) for p in plugins if point in (registry.points_of(p.name) or ()))
        for point in Point
    }
    return build_profile(ProfileSpec(scheduler_name=name, points=points), registry, Gates())


def info(name: str = "p", *, labels: dict[str, str] | None = None, nominated: str = "", priority: int = 0) -> PodInfo:
    """A waiting pod."""
    made = pod(name, labels=labels, nominated=nominated, priority=priority, uid=f"uid-{name}")
    return PodCompiler().compile(made)


def node_added(app: str = "", name: str = "n") -> ObjectEvent:
    """A new node for pods of an app."""
    return ObjectEvent(Kind.NODE, Change.ADDED, None, node(name, labels={"for": app}))


ROOM: Final = ObjectEvent(Kind.ASSIGNED_POD, Change.DELETED, info("gone"))
CLAIM: Final = ObjectEvent(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED)
CLASS: Final = ObjectEvent(Kind.STORAGE_CLASS, Change.ADDED)
EVERYTHING: Final = ObjectEvent(Kind.ANY, Change.ALL)
