"""Generated clusters and pods with few words in them, so that what they say often meets.

Objects come from pools made once with a fixed seed: hypothesis then chooses among them, which costs a tenth of
letting it choose every field, and still shrinks the number of nodes and pods.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final, final

from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.api.affinity import Affinity, NodeSelectorTerm, Toleration
from stowplan.api.node import Node
from stowplan.api.pod import Container, ContainerPort, Pod, ResourceRequirements
from stowplan.columns.cluster import Cluster
from stowplan.testing import builders
from stowplan.testing.builders import ZONE, node, node_term, on_nodes, taint

MI: Final = 1024 * 1024
NODE_NAMES: Final = ("n0", "n1", "n2", "n3", "n4", "n5")
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
LABELS: Final[Mapping[str, tuple[str, ...]]] = {"disk": ("ssd", "hdd"), "gen": ("1", "4", "9", "x"), ZONE: ("a", "b")}
AMOUNTS: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": ("0", "100m", "1500m", "3", "40"),
    "memory": ("0", "128Mi", "3e9", "6Gi"),
    "ephemeral-storage": ("1Gi", "20Gi"),
    "nvidia.com/gpu": ("0", "1", "3"),
    "example.com/fpga": ("1", "2"),
    "hugepages-2Mi": ("0", "64Mi"),
}
EXTENDED: Final[Mapping[str, tuple[str, ...]]] = {
    "ephemeral-storage": ("10Gi",),
    "nvidia.com/gpu": ("0", "2", "4"),
    "hugepages-2Mi": ("128Mi",),
}
IMAGES: Final = ("web", "web:v1", "reg:5000/db", "reg:5000/db:latest", "tool@sha256:77")
SIZES: Final = (0, 20 * MI, 300 * MI, 2500 * MI)


@final
class Maker:
    """Makes nodes and pods by chance."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def node(self, name: str) -> Node:
        """A node that may lack a resource, may be full, tainted or cordoned."""
        r = self._random
        return node(
            name,
            cpu=r.choice(["0", "1", "4", "7910m"]),
            memory=r.choice(["0", "2Gi", "8Gi"]),
            pods=r.choice([0, 1, 3, 110]),
            extended=self._some(EXTENDED),
            labels=self._some(LABELS),
            taints=[
                taint(r.choice(["dedicated", "gpu", "level"]), r.choice(["", "a", "7"]), r.choice(EFFECTS))
                for _ in range(r.choice([0, 0, 1, 3]))
            ],
            cordoned=r.random() < 0.3,
            images={
                name: r.choice(SIZES)
                for name in ("web:latest", "web:v1", "reg:5000/db:latest", "tool@sha256:77", "unused:v1")
                if r.random() < 0.4
            },
            features=[name for name in ("A", "RestartAllContainersOnContainerExits") if r.random() < 0.4],
        )

    def pod(self) -> Pod:
        """A pod with containers of all kinds; it may tolerate taints, and want some nodes."""
        r = self._random
        made = builders.pod(
            containers=[self._container() for _ in range(r.choice([1, 1, 2, 3]))],
            init_containers=[self._container() for _ in range(r.choice([0, 0, 1, 2]))],
            overhead=r.choice([{}, {}, {"cpu": "100m"}]),
            tolerations=[self._toleration() for _ in range(r.choice([0, 0, 1, 3]))],
            node_selector=r.choice([{}, {}, {}, {"disk": "ssd"}, {"gen": "4", ZONE: "a"}]),
            affinity=self._affinity(),
        )
        if r.random() < 0.8:
            return made
        whole = ResourceRequirements(requests={"cpu": "2", **r.choice([{}, {"memory": "1Gi"}])})
        return replace(made, spec=replace(made.spec, resources=whole))

    def _some(self, choices: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
        r = self._random
        return {key: r.choice(values) for key, values in choices.items() if r.random() < 0.6}

    def _container(self) -> Container:
        r = self._random
        return Container(
            image=r.choice(IMAGES),
            resources=ResourceRequirements(requests={k: v for k, v in self._some(AMOUNTS).items() if r.random() < 0.6}),
            ports=tuple(
                ContainerPort(
                    host_ip=r.choice(["", "0.0.0.0", "10.0.0.1", "127.0.0.1"]),
                    protocol=r.choice(["TCP", "UDP", ""]),
                    host_port=r.choice([0, 80, 90]),
                )
                for _ in range(r.choice([0, 0, 1, 2]))
            ),
            restart_policy="Always" if r.random() < 0.3 else None,
        )

    def _toleration(self) -> Toleration:
        r = self._random
        return Toleration(
            key=r.choice(["dedicated", "gpu", "level", ""]),
            operator=r.choice(["Exists", "Equal", "", "Lt", "Gt", "Like"]),
            value=r.choice(["", "a", "5", "9"]),
            effect=r.choice(["", *EFFECTS]),
        )

    def _affinity(self) -> Affinity | None:
        r = self._random
        if r.random() < 0.4:
            return None
        return on_nodes(
            *(self._term(bad=0.1) for _ in range(r.choice([0, 1, 3]))),
            prefer=[(r.randint(0, 100), self._term(bad=0)) for _ in range(r.choice([0, 1, 3]))],
        )

    def _term(self, bad: float) -> NodeSelectorTerm:
        r = self._random
        expressions: list[tuple[str, str, tuple[str, ...]]] = []
        for _ in range(r.choice([0, 1, 1, 2])):
            key = r.choice([*LABELS, "missing"])
            if r.random() < bad:
                expressions.append((key, r.choice(["Like", "In"]), ()))
                continue
            operator = r.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
            values = {"In": ("ssd", "4", "other"), "NotIn": ("hdd", "a"), "Gt": ("4",), "Lt": ("5",)}.get(operator, ())
            expressions.append((key, operator, values))
        names = [r.choice([*NODE_NAMES, "gone"])] if r.random() < 0.3 else []
        return node_term(*expressions, names=[*names, "n1"] if r.random() < bad else names)


MAKER: Final = Maker(7)
NODE_POOL: Final = {name: [MAKER.node(name) for _ in range(30)] for name in NODE_NAMES}
POD_POOL: Final = [MAKER.pod() for _ in range(300)]


def pods(name: str = "pod", on: str = "") -> st.SearchStrategy[Pod]:
    """A pod of that name."""
    return st.sampled_from(POD_POOL).map(lambda pod: named(pod, name, on))


def named(pod: Pod, name: str, on: str = "") -> Pod:
    """The pod under another name, on a node."""
    meta = replace(pod.metadata, name=name, uid=f"uid-{name}")
    return replace(pod, metadata=meta, spec=replace(pod.spec, node_name=on))


def nodes(name: str) -> st.SearchStrategy[Node]:
    """A node of that name."""
    return st.sampled_from(NODE_POOL[name])


@final
@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes and the pods placed on them, as objects, for twins to read."""

    nodes: tuple[Node, ...]
    placed: Mapping[str, tuple[Pod, ...]]

    def cluster(self) -> Cluster:
        """The same as columns."""
        return builders.cluster(*self.nodes, *(pod for pods in self.placed.values() for pod in pods))


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    """Up to six nodes with up to three pods each."""
    names = NODE_NAMES[: draw(st.integers(1, len(NODE_NAMES)))]
    placed = {}
    for name in names:
        chosen = draw(st.lists(st.sampled_from(POD_POOL), max_size=3))
        placed[name] = tuple(named(pod, f"{name}-{i}", name) for i, pod in enumerate(chosen))
    return Scene(tuple(draw(nodes(name)) for name in names), placed)


@st.composite
def changes(draw: st.DrawFn) -> Callable[[Cluster], None]:
    """A few nodes that come, change and go, and a few pods that come and go."""
    steps: list[tuple[str, Node | Pod | str]] = []
    for number in range(draw(st.integers(1, 4))):
        name = draw(st.sampled_from(NODE_NAMES))
        kind = draw(st.sampled_from(["put node", "remove node", "put pod", "remove pod"]))
        match kind:
            case "put node":
                steps.append((kind, draw(nodes(name))))
            case "put pod":
                steps.append((kind, draw(pods(f"new-{number}", on=name))))
            case "remove node":
                steps.append((kind, name))
            case _:
                steps.append((kind, f"uid-{name}-0"))

    def apply(cluster: Cluster) -> None:
        for kind, what in steps:
            if isinstance(what, Node | Pod):
                cluster.put(what)
            elif kind == "remove node":
                cluster.remove_node(what)
            else:
                cluster.remove_pod(what)

    return apply
