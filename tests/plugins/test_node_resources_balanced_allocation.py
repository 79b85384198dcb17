"""Balance: how evenly the resources of a node are used."""

from collections.abc import Mapping, Sequence
from math import sqrt

import pytest
from hypothesis import given

from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.requests import node_amounts, pod_load
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books, PluginContext
from stowplan.framework.plugin_args import NodeResourcesBalancedAllocationArgs, ResourceSpec
from stowplan.plugins.dynamic_resources.totals import CountedDevices
from stowplan.plugins.node_resources_balanced_allocation import NodeResourcesBalancedAllocation
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_score
from tests.plugins.dynamic_resources.devices import allocation, claim, device_class, piece
from tests.plugins.dynamic_resources.devices import gpu as dra
from tests.plugins.generated import Scene, pods, scenes

GPU = "nvidia.com/gpu"
FOUR = node("a", cpu=4, memory="4Gi", extended={GPU: 4})


def balancing(*names: str) -> NodeResourcesBalancedAllocation:
    specs = tuple(ResourceSpec(name=name) for name in names)
    return NodeResourcesBalancedAllocation(NodeResourcesBalancedAllocationArgs(resources=specs))


@pytest.mark.parametrize(
    ("placed", "wanting", "want"),
    [
        pytest.param([], pod(cpu=1, memory="1Gi"), 75, id="as even as before: 50 + 50 / 2"),
        pytest.param([], pod(cpu=2), 62, id="uneven: the deviation is 0.25, 50 + (50 + 75 - 100) / 2"),
        pytest.param([pod("x", cpu=2, on="a")], pod(memory="2Gi"), 87, id="evened out: 50 + (50 + 100 - 75) / 2"),
        pytest.param([], pod(cpu=9), 50, id="overcommitted counts as full: 50 + (50 + 50 - 100) / 2"),
        pytest.param([pod("x", on="a")], pod(cpu=2), 62, id="pods that ask for nothing weigh nothing here"),
    ],
)
def test_score(placed: Sequence[Pod], wanting: Pod, want: int) -> None:
    assert {"a": want} == run_score(NodeResourcesBalancedAllocation(), [FOUR, *placed], wanting)


@pytest.mark.parametrize(
    ("plugin", "wanting", "want"),
    [
        pytest.param(NodeResourcesBalancedAllocation(), pod(), {}, id="a pod that asks for nothing is not scored"),
        pytest.param(NodeResourcesBalancedAllocation(), pod(extended={GPU: 1}), {}, id="nor one that asks for others"),
        pytest.param(balancing("cpu"), pod(cpu=1), {"a": 75}, id="one resource is always even"),
        pytest.param(
            balancing("cpu", "memory", GPU),
            pod(cpu=4),
            {"a": 50},
            id="devices that are not asked for are left out: 50 + (50 + 50 - 100) / 2",
        ),
        pytest.param(
            balancing("cpu", "memory", GPU),
            pod(cpu=4, memory="4Gi", extended={GPU: 0}),
            {"a": 75},
            id="asking for none is not asking",
        ),
        pytest.param(
            balancing("cpu", "memory", GPU),
            pod(cpu=4, extended={GPU: 4}),
            {"a": 51},
            id="three resources: the deviation is 0.4714, 50 + (50 + 52 - 100) / 2",
        ),
    ],
)
def test_resources(plugin: NodeResourcesBalancedAllocation, wanting: Pod, want: dict[str, int]) -> None:
    assert want == run_score(plugin, [FOUR], wanting)


def test_a_resource_that_a_node_lacks_does_not_count_there() -> None:
    nodes = [node("none", cpu=0, memory=0), node("cpu", cpu=4, memory=0), FOUR]

    assert {"none": 75, "cpu": 75, "a": 62} == run_score(NodeResourcesBalancedAllocation(), nodes, pod(cpu=2))


def twin_balance(used: Mapping[str, int], offered: Mapping[str, int], names: Sequence[str]) -> int:
    shares = [min(used.get(name, 0) / offered[name], 1.0) for name in names if offered.get(name, 0)]
    deviation = 0.0
    if len(shares) == 2:
        deviation = abs((shares[0] - shares[1]) / 2)
    elif len(shares) > 2:
        total = 0.0
        for share in shares:
            total += share
        mean = total / len(shares)
        squares = 0.0
        for share in shares:
            squares += (share - mean) * (share - mean)
        deviation = sqrt(squares / len(shares))
    return int((1 - deviation) * 100)


def twin(pod: Pod, where: Node, placed: Sequence[Pod], names: Sequence[str]) -> int | None:
    asked = pod_load(pod).requests
    if not any(asked.get(name, 0) for name in names):
        return None
    counted = [name for name in names if name in {"cpu", "memory"} or asked.get(name, 0)]
    offered = node_amounts(where.status.allocatable)
    before: dict[str, int] = {}
    for other in placed:
        for name, amount in pod_load(other).requests.items():
            before[name] = before.get(name, 0) + amount
    after = {name: before.get(name, 0) + asked.get(name, 0) for name in names}
    gain = twin_balance(after, offered, counted) - twin_balance(before, offered, counted)
    return 50 + (50 + gain) // 2


@given(scenes(), pods())
def test_kernel_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    for names in (["cpu", "memory"], ["cpu", "memory", GPU, "hugepages-2Mi"], [GPU, "cpu"]):
        got = run_score(balancing(*names), scene.cluster(), pod)
        for where in scene.nodes:
            assert twin(pod, where, scene.placed[where.name], names) == got.get(where.name)


def test_devices_behind_a_resource_are_balanced() -> None:
    args = NodeResourcesBalancedAllocationArgs(
        resources=(ResourceSpec(name="cpu"), ResourceSpec(name="memory"), ResourceSpec(name="example.com/gpu"))
    )
    plugin = NodeResourcesBalancedAllocation(args, PluginContext(devices=CountedDevices(Gates(), Books())))
    devices = [
        device_class(extended_resource_name="example.com/gpu"),
        piece(*(dra(str(i)) for i in range(4)), on="a"),
        claim(allocation=allocation(("a", "0"))),
    ]
    placed = pod("x", cpu=1, memory="1Gi", on="a")

    # a quarter of all three is used, and then half of them: as even as before, 50 + 50 / 2
    assert {"a": 75} == run_score(
        plugin, [FOUR, placed, *devices], pod(cpu=1, memory="1Gi", extended={"example.com/gpu": 1})
    )
    # with all four devices taken the shares are 1/2, 1/2 and 1: deviation 0.2357, 50 + (50 + 76 - 100) / 2
    assert {"a": 63} == run_score(
        plugin, [FOUR, placed, *devices], pod(cpu=1, memory="1Gi", extended={"example.com/gpu": 3})
    )
