"""Small random clusters: few values, so that everything meets everything; for properties of plugins."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from hypothesis import strategies as st

from stowplan.api.meta import KubeObject, Namespace
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.columns.pods import PodInfo
from stowplan.columns.worlds import Worlds
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, namespace, node, select, taint

DISK = "disk"
TOPOLOGY_KEYS = (ZONE, HOSTNAME, DISK)
NAMESPACES = ("default", "web", "unseen")
"""Nobody ever creates the last."""
GONE = "2026-01-01T00:00:00Z"

SELECTORS = (
    select(app="x"),
    select(tier="1"),
    None,
    select(),
    select(app="y"),
    select(app="x", tier="1"),
    select(("app", "In", ["x", "y"])),
    select(("tier", "Exists", [])),
    select(("app", "NotIn", ["x"])),
    select(("tier", "DoesNotExist", []), app="x"),
)
"""None selects nothing, the empty one everything."""

PLACES = [
    *(("a", "ssd", True), ("a", "hdd", True), ("b", "ssd", True), ("b", "hdd", True), ("c", "ssd", True)),
    *((None, "ssd", True), ("", "ssd", True), ("", None, False), ("a", None, True), ("b", "ssd", False)),
    *((None, None, True), (None, None, False)),
]
"""Zone, disk and whether there is a host name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """Nodes, the pods placed on them and the namespaces that exist."""

    nodes: Sequence[Node]
    pods: Sequence[Pod]
    namespaces: Sequence[Namespace] = ()
    others: Sequence[KubeObject] = ()

    def cluster(self) -> Cluster:
        """All of it as columns."""
        return cluster(*self.namespaces, *self.nodes, *self.others, *self.pods)

    def pods_on(self, name: str) -> list[Pod]:
        """The pods of a node."""
        return [other for other in self.pods if other.spec.node_name == name]

    def namespace_labels(self) -> Mapping[str, Mapping[str, str]]:
        """Labels of the namespaces that exist."""
        return {found.name: found.labels for found in self.namespaces}


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs in the world of one node."""

    node: Node
    removed: Sequence[Pod] = field(default_factory=list)
    added: Sequence[Pod] = field(default_factory=list)

    def applied(self, setting: Setting) -> Setting:
        """A setting in which the changes have come true."""
        gone = {other.name for other in self.removed}
        kept = [other for other in setting.pods if other.name not in gone]
        return Setting(setting.nodes, [*kept, *self.added], setting.namespaces, setting.others)


def worlds_of(built: Cluster, changes: Iterable[Changes]) -> Worlds:
    """One world per entry."""
    wanted = list(changes)
    view = built.view()
    rows = view.only([change.node.name for change in wanted])
    worlds = Worlds(view, rows.index)
    names = list(rows.names)
    for change in wanted:
        at = names.index(change.node.name)
        gone = {other.name for other in change.removed}
        for info in list(rows.pods(at)):
            if info.pod.name in gone:
                worlds.remove(at, info)
        for other in change.added:
            worlds.add(at, built.compiler.compile(other))
    return worlds


def compiled(built: Cluster, incoming: Pod) -> PodInfo:
    """The pod as the cluster's plugins read it."""
    return built.compiler.compile(incoming)


def pod_labels() -> st.SearchStrategy[dict[str, str]]:
    """Few labels with few values, any of them missing; one set is more frequent, so that pods meet."""
    anything = st.fixed_dictionaries({}, optional={"app": st.sampled_from("xy"), "tier": st.sampled_from("12")})
    return st.just({"app": "x", "tier": "1"}) | anything


@st.composite
def pod_lists(draw: st.DrawFn, nodes: Sequence[Node], kinds: st.SearchStrategy[Pod], most: int = 10) -> list[Pod]:
    """Pods of some kinds, each on one of the nodes."""
    homes = st.sampled_from([home.name for home in nodes])
    return [moved(draw(kinds), f"b{at}", draw(homes)) for at in range(draw(st.integers(0, most)))]


@st.composite
def node_lists(draw: st.DrawFn) -> list[Node]:
    """One to six nodes, some without a zone, a host name or a disk, some tainted."""
    found = []
    for at in range(draw(st.integers(1, 6))):
        zone, disk, host = draw(st.sampled_from(PLACES))
        labels = {ZONE: zone, DISK: disk, HOSTNAME: f"n{at}" if host else None}
        taints = draw(st.sampled_from([(), (), (taint("own"),), (taint("own", effect="PreferNoSchedule"),)]))
        plain = node(f"n{at}", taints=taints)
        given = {key: value for key, value in labels.items() if value is not None}
        found.append(msgspec.structs.replace(plain, metadata=msgspec.structs.replace(plain.metadata, labels=given)))
    return found


def namespace_lists() -> st.SearchStrategy[list[Namespace]]:
    """The namespaces that may exist, with a team label or without."""
    return st.tuples(st.booleans(), st.booleans()).map(
        lambda teams: [
            namespace(name, **({"team": "t"} if team else {})) for name, team in zip(NAMESPACES, teams, strict=False)
        ]
    )


@st.composite
def change_lists(draw: st.DrawFn, setting: Setting, guests: st.SearchStrategy[Pod]) -> list[Changes]:
    """For some nodes what differs in their worlds; guests are renamed and put on the node."""
    changes = []
    for home in setting.nodes:
        if not draw(st.booleans()):
            continue
        removed = [other for other in setting.pods_on(home.name) if draw(st.booleans())]
        added = [
            moved(guest, f"guest-{home.name}-{at}", home.name)
            for at, guest in enumerate(draw(st.lists(guests, max_size=2)))
        ]
        changes.append(Changes(home, removed, added))
    return changes


def moved(other: Pod, name: str, node_name: str) -> Pod:
    """The pod under another name on another node."""
    return msgspec.structs.replace(
        other,
        metadata=msgspec.structs.replace(other.metadata, name=name, uid=f"uid-{name}"),
        spec=msgspec.structs.replace(other.spec, node_name=node_name),
    )
