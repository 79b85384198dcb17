"""Room on nodes: the filter, and the scores of the default and other strategies."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from msgspec.structs import replace

from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Container, Pod, ResourceRequirements
from stowplan.api.requests import node_amounts, pod_load, pod_requests, score_requests
from stowplan.api.resource import DeviceClass
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books, PluginContext, PluginError
from stowplan.framework.plugin_args import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    NodeResourcesFitArgs,
    ResourceSpec,
    ScoringStrategy,
)
from stowplan.framework.verdict import Rejection, rejection, unresolvable
from stowplan.plugins.dynamic_resources.totals import CountedDevices
from stowplan.plugins.node_resources_fit.plugin import NodeResourcesFit
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_filter, run_score
from tests.plugins.dynamic_resources.devices import allocation, claim, device_class, gpu, piece
from tests.plugins.generated import MI, Scene, pods, scenes

GPU = "nvidia.com/gpu"
SMALL = node("a", cpu=2, memory="2Gi", pods=3, extended={GPU: 2, "ephemeral-storage": "10Gi", "hugepages-2Mi": "64Mi"})


@pytest.mark.parametrize(
    ("placed", "wanting", "want"),
    [
        pytest.param([], pod(cpu=2, memory="2Gi"), None, id="all there is may be taken"),
        pytest.param([pod("x", cpu=1)], pod(cpu=2), rejection("Insufficient cpu"), id="too little is left"),
        pytest.param([], pod(cpu="2001m"), unresolvable("Insufficient cpu"), id="too little even when empty"),
        pytest.param([pod("x", memory="1Gi")], pod(memory="1025Mi"), rejection("Insufficient memory"), id="memory"),
        pytest.param(
            [],
            pod(extended={"ephemeral-storage": "11Gi"}),
            unresolvable("Insufficient ephemeral-storage"),
            id="ephemeral storage",
        ),
        pytest.param(
            [pod("x", extended={GPU: 2})], pod(extended={GPU: 1}), rejection(f"Insufficient {GPU}"), id="devices"
        ),
        pytest.param(
            [], pod(extended={"hugepages-2Mi": "65Mi"}), unresolvable("Insufficient hugepages-2Mi"), id="huge pages"
        ),
        pytest.param([], pod(extended={"x.io/none": 1}), unresolvable("Insufficient x.io/none"), id="nobody has it"),
        pytest.param([], pod(extended={"x.io/none": 0}), None, id="none of what nobody has"),
        pytest.param(
            [pod("x", cpu=1, memory="1Gi", extended={GPU: 1})],
            pod(cpu=2, memory="2Gi", extended={GPU: 2, "ephemeral-storage": "1Gi"}),
            rejection("Insufficient cpu", "Insufficient memory", f"Insufficient {GPU}"),
            id="every shortage is named",
        ),
        pytest.param(
            [pod("x", cpu=1)],
            pod(cpu=2, memory="3Gi"),
            unresolvable("Insufficient cpu", "Insufficient memory"),
            id="one that is hopeless makes all so",
        ),
        pytest.param(
            [pod(f"x{i}") for i in range(3)],
            pod(cpu=3),
            unresolvable("Too many pods", "Insufficient cpu"),
            id="full first",
        ),
        pytest.param(
            [pod(f"x{i}") for i in range(3)], pod(), rejection("Too many pods"), id="a full node can be emptied"
        ),
        pytest.param(
            [pod("x", cpu=2), pod("y", cpu=1)], pod(memory="1Gi"), None, id="overcommitted cpu that is not asked"
        ),
    ],
)
def test_filter(placed: Sequence[Pod], wanting: Pod, want: Rejection | None) -> None:
    there = [replace(p, spec=replace(p.spec, node_name="a")) for p in placed]

    assert want == run_filter(NodeResourcesFit(), [SMALL, *there], wanting).on("a")


def test_init_containers_sidecars_and_overhead_count() -> None:
    def asking(cpu: str, always: bool = False) -> Container:
        return Container(
            resources=ResourceRequirements(requests={"cpu": cpu}), restart_policy="Always" if always else None
        )

    fits = pod(containers=[asking("1")], init_containers=[asking("500m", always=True), asking("1500m")])
    too_much = pod(containers=[asking("1")], init_containers=[asking("500m", always=True), asking("1600m")])
    with_overhead = pod(containers=[asking("1900m")], overhead={"cpu": "101m"})

    assert run_filter(NodeResourcesFit(), [SMALL], fits).on("a") is None
    assert unresolvable("Insufficient cpu") == run_filter(NodeResourcesFit(), [SMALL], too_much).on("a")
    assert unresolvable("Insufficient cpu") == run_filter(NodeResourcesFit(), [SMALL], with_overhead).on("a")


@pytest.mark.parametrize(
    ("args", "wanting", "want"),
    [
        pytest.param(
            NodeResourcesFitArgs(ignored_resources=("x.io/a",)), pod(extended={"x.io/a": 1}), None, id="ignored by name"
        ),
        pytest.param(
            NodeResourcesFitArgs(ignored_resource_groups=("x.io",)), pod(extended={"x.io/a": 1}), None, id="by group"
        ),
        pytest.param(
            NodeResourcesFitArgs(ignored_resources=("x.io/a",), ignored_resource_groups=("y.io",)),
            pod(extended={"x.io/b": 1}),
            unresolvable("Insufficient x.io/b"),
            id="another name and group",
        ),
        pytest.param(
            NodeResourcesFitArgs(ignored_resources=("hugepages-2Mi", "cpu")),
            pod(cpu=3, extended={"hugepages-2Mi": "65Mi"}),
            unresolvable("Insufficient cpu", "Insufficient hugepages-2Mi"),
            id="only extended resources can be ignored",
        ),
    ],
)
def test_ignored_resources(args: NodeResourcesFitArgs, wanting: Pod, want: Rejection | None) -> None:
    assert want == run_filter(NodeResourcesFit(args), [SMALL], wanting).on("a")


@pytest.mark.parametrize(
    ("served", "resource", "want"),
    [
        pytest.param(
            device_class("gpus", extended_resource_name="x.io/dev"),
            "x.io/dev",
            None,
            id="a class that was given the name",
        ),
        pytest.param(
            device_class("gpus"), "deviceclass.resource.kubernetes.io/gpus", None, id="a class by its own name"
        ),
        pytest.param(
            device_class("gpus", extended_resource_name="x.io/other"),
            "x.io/dev",
            unresolvable("Insufficient x.io/dev"),
            id="another class",
        ),
        pytest.param(
            device_class("gpus", extended_resource_name=GPU),
            GPU,
            unresolvable(f"Insufficient {GPU}"),
            id="nodes that offer it answer themselves",
        ),
    ],
)
def test_devices_may_serve_extended_resources(served: DeviceClass, resource: str, want: Rejection | None) -> None:
    wanting = pod(extended={resource: 3})

    assert want == run_filter(NodeResourcesFit(), [SMALL, served], wanting).on("a")


def test_without_the_gate_devices_serve_nothing() -> None:
    plugin = NodeResourcesFit.create(None, PluginContext(gates=Gates({"DRAExtendedResource": False})))

    answer = run_filter(
        plugin, [SMALL, device_class("gpus", extended_resource_name="x.io/dev")], pod(extended={"x.io/dev": 1})
    )

    assert unresolvable("Insufficient x.io/dev") == answer.on("a")


def twin_filter(pod: Pod, where: Node, placed: Sequence[Pod]) -> tuple[set[str], bool]:
    """The reasons, and whether they are for good."""
    offered = node_amounts(where.status.allocatable)
    used: dict[str, int] = {}
    for other in placed:
        for name, amount in pod_load(other).requests.items():
            used[name] = used.get(name, 0) + amount
    reasons, hopeless = set(), False
    if len(placed) + 1 > offered["pods"]:
        reasons.add("Too many pods")
    for name, amount in pod_requests(pod).items():
        if amount > 0 and amount > offered.get(name, 0) - used.get(name, 0):
            reasons.add(f"Insufficient {name}")
            hopeless = hopeless or amount > offered.get(name, 0)
    return reasons, hopeless


@given(scenes(), pods())
def test_filter_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    answer = run_filter(NodeResourcesFit(), scene.cluster(), pod)

    for where in scene.nodes:
        reasons, hopeless = twin_filter(pod, where, scene.placed[where.name])
        got = answer.on(where.name)
        assert reasons == set(got.reasons if got else ())
        assert hopeless == (got is not None and got.unresolvable)


@pytest.mark.parametrize(
    ("wanting", "want"),
    [
        pytest.param(pod(cpu=1, memory="1Gi"), 50, id="half of both is left"),
        pytest.param(pod(cpu=1, memory="2Gi"), 25, id="half and nothing: (50 + 0) / 2"),
        pytest.param(pod(), 92, id="defaults: cpu 1900 of 2000 is 95, memory 1848 of 2048 is 90, together 92"),
        pytest.param(pod(cpu="5", memory="1Gi"), 25, id="more than there is counts as all: (0 + 50) / 2"),
    ],
)
def test_least_allocated(wanting: Pod, want: int) -> None:
    assert {"a": want} == run_score(NodeResourcesFit(), [SMALL], wanting)


def test_pods_without_requests_weigh_their_defaults() -> None:
    # cpu 2000 - 100 - 100 of 2000 is 90, memory 2048 - 200 - 200 of 2048 is 80
    assert {"a": 85} == run_score(NodeResourcesFit(), [SMALL, pod("x", on="a")], pod())


def test_a_resource_that_a_node_lacks_does_not_count() -> None:
    nodes = [node("none", cpu=0, memory=0), node("memory", cpu=0, memory="2Gi"), SMALL]

    assert {"none": 0, "memory": 50, "a": 75} == run_score(NodeResourcesFit(), nodes, pod(cpu=0, memory="1Gi"))


def scoring(*resources: tuple[str, int]) -> NodeResourcesFit:
    specs = tuple(ResourceSpec(name=name, weight=weight) for name, weight in resources)
    return NodeResourcesFit(NodeResourcesFitArgs(scoring_strategy=ScoringStrategy(resources=specs)))


@pytest.mark.parametrize(
    ("wanting", "want"),
    [
        pytest.param(pod(cpu=1, extended={GPU: 2}), 12, id="weights: (1 * 50 + 3 * 0) / 4"),
        pytest.param(pod(cpu=1), 50, id="an extended resource that is not asked for is left out"),
    ],
)
def test_weights_and_extended_resources(wanting: Pod, want: int) -> None:
    assert {"a": want} == run_score(scoring(("cpu", 1), (GPU, 3)), [SMALL], wanting)


def test_a_resource_that_nobody_counts_scores_nothing() -> None:
    assert {"a": 0} == run_score(scoring(("pods", 1)), [SMALL], pod())


def test_scoring_by_no_resource_fails_the_attempt() -> None:
    with pytest.raises(PluginError, match="resources not found"):
        run_score(scoring(), [SMALL], pod())


def test_resources_of_the_pod_as_a_whole_do_not_count_in_the_score() -> None:
    whole = pod(cpu=1, memory="1Gi")
    whole = replace(whole, spec=replace(whole.spec, resources=ResourceRequirements(requests={"cpu": "2"})))

    assert {"a": 50} == run_score(NodeResourcesFit(), [SMALL], whole)


def twin_score(pod: Pod, where: Node, placed: Sequence[Pod], weights: Mapping[str, int]) -> int:
    offered = node_amounts(where.status.allocatable)
    asked = score_requests(pod)
    total = weight_sum = 0
    for name, weight in weights.items():
        capacity = offered.get(name, 0)
        if capacity == 0 or (name not in {"cpu", "memory"} and not asked.get(name, 0)):
            continue
        used = asked.get(name, 0)
        for other in placed:
            load = pod_load(other)
            defaults = {"cpu": load.nonzero_milli_cpu, "memory": load.nonzero_memory}
            used += defaults.get(name, load.requests.get(name, 0))
        total += weight * (0 if used > capacity else (capacity - used) * 100 // capacity)
        weight_sum += weight
    return total // weight_sum if weight_sum else 0


@given(scenes(), pods())
def test_score_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    for weights in ({"cpu": 1, "memory": 1}, {"memory": 2, GPU: 3, "hugepages-2Mi": 5}):
        got = run_score(scoring(*weights.items()), scene.cluster(), pod)
        want = {n.name: twin_score(pod, n, scene.placed[n.name], weights) for n in scene.nodes}
        assert want == got


def test_amounts_of_the_tables_above() -> None:
    load = pod_load(pod())

    assert (100, 200 * MI) == (load.nonzero_milli_cpu, load.nonzero_memory)


BY_DEVICES = [
    device_class("gpu", extended_resource_name="example.com/gpu"),
    piece(gpu("0"), gpu("1"), gpu("2"), gpu("3"), on="a"),
    claim(allocation=allocation(("a", "0"))),
]


@pytest.mark.parametrize(
    ("strategy", "objects", "wanting", "want"),
    [
        pytest.param(
            LEAST_ALLOCATED, BY_DEVICES, {"example.com/gpu": 1}, 50, id="least: one allocated, one wanted, 2 of 4 left"
        ),
        pytest.param(
            MOST_ALLOCATED, BY_DEVICES, {"example.com/gpu": 2}, 75, id="most: one allocated, two wanted, of 4"
        ),
        pytest.param(
            LEAST_ALLOCATED,
            [*BY_DEVICES, node("a", extended={"example.com/gpu": 10})],
            {"example.com/gpu": 1},
            90,
            id="what the node offers itself goes first",
        ),
        pytest.param(LEAST_ALLOCATED, BY_DEVICES, {}, 0, id="devices that are not wanted do not count"),
        pytest.param(LEAST_ALLOCATED, BY_DEVICES[:1], {"example.com/gpu": 1}, 0, id="nor do those that are not there"),
        pytest.param(LEAST_ALLOCATED, BY_DEVICES[1:], {"example.com/gpu": 1}, 0, id="nor those of no class"),
        pytest.param(
            LEAST_ALLOCATED,
            BY_DEVICES,
            {"deviceclass.resource.kubernetes.io/gpu": 1},
            50,
            id="the class's own name is a resource, too",
        ),
    ],
)
def test_devices_behind_a_resource_are_scored(
    strategy: str, objects: Sequence[KubeObject], wanting: Mapping[str, int], want: int
) -> None:
    names = ("example.com/gpu", "deviceclass.resource.kubernetes.io/gpu")
    args = NodeResourcesFitArgs(
        scoring_strategy=ScoringStrategy(type=strategy, resources=tuple(ResourceSpec(name=name) for name in names))
    )
    context = PluginContext(devices=CountedDevices(Gates(), Books()))

    assert {"a": want} == run_score(NodeResourcesFit(args, context), [node("a"), *objects], pod(extended=dict(wanting)))
