"""Shapes of nodes: a number, or a file whose every fault is named with its place."""

from pathlib import Path

import pytest

from stowplan.sim.cluster.node_objects import pool_node, resource_slices
from stowplan.sim.cluster.pools import Devices, Pool, PoolsError, TaintShape, read_shape

FULL = """
delays: {starting: 2s, jobs: 1m}
pools:
- name: general
  count: 4
  zones: [a, b]
  labels: {tier: web}
- name: gpu
  count: 2
  prefix: g-
  taints: [{key: gpu, value: "yes", effect: NoSchedule}]
  capacity: {cpu: 64, memory: 512Gi, example.com/gpu: 8}
  allocatable: {cpu: 63500m}
  devices: [{driver: gpu.example.com, count: 8, attributes: {model: a1}, capacity: {memory: 40Gi}}]
"""


def file(folder: Path, text: str) -> str:
    path = folder / "pool.yaml"
    path.write_text(text)
    return str(path)


def test_a_number_is_that_many_equal_nodes() -> None:
    shape = read_shape("12")

    assert 12 == shape.nodes
    assert ["node-00", "node-11"] == [shape.pools[0].node_name(index) for index in (0, 11)]


def test_a_file_describes_pools_and_delays(tmp_path: Path) -> None:
    shape = read_shape(file(tmp_path, FULL))

    assert 6 == shape.nodes
    assert ["general-3", "g-1"] == [shape.pools[0].node_name(3), shape.pools[1].node_name(1)]
    assert (2.0, 60.0) == (shape.pace.starting, shape.pace.jobs)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("pools: [{name: a}]", "pools[0]: Object missing required field `count`", id="a count is needed"),
        pytest.param("pools: [{name: a, count: x}]", "pools[0].count: Expected `int`, got `str`", id="a count is one"),
        pytest.param("pools: [{name: a, count: -1}]", "pools[0].count: -1 is less than 0", id="no negative count"),
        pytest.param("pools: [{name: a, count: 1, cout: 2}]", "pools[0]: Object contains unknown field `cout`",
                     id="a member nobody knows"),
        pytest.param("pools: [{name: A_b, count: 1}]", "pools[0].name: 'A_b' is not a name", id="a name is a name"),
        pytest.param("pools: [{name: a, count: 1, prefix: -}]", "pools[0].prefix: '-'", id="a prefix begins well"),
        pytest.param("pools: [{name: a, count: 1, capacity: {cpu: much}}]", "pools[0].capacity.cpu: ",
                     id="an amount is a quantity"),
        pytest.param("pools: [{name: a, count: 1, capacity: {cpu: -1}}]", "pools[0].capacity.cpu: -1 is less than 0",
                     id="an amount is not negative"),
        pytest.param("pools: [{name: a, count: 1, taints: [{key: k, effect: Never}]}]",
                     "pools[0].taints[0].effect: 'Never' is not one of NoSchedule", id="an effect that exists"),
        pytest.param("pools: [{name: a, count: 1, labels: {'a b': c}}]", "pools[0].labels: a b=c: ",
                     id="a label's key is one"),
        pytest.param("pools: [{name: a, count: 1, zones: ['x y']}]", "pools[0].zones[0]: zone=x y: ",
                     id="a zone is a label's value"),
        pytest.param("pools: [{name: a, count: 2, prefix: n-}, {name: b, count: 1, prefix: n-}]",
                     "pools[1].name: the node 'n-0' is in pools[0] already", id="a node is in one pool"),
        pytest.param("pools: [{name: a, count: 1, devices: [{driver: d, count: 129}]}]",
                     "pools[0].devices[0].count: 129 is not between 0 and 128", id="a slice has its limit"),
        pytest.param("delays: {starting: x}\npools: []", "delays: starting: 'x' is not a duration", id="a bad delay"),
        pytest.param("pools: [", "pool.yaml", id="no YAML at all"),
        pytest.param("", "one document with `pools` is wanted, found 0", id="an empty file"),
        pytest.param("pools: [{name: a, count: 100001}]", "at most 100000 nodes", id="more than can be"),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_file_and_place(tmp_path: Path, text: str, want: str) -> None:
    name = file(tmp_path, text)

    with pytest.raises(PoolsError) as caught:
        read_shape(name)

    assert str(caught.value).startswith(name)
    assert want in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("nodes", "want"),
    [
        pytest.param("nowhere.yaml", "nowhere.yaml: No such file", id="a file that is not there"),
        pytest.param("100001", "at most 100000 nodes can be simulated", id="too many"),
        pytest.param("-3", "-3: neither a number nor a file", id="a negative number is no number of nodes"),
    ],
)
def test_what_cannot_be_simulated_is_said(nodes: str, want: str) -> None:
    with pytest.raises(PoolsError, match=want):
        read_shape(nodes)


def test_a_node_is_ready_and_carries_what_its_pool_says() -> None:
    taint = TaintShape("gpu", "NoSchedule", "yes")
    pool = Pool("gpu", 3, zones=("a", "b"), labels={"x": "y"}, taints=(taint,), capacity={"cpu": 64, "e.com/gpu": 8},
                allocatable={"cpu": "63500m"})  # fmt: skip

    node = pool_node(pool, 1, 1, 0.0)

    labels, status = node["metadata"]["labels"], node["status"]
    assert ("gpu-1", "b", "y") == (node["metadata"]["name"], labels["topology.kubernetes.io/zone"], labels["x"])
    assert [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}] == node["spec"]["taints"]
    assert ("64", "8", "110") == tuple(status["capacity"][name] for name in ("cpu", "e.com/gpu", "pods"))
    assert ("63500m", "8") == (status["allocatable"]["cpu"], status["allocatable"]["e.com/gpu"])
    assert {"Ready": "True"}.items() <= {one["type"]: one["status"] for one in status["conditions"]}.items()


def test_a_node_offers_its_devices_in_a_slice_per_driver() -> None:
    pool = Pool("gpu", 1, devices=(Devices("gpu.e.com", 2, {"model": "a1", "fast": True, "rank": 3}, {"m": "1Gi"}),))
    node = {"metadata": {"name": "gpu-0", "uid": "u"}}

    (made,) = resource_slices(pool, node)

    assert ("gpu-0", "gpu.e.com") == (made["spec"]["nodeName"], made["spec"]["driver"])
    assert ["device-0", "device-1"] == [device["name"] for device in made["spec"]["devices"]]
    assert {"model": {"string": "a1"}, "fast": {"bool": True}, "rank": {"int": 3}} == (
        made["spec"]["devices"][0]["attributes"]
    )
