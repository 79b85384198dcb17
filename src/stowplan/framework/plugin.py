"""The plugin contract: a class takes part in an extension point by deriving from that point's base.

Names mirror kube-scheduler's in snake_case. `prepare` stands for PreFilter, `prepare_score` for PreScore.
Judging runs over rows: the same code answers for all nodes, for three dirty rows, or for worlds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Protocol, TypeVar, final

import msgspec

from stowplan.api.node import Node
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.devices import DeviceSource
from stowplan.framework.gates import Gates
from stowplan.framework.verdict import Rejection, Verdict
from stowplan.framework.wake import EVERY_EVENT, Wake
from stowplan.goarith import IntN

if TYPE_CHECKING:
    from typing import Self

    from stowplan.framework.post_filter import FailedAttempt, PostFilterResult, Write

P = TypeVar("P")
"""What a plugin prepares for one pod before filtering."""
S = TypeVar("S")
"""What a plugin prepares for one pod before scoring."""

MAX_SCORE: Final = 100
"""Normalised scores lie between 0 and this."""


class Point(StrEnum):
    """Extension points, as the configuration names them."""

    PRE_ENQUEUE = "preEnqueue"
    QUEUE_SORT = "queueSort"
    PRE_FILTER = "preFilter"
    FILTER = "filter"
    POST_FILTER = "postFilter"
    PRE_SCORE = "preScore"
    SCORE = "score"
    RESERVE = "reserve"
    PERMIT = "permit"
    PRE_BIND = "preBind"
    BIND = "bind"
    POST_BIND = "postBind"


class Depends(Enum):
    """What a row's verdict or score depends on, besides the pod: it says when a kept answer is stale."""

    NODE = "the node itself: labels, taints, allocatable, images"
    LOAD = "the node and what is placed on it"
    FLEET = "all nodes, but not what is placed on any"
    CLUSTER = "what is placed elsewhere, or other objects"


class Skip(Enum):
    """What `prepare` and `prepare_score` return when the plugin has nothing to say about a pod."""

    SKIP = "skip"


SKIP: Final = Skip.SKIP


@final
@dataclass(frozen=True, slots=True)
class Restricted(Generic[P]):
    """A plan, and the only nodes that come into question."""

    plan: P
    node_names: frozenset[str]


class PluginError(Exception):
    """Raised when a plugin cannot do its work: the attempt fails and is tried again; it is no rejection."""


@final
class Books:
    """Books that the plugins of all profiles keep together: one of each type, made when first asked for."""

    __slots__ = ("_by_type",)

    def __init__(self) -> None:
        self._by_type: dict[type[Any], Any] = {}

    def of(self, kind: type[P]) -> P:
        """The book of a type."""
        if kind not in self._by_type:
            self._by_type[kind] = kind()
        book: P = self._by_type[kind]
        return book


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContext:
    """What a plugin may know when it is made."""

    gates: Gates = field(default_factory=Gates)
    profile_name: str = "default-scheduler"
    filter_names: frozenset[str] = frozenset()
    """The filters of the profile; some hints depend on who else judges."""
    books: Books = field(default_factory=Books)
    devices: DeviceSource | None = None
    """Counts the devices behind extended resources; None where nobody does."""


class Plugin:
    """Base of all plugins."""

    name: ClassVar[str]
    """Unique; what the configuration, messages and metrics call it."""
    depends: ClassVar[Depends] = Depends.CLUSTER
    args_type: ClassVar[type[msgspec.Struct] | None] = None
    """The typed record its `args` are decoded into; None when it takes none."""
    wakes: Sequence[Wake] = EVERY_EVENT
    """Events that may make a pod schedulable that this plugin rejected; by default all of them."""

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "Self":
        """Make the plugin for a profile. Override it to read arguments."""
        return cls()


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the active queue at all."""

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        """Why the pod must wait outside, None when it may come in."""
        raise NotImplementedError


class QueuedPod(Protocol):
    """A pod in the queue, as far as ordering needs it."""

    @property
    def info(self) -> PodInfo:
        """The pod."""

    @property
    def queued_at(self) -> float:
        """When it was added to the queue."""


class QueueSortPlugin(Plugin):
    """Orders the active queue."""

    def queue_key(self, queued: QueuedPod) -> Any:
        """Sorts ascending; must be comparable with the keys of all other pods."""
        raise NotImplementedError


class PreFilterPlugin(Plugin, Generic[P]):
    """Works out, once per attempt, what judging a pod needs."""

    def prepare(self, view: View, pod: PodInfo) -> P | Restricted[P] | Skip | Rejection:
        """The plan that `filter` gets. A Rejection speaks for all nodes; Skip leaves the filter out."""
        raise NotImplementedError


class FilterPlugin(Plugin, Generic[P]):
    """Judges nodes. Without a `prepare` the plan is None."""

    def filter(self, pod: PodInfo, rows: Rows, plan: P) -> Verdict:
        """Which of these nodes can take the pod."""
        raise NotImplementedError


class PreScorePlugin(Plugin, Generic[S]):
    """Works out, once per attempt, what scoring the feasible nodes needs."""

    unprepared: ClassVar[str] = ""
    """The error of a profile that lets the plugin score, but not prepare; without one it prepares all the same."""

    def prepare_score(self, pod: PodInfo, rows: Rows, plans: Mapping[str, Any]) -> S | Skip:
        """The plan for `score`; `rows` are the feasible nodes, `plans` what `prepare` returned, by plugin name."""
        raise NotImplementedError


class ScorePlugin(Plugin, Generic[S]):
    """Ranks the nodes that passed. Without a `prepare_score` the plan is None."""

    def score(self, pod: PodInfo, rows: Rows, plan: S) -> IntN:
        """A raw score per row."""
        raise NotImplementedError

    def normalize(self, pod: PodInfo, rows: Rows, plan: S, raw_n: IntN) -> IntN:
        """Raw scores of all feasible nodes to 0..MAX_SCORE. By default they are that already.

        Unless the plugin depends on the CLUSTER, this must hang on the rows, the plan and the raw scores alone.
        """
        return raw_n


class PostFilterPlugin(Plugin):
    """Tries to make room when no node passed."""

    def post_filter(self, attempt: "FailedAttempt") -> "PostFilterResult":
        """What could be done."""
        raise NotImplementedError


class ReservePlugin(Plugin):
    """Keeps books of its own on resources, outside of the Cluster."""

    def reserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> Rejection | None:
        """The pod is about to be bound to a node."""
        raise NotImplementedError

    def unreserve(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> "Sequence[Write] | None":
        """It was not bound after all. Called also for plugins whose `reserve` did not run; must not fail.

        What is returned is to be written so that nothing stays behind.
        """
        raise NotImplementedError


@final
@dataclass(frozen=True, slots=True)
class Wait:
    """Hold the pod back for at most so many seconds."""

    seconds: float


class Gatekeeper(Protocol):
    """Holds the pods that wait for permission. A shell keeps it."""

    def allow(self, uid: str, plugin: str) -> None:
        """The plugin has nothing against the pod any more."""

    def reject(self, uid: str, plugin: str, reason: str) -> bool:
        """The pod may not be bound; says whether it was waiting."""


class PermitPlugin(Plugin):
    """Approves, refuses or delays a binding."""

    def attach(self, gatekeeper: Gatekeeper) -> None:
        """Given once by a shell that binds, for plugins that let held pods go later."""

    def permit(self, view: View, pod: PodInfo, node_name: str) -> Rejection | Wait | None:
        """None approves at once."""
        raise NotImplementedError


class PreBindPlugin(Plugin):
    """Does what must be done before the binding is written."""

    def pre_bind_needed(self, view: View, pod: PodInfo, node_name: str, plans: Mapping[str, Any]) -> bool:
        """Whether there is anything to do for this pod."""
        raise NotImplementedError

    async def pre_bind(self, binding: "Binding") -> Rejection | None:
        """Do it."""
        raise NotImplementedError


class BindPlugin(Plugin):
    """Writes the binding."""

    async def bind(self, binding: "Binding") -> bool:
        """Whether this plugin took care of the pod; False leaves it to the next one."""
        raise NotImplementedError


class PostBindPlugin(Plugin):
    """Hears of bindings that succeeded."""

    def post_bind(self, pod: PodInfo, node_name: str) -> None:
        """The pod is bound."""
        raise NotImplementedError


class ApiFailure(Exception):  # noqa: N818 - says whose failure it is
    """Raised by an ApiWriter when the API refuses or cannot be reached."""


class ApiConflict(ApiFailure):
    """Raised by an ApiWriter when the object was changed by somebody else meanwhile."""


class ApiWriter(Protocol):
    """What a plugin may write to the API while a pod is being bound. A shell performs it; it raises ApiFailure."""

    async def bind(self, pod: PodInfo, node_name: str) -> None:
        """Write the binding."""

    async def update(self, obj: Any, *, subresource: str = "") -> Any:
        """Replace an object or its subresource; returns what the server stored."""

    async def create(self, obj: Any) -> Any:
        """Create an object; returns what the server stored."""

    async def get(self, kind: type[Any], key: str) -> Any:
        """Read an object as the server has it now."""

    async def patch(self, obj: Any, patch: bytes, *, subresource: str = "") -> Any:
        """Apply a strategic merge patch; returns what the server stored."""

    async def pause(self, seconds: float) -> None:
        """Let time pass."""

    def now(self) -> float:
        """Seconds since the epoch."""

    def event(self, pod: PodInfo, reason: str, action: str, note: str) -> None:
        """Emit a Normal event about the pod."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A pod on its way to a node."""

    pod: PodInfo
    node_name: str
    plans: Mapping[str, Any]
    objects: ObjectStore
    """The Cluster's objects, as they change."""
    find_node: Callable[[], Node | None]
    """The node as the Cluster has it now."""
    pod_exists: Callable[[], bool]
    """Whether the API still has the pod."""
    writer: ApiWriter


POINT_BASES: Final[tuple[tuple[Point, type[Plugin]], ...]] = (
    (Point.PRE_ENQUEUE, PreEnqueuePlugin),
    (Point.QUEUE_SORT, QueueSortPlugin),
    (Point.PRE_FILTER, PreFilterPlugin),
    (Point.FILTER, FilterPlugin),
    (Point.POST_FILTER, PostFilterPlugin),
    (Point.PRE_SCORE, PreScorePlugin),
    (Point.SCORE, ScorePlugin),
    (Point.RESERVE, ReservePlugin),
    (Point.PERMIT, PermitPlugin),
    (Point.PRE_BIND, PreBindPlugin),
    (Point.BIND, BindPlugin),
    (Point.POST_BIND, PostBindPlugin),
)


def points_of(plugin: type[Plugin]) -> frozenset[Point]:
    """The extension points a plugin class takes part in."""
    return frozenset(point for point, base in POINT_BASES if issubclass(plugin, base))
