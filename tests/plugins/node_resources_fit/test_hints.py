"""Events that may bring back a pod that found no room."""

import pytest
from msgspec.structs import replace

from stowplan.api.meta import KubeObject, ObjectMeta
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.api.resource import DeviceClass, DeviceClassSpec
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import PluginContext
from stowplan.plugins.node_resources_fit.plugin import NodeResourcesFit
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_wakes

GPU = "nvidia.com/gpu"
PARKED = pod("parked", cpu=2, memory="1Gi")


@pytest.mark.parametrize(
    ("gone", "want"),
    [
        pytest.param(pod("gone", on="a"), True, id="a placed pod went, whatever it asked for"),
        pytest.param(pod("gone", nominated="a"), True, id="a nominated pod went"),
        pytest.param(pod("gone"), False, id="a pod that was nowhere went"),
    ],
)
def test_deletions(gone: Pod, want: bool) -> None:
    assert want == run_wakes(NodeResourcesFit(), PARKED, old=gone)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(pod("x", on="a", cpu=2), pod("x", on="a", cpu=1), True, id="a placed pod gave back cpu"),
        pytest.param(
            pod("x", on="a", extended={GPU: 2}),
            pod("x", on="a", extended={GPU: 1}),
            False,
            id="devices it does not need",
        ),
        pytest.param(
            pod("x", on="a", cpu=1, memory=2),
            pod("x", on="a", cpu=3, memory=1),
            True,
            id="less memory, though more cpu",
        ),
        pytest.param(pod("x", cpu=2), pod("x", cpu=1), False, id="a waiting pod asks for less"),
        pytest.param(pod("parked", cpu=3), pod("parked", cpu=2), True, id="the pod itself asks for less"),
        pytest.param(
            pod("x", on="a", cpu=1), pod("x", on="a", cpu=1, labels={"a": "b"}), False, id="no amount changed"
        ),
    ],
)
def test_scaling_down(old: Pod, new: Pod, want: bool) -> None:
    assert want == run_wakes(NodeResourcesFit(), PARKED, old=old, new=new)


def test_scaling_down_does_not_count_without_in_place_resize() -> None:
    plugin = NodeResourcesFit.create(None, PluginContext(gates=Gates({"InPlacePodVerticalScaling": False})))

    assert not run_wakes(plugin, PARKED, old=pod("x", on="a", cpu=2), new=pod("x", on="a", cpu=1))
    assert run_wakes(plugin, PARKED, old=pod("x", on="a"))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, node(cpu=2), True, id="a node came that holds it when empty"),
        pytest.param(None, node(cpu=1), False, id="a node came that is too small"),
        pytest.param(None, node(cpu=2, pods=0), False, id="a node came that takes no pods"),
        pytest.param(node(cpu=1), node(cpu=2), True, id="a node grew enough"),
        pytest.param(node(cpu="500m"), node(cpu=1), False, id="a node grew too little"),
        pytest.param(node(cpu=4), node(cpu=3), False, id="a node shrank"),
        pytest.param(node(), node(extended={GPU: 1}), False, id="a node grew by what the pod does not need"),
        pytest.param(node(pods=10), node(pods=11), True, id="a node takes more pods"),
        pytest.param(node(), node(labels={"x": "y"}), False, id="something else changed"),
    ],
)
def test_nodes(old: Node | None, new: Node, want: bool) -> None:
    assert want == run_wakes(NodeResourcesFit(), PARKED, old=old, new=new)


def test_a_pod_that_asks_for_nothing_waits_for_pod_slots_only() -> None:
    assert run_wakes(NodeResourcesFit(), pod(), old=node(pods=1), new=node(pods=2))
    assert not run_wakes(NodeResourcesFit(), pod(), old=node(cpu=1), new=node(cpu=2))


def test_ignored_resources_count_in_the_hint() -> None:
    wanting = pod(extended={GPU: 1})

    assert not run_wakes(NodeResourcesFit(), wanting, new=node())
    assert run_wakes(NodeResourcesFit(), wanting, new=node(extended={GPU: 1}))


def serving(name: str, extended: str | None = None) -> DeviceClass:
    return DeviceClass(metadata=ObjectMeta(name=name), spec=DeviceClassSpec(extended_resource_name=extended))


def test_a_node_that_changes_wakes_where_devices_serve_what_it_lacks() -> None:
    objects: list[KubeObject] = [serving("gpus", GPU)]
    changed = replace(node(), status=replace(node().status, allocatable={"cpu": "33", "pods": "110"}))

    assert run_wakes(NodeResourcesFit(), pod(extended={GPU: 1}), old=node(), new=changed, objects=objects)
    assert not run_wakes(NodeResourcesFit(), pod(extended={GPU: 1}), old=node(), new=changed)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, serving("c", GPU), True, id="a class for the resource came"),
        pytest.param(None, serving("c"), False, id="a class for another came"),
        pytest.param(None, serving("wanted"), True, id="a class that is asked for by name came"),
        pytest.param(serving("c"), serving("c", GPU), True, id="a class was given the resource"),
        pytest.param(serving("c", GPU), serving("c", GPU), False, id="a class changed otherwise"),
        pytest.param(serving("c", GPU), serving("c"), False, id="a class lost the resource"),
        pytest.param(serving("wanted"), serving("wanted", "x.io/y"), False, id="a class keeps its own name"),
    ],
)
def test_device_classes(old: DeviceClass | None, new: DeviceClass, want: bool) -> None:
    wanting = pod(extended={GPU: 1, "deviceclass.resource.kubernetes.io/wanted": 1})

    assert want == run_wakes(NodeResourcesFit(), wanting, old=old, new=new)


def test_device_classes_do_not_count_without_their_gate() -> None:
    plugin = NodeResourcesFit.create(None, PluginContext(gates=Gates({"DRAExtendedResource": False})))

    assert not run_wakes(plugin, pod(extended={GPU: 1}), new=serving("c", GPU))
