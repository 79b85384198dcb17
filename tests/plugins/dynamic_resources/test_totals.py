"""Counting devices behind extended resources: a table, and a scalar twin that looks at every slice for every node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.resource import Device, DeviceClass, ResourceClaim, ResourceSlice
from stowplan.columns.cluster import Cluster
from stowplan.columns.view import View
from stowplan.framework.devices import DeviceTotals, offered_and_used
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import Books
from stowplan.plugins.dynamic_resources.totals import CountedDevices
from stowplan.testing.builders import ZONE, cluster, node
from tests.plugins.dynamic_resources.devices import DRIVER, allocation, claim, device_class, gpu, piece

GPU = "example.com/gpu"
BIG = f'device.attributes["{DRIVER}"].big'
CLASS = device_class("gpu", extended_resource_name=GPU)
BIG_ONES = device_class("gpu", BIG, extended_resource_name=GPU)
NODES = [node("a", labels={ZONE: "x"}), node("b", labels={ZONE: "y"})]


def in_zone(*zones: str) -> NodeSelector:
    need = NodeSelectorRequirement(key=ZONE, operator="In", values=zones)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(need,)),))


BROKEN = in_zone()
"""An operator without values."""


def for_zone(zone: str, *devices: Device, name: str) -> ResourceSlice:
    plain = piece(*devices, name=name, pool=name)
    return msgspec.structs.replace(plain, spec=msgspec.structs.replace(plain.spec, node_selector=in_zone(zone)))


def in_zones(device: Device, *zones: str) -> Device:
    return msgspec.structs.replace(device, node_selector=in_zone(*zones))


def counted(view: View, totals: DeviceTotals | None) -> dict[str, tuple[int, int]]:
    assert totals is not None
    rows = dict(zip(view.rows.names, view.rows.index.tolist(), strict=True))
    return {name: (int(totals.capacity_n[row]), int(totals.allocated_n[row])) for name, row in rows.items()}


def count(state: Cluster, resource: str = GPU, *, gates: Gates | None = None) -> DeviceTotals | None:
    return CountedDevices(gates or Gates(), Books()).behind(state.view(), resource)


@pytest.mark.parametrize(
    ("objects", "a", "b"),
    [
        pytest.param([CLASS, piece(gpu("0"), gpu("1"), on="a")], (2, 0), (0, 0), id="devices of a node"),
        pytest.param(
            [CLASS, piece(gpu("0"), gpu("1"), on="a"), claim(allocation=allocation(("a", "1")))],
            (2, 1),
            (0, 0),
            id="one of them is allocated",
        ),
        pytest.param(
            [CLASS, piece(gpu("0"), on="a"), claim(allocation=allocation(("a", "0"), admin_access=True))],
            (1, 0),
            (0, 0),
            id="administrators' access takes nothing",
        ),
        pytest.param(
            [CLASS, piece(gpu("0", shared=True), on="a"), claim(allocation=allocation(("a", "0"), share_id="s"))],
            (1, 1),
            (0, 0),
            id="a share of it makes a device allocated",
        ),
        pytest.param(
            [BIG_ONES, piece(gpu("0", big=True), gpu("1", big=False), on="a")], (1, 0), (0, 0), id="those of the class"
        ),
        pytest.param(
            [BIG_ONES, piece(gpu("0", big=True), on="a"), piece(gpu("0"), on="a", pool="p"), piece(gpu("0"), on="b")],
            (0, 0),
            (0, 0),
            id="nothing counts on a node with a device of which nobody can tell",
        ),
        pytest.param(
            [
                device_class("gpu", "device.allowMultipleAllocations", extended_resource_name=GPU),
                piece(gpu("0", shared=True), on="a"),
            ],
            (0, 0),
            (0, 0),
            id="whether a device may be shared is not told to the class",
        ),
        pytest.param([CLASS, piece(gpu("0"), everywhere=True)], (1, 0), (1, 0), id="devices of all nodes"),
        pytest.param([CLASS, piece(gpu("0"))], (1, 0), (1, 0), id="a slice that names no node is for all of them"),
        pytest.param([CLASS, for_zone("y", gpu("0"), name="s")], (0, 0), (1, 0), id="devices of a zone"),
        pytest.param(
            [CLASS, piece(gpu("0", on="b"), in_zones(gpu("1"), "x", "y"), gpu("2"), per_device=True)],
            (1, 0),
            (2, 0),
            id="devices that choose nodes themselves",
        ),
        pytest.param(
            [CLASS, piece(gpu("0"), on="a", of=2), piece(gpu("0"), on="a", name="old", generation=0)],
            (2, 0),
            (0, 0),
            id="holes and generations of a pool do not matter",
        ),
        pytest.param(
            [CLASS, piece(gpu("0"), on="b"), piece(in_zones(gpu("1")), per_device=True)],
            (0, 0),
            (0, 0),
            id="nothing counts anywhere when a selector of nodes is malformed",
        ),
    ],
)
def test_devices_by_node(objects: Sequence[KubeObject], a: tuple[int, int], b: tuple[int, int]) -> None:
    state = cluster(*NODES, *objects)

    assert {"a": a, "b": b} == counted(state.view(), count(state))


@pytest.mark.parametrize(
    ("resource", "gates", "want"),
    [
        pytest.param(GPU, Gates(), True, id="by the name that the class was given"),
        pytest.param("deviceclass.resource.kubernetes.io/gpu", Gates(), True, id="by the name of the class"),
        pytest.param("example.com/other", Gates(), False, id="no class serves it"),
        pytest.param(GPU, Gates({"DRAExtendedResource": False}), False, id="the gate is closed"),
    ],
)
def test_which_resources_devices_serve(resource: str, gates: Gates, want: bool) -> None:
    assert want == (count(cluster(*NODES, CLASS), resource, gates=gates) is not None)


def test_devices_count_where_the_node_offers_none_itself() -> None:
    own = node("a", extended={GPU: 4})
    state = cluster(own, NODES[1], CLASS, piece(gpu("0"), on="a"), piece(gpu("0"), gpu("1"), on="b"))
    rows = state.view().rows
    offered_n, used_n = offered_and_used(rows, GPU, count(state))

    assert ({"a": 4, "b": 2}, [0, 0]) == (dict(zip(rows.names, offered_n.tolist(), strict=True)), used_n.tolist())


def test_the_same_is_given_as_long_as_nothing_changes() -> None:
    state = cluster(*NODES, CLASS, piece(gpu("0"), on="a"), for_zone("y", gpu("0"), name="s"))
    devices = CountedDevices(Gates(), Books())
    first = devices.behind(state.view(), GPU)
    state.put(node("b", cpu=99, labels={ZONE: "y"}))
    second = devices.behind(state.view(), GPU)
    state.put(node("b", labels={ZONE: "z"}))

    assert first is second
    assert first is not devices.behind(state.view(), GPU)


POOLS = ("a", "b", "c", "shared")


@dataclass(frozen=True, slots=True)
class Known:
    """What the twin looks at."""

    nodes: dict[str, Node]
    slices: dict[str, ResourceSlice]
    claims: dict[str, ResourceClaim]
    big: bool


def twin(known: Known, at: Node) -> tuple[int, int]:
    """Upstream's calculateDRAResourceTotals, slice by slice."""
    taken = {
        (result.driver, result.pool, result.device)
        for one in known.claims.values()
        if one.status.allocation is not None
        for result in one.status.allocation.devices.results
    }
    capacity = allocated = 0
    for held in known.slices.values():
        spec = held.spec
        for device in spec.devices:
            where = device if spec.per_device_node_selection else spec
            if where.node_name:
                here = where.node_name == at.name
            elif where.node_selector is not None:
                zones = where.node_selector.node_selector_terms[0].match_expressions[0].values
                here = at.metadata.labels.get(ZONE) in zones
            else:
                here = bool(where.all_nodes) or not spec.per_device_node_selection
            if not here:
                continue
            big = device.attributes.get("big")
            if known.big and big is None:
                return 0, 0
            if not known.big or (big is not None and big.bool_value):
                capacity += 1
                allocated += (spec.driver, spec.pool.name, device.name) in taken
    return capacity, allocated


def some_device(name: str) -> st.SearchStrategy[Device]:
    plain = st.sampled_from([gpu(name, big=True), gpu(name, big=True), gpu(name, big=False), gpu(name)])
    places: list[Callable[[Device], Device]] = [
        lambda device: device,
        lambda device: msgspec.structs.replace(device, node_name="a"),
        lambda device: msgspec.structs.replace(device, all_nodes=True),
        lambda device: in_zones(device, "x"),
    ]
    return st.tuples(plain, st.sampled_from(places)).map(lambda pair: pair[1](pair[0]))


@st.composite
def some_slice(draw: st.DrawFn) -> ResourceSlice:
    number = draw(st.integers(0, 3))
    devices = [draw(some_device(str(i))) for i in range(draw(st.integers(0, 3)))]
    pool = draw(st.sampled_from(POOLS))
    match draw(st.sampled_from(["node", "node", "zone", "all", "device"])):
        case "node":
            made = piece(*devices, on=draw(st.sampled_from("abc")), pool=pool)
        case "zone":
            made = for_zone(draw(st.sampled_from("xy")), *devices, name=pool)
        case "all":
            made = piece(*devices, everywhere=True, pool=pool)
        case _:
            made = piece(*devices, per_device=True, pool=pool)
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, name=f"s{number}"))


some_node = st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")).map(
    lambda pair: node(pair[0], labels={ZONE: pair[1]})
)
some_claim = st.tuples(
    st.sampled_from(["c0", "c1", "c2"]),
    st.lists(st.tuples(st.sampled_from(POOLS), st.sampled_from("012")), max_size=2, unique=True),
).map(lambda pair: claim(name=pair[0], allocation=allocation(*pair[1]) if pair[1] else None))
steps = st.lists(
    some_slice()
    | some_node
    | some_claim
    | st.sampled_from([CLASS, BIG_ONES])
    | st.sampled_from(["s0", "s1", "c0", "node b"]),
    max_size=12,
)


def apply(state: Cluster, step: KubeObject | str) -> None:
    if not isinstance(step, str):
        state.put(step)
    elif step.startswith("s"):
        state.remove_object(ResourceSlice, step)
    elif step.startswith("c"):
        state.remove_object(ResourceClaim, f"default/{step}")
    else:
        state.remove_node(step.removeprefix("node "))


def reading(state: Cluster) -> Known:
    view = state.view()
    objects = view.objects
    nodes = {name: found for name in rows_of(view) if (found := state.node(name)) is not None}
    big = any(step is BIG_ONES for step in objects.all(DeviceClass).values())
    return Known(nodes, dict(objects.all(ResourceSlice)), dict(objects.all(ResourceClaim)), big)


def rows_of(view: View) -> dict[str, int]:
    return dict(zip(view.rows.names, view.rows.index.tolist(), strict=True))


@given(steps)
def test_the_counts_agree_with_the_twin_whatever_happens(changes: list[KubeObject | str]) -> None:
    state, devices = cluster(CLASS), CountedDevices(Gates(), Books())
    for step in [node("a"), *changes]:
        apply(state, step)
        known = reading(state)
        want = {name: twin(known, at) for name, at in known.nodes.items()}

        assert want == counted(state.view(), devices.behind(state.view(), GPU))
