"""The scalar twin of the Cluster: plain dictionaries, and every column worked out anew from them."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from stowplan.api.affinity import Affinity
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.pod_selectors import Labels, PodSelector
from stowplan.columns.term_counts import AffinityTerm
from stowplan.testing.builders import ZONE, company, pod, select, term

GONE: Final = "2026-01-01T00:00:00Z"
REGION: Final = "topology.kubernetes.io/region"
OLD_ZONE: Final = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION: Final = "failure-domain.beta.kubernetes.io/region"

HostPort = tuple[str, str, int]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of pod, and what it weighs: told by hand, not read from the pod."""

    namespace: str = "default"
    labels: Mapping[str, str] = field(default_factory=dict)
    milli: int | None = None
    mega: int | None = None
    gpus: int = 0
    ports: tuple[HostPort, ...] = ()
    claims: tuple[str, ...] = ()
    affinity: Affinity | None = None

    def pod(self, name: str, on: str = "", deleted: str | None = None) -> Pod:
        """A pod of this kind."""
        return pod(
            name,
            namespace=self.namespace,
            labels=self.labels,
            cpu=None if self.milli is None else f"{self.milli}m",
            memory=None if self.mega is None else f"{self.mega}Mi",
            extended={"example.com/gpu": self.gpus} if self.gpus else None,
            host_ports=self.ports,
            claims=self.claims,
            affinity=self.affinity,
            on=on,
            deleted=deleted,
            uid=f"uid-{name}",
        )

    @property
    def requested(self) -> dict[str, int]:
        """What it asks for, by resource."""
        asked = {"cpu": self.milli or 0, "memory": (self.mega or 0) << 20, "example.com/gpu": self.gpus}
        return {name: amount for name, amount in asked.items() if amount}

    @property
    def nonzero(self) -> tuple[int, int]:
        """Cpu and memory, with the defaults where it asks for none."""
        return 100 if self.milli is None else self.milli, (200 if self.mega is None else self.mega) << 20


NEAR_X: Final = company(near=[term(select(app="x"), ZONE)])
FAR_X: Final = company(far=[term(select(app="x"), namespaces=["web"])], prefer_near=[(5, term(select(), ZONE))])
OF_TEAM: Final = company(prefer_far=[(1, term(select(), namespace_selector=select(team="t")))])

KINDS: Final = (
    Kind(),
    Kind(labels={"app": "x"}, milli=300, mega=64),
    Kind(labels={"app": "x", "tier": "1"}, milli=0, affinity=NEAR_X),
    Kind(namespace="web", labels={"app": "x"}, gpus=2, ports=(("", "TCP", 80),), affinity=FAR_X),
    Kind(namespace="web", labels={"app": "y"}, mega=1, ports=(("10.0.0.1", "TCP", 80), ("", "UDP", 53))),
    Kind(namespace="unseen", labels={"tier": "1"}, claims=("data",), affinity=OF_TEAM),
    Kind(labels={"app": "y"}, ports=(("10.0.0.1", "TCP", 80),), claims=("data", "logs", "data")),
    Kind(namespace="web", labels={"app": "x"}, milli=1, affinity=NEAR_X),
)

WANTED_PORTS: Final[tuple[HostPort, ...]] = (
    ("0.0.0.0", "TCP", 80),
    ("10.0.0.1", "TCP", 80),
    ("10.0.0.2", "TCP", 80),
    ("0.0.0.0", "UDP", 53),
    ("0.0.0.0", "UDP", 80),
)


@final
@dataclass(slots=True)
class PlacedTwin:
    """A placed pod."""

    kind: Kind
    pod: Pod
    node: str
    assumed: bool


@final
class NodeTreeTwin:
    """Upstream's node tree: per zone an array of names, and an array of zones."""

    def __init__(self) -> None:
        self.tree: dict[str, list[str]] = {}
        self.zones: list[str] = []

    def add(self, name: str, zone: str) -> None:
        """At the end of its zone."""
        if zone not in self.tree:
            self.zones.append(zone)
            self.tree[zone] = []
        self.tree[zone].append(name)

    def remove(self, name: str, zone: str) -> None:
        """Out of its zone, and the zone out of the array when it is empty."""
        self.tree[zone].remove(name)
        if not self.tree[zone]:
            del self.tree[zone]
            self.zones.remove(zone)

    def names(self) -> list[str]:
        """The first of every zone, the second of every zone, and so on."""
        longest = max((len(names) for names in self.tree.values()), default=0)
        return [self.tree[zone][turn] for turn in range(longest) for zone in self.zones if turn < len(self.tree[zone])]


def zone_key(labels: Labels) -> str:
    """Upstream's GetZoneKey: a region and a zone around a separator that no label has, or nothing."""
    zone = labels[OLD_ZONE] if OLD_ZONE in labels else labels.get(ZONE, "")
    region = labels[OLD_REGION] if OLD_REGION in labels else labels.get(REGION, "")
    return f"{region}:\x00:{zone}" if region or zone else ""


@final
class ClusterTwin:
    """Nodes, placed pods, namespaces."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.tree = NodeTreeTwin()
        self.placed: dict[str, PlacedTwin] = {}
        self.ports: dict[str, set[HostPort]] = {}
        self.namespaces: dict[str, Labels] = {}

    def put_node(self, node: Node) -> None:
        """A node comes or changes."""
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        after = zone_key(node.labels)
        if old is None:
            self.tree.add(node.name, after)
        elif zone_key(old.labels) != after:
            self.tree.remove(node.name, zone_key(old.labels))
            self.tree.add(node.name, after)

    def remove_node(self, name: str) -> None:
        """A node goes."""
        self.tree.remove(name, zone_key(self.nodes.pop(name).labels))

    def place(self, kind: Kind, placed: Pod, node: str, *, assumed: bool) -> None:
        """A pod comes to a node."""
        self.placed[placed.uid] = PlacedTwin(kind, placed, node, assumed)
        self.ports.setdefault(node, set()).update(sanitized(kind.ports))

    def leave(self, uid: str) -> None:
        """A pod leaves its node, and frees its ports whoever else uses them."""
        gone = self.placed.pop(uid)
        self.ports[gone.node] -= set(sanitized(gone.kind.ports))

    # ---- what the columns should say

    def rows(self) -> set[str]:
        """Names that have a row: nodes, and where pods are."""
        return set(self.nodes) | {placed.node for placed in self.placed.values()}

    def on(self, node: str) -> Iterator[PlacedTwin]:
        """The pods of a node."""
        return (placed for placed in self.placed.values() if placed.node == node)

    def requested(self, node: str) -> Counter[str]:
        """What the pods there ask for."""
        total: Counter[str] = Counter()
        for placed in self.on(node):
            total.update(placed.kind.requested)
        return total

    def nonzero(self, node: str) -> tuple[int, int]:
        """What they ask for, with defaults."""
        found = [placed.kind.nonzero for placed in self.on(node)]
        return sum(cpu for cpu, _ in found), sum(memory for _, memory in found)

    def port_taken(self, node: str, wanted: HostPort) -> bool:
        """Upstream's HostPortInfo.CheckConflict."""
        address, protocol, port = wanted
        used = {a for a, p, n in self.ports.get(node, ()) if (p, n) == (protocol, port)}
        return bool(used) if address == "0.0.0.0" else bool(used & {"0.0.0.0", address})

    def picks(self, what: PodSelector, kind: Kind, *, unknown: Labels | None = None) -> bool:
        """Whether a selector speaks of pods of a kind; `unknown` are the labels of a namespace that nobody saw."""
        labels = self.namespaces.get(kind.namespace, unknown)
        named = kind.namespace in what.namespaces
        everywhere = what.namespace_selector.is_everything
        by_labels = labels is not None and what.namespace_selector.matches(labels)
        return (named or everywhere or by_labels) and what.selector.matches(kind.labels)

    def count(self, what: PodSelector, node: str, *, live_only: bool) -> int:
        """Pods on a node that a selector matches."""
        return sum(
            self.picks(what, placed.kind)
            for placed in self.on(node)
            if not (live_only and placed.pod.metadata.deletion_timestamp)
        )

    def terms(self, node: str, terms_of: Mapping[str, tuple[AffinityTerm, ...]]) -> Counter[AffinityTerm]:
        """How many pods on a node carry which term; the terms are given by pod."""
        return Counter(term for placed in self.on(node) for term in terms_of[placed.pod.uid])

    def claims(self, node: str) -> Counter[str]:
        """Uses of claims on a node."""
        return Counter(f"{placed.kind.namespace}/{claim}" for placed in self.on(node) for claim in placed.kind.claims)


def sanitized(ports: tuple[HostPort, ...]) -> Iterator[HostPort]:
    """Ports with the address that an empty one stands for."""
    return ((address or "0.0.0.0", protocol, port) for address, protocol, port in ports)
