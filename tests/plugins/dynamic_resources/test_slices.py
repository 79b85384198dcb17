"""Pools: what a node reaches, when a pool is whole, and when it is not to be used."""

import msgspec
import pytest

from stowplan.api.affinity import NodeSelector, NodeSelectorRequirement, NodeSelectorTerm
from stowplan.api.resource import ResourceSlice
from stowplan.plugins.dynamic_resources.features import ALL_FEATURES
from stowplan.plugins.dynamic_resources.pools import NodeIdentity, Pool
from stowplan.plugins.dynamic_resources.slices import SliceIndex
from tests.plugins.dynamic_resources.devices import gpu, piece

A = NodeIdentity("a", {"zone": "1"})
B = NodeIdentity("b", {"zone": "2"})


def gather(node: NodeIdentity, *slices: ResourceSlice) -> tuple[Pool, ...]:
    return SliceIndex(slices, ALL_FEATURES).gather(node)


def devices(*pools: Pool) -> list[str]:
    return [f"{candidate.id[1]}/{candidate.id[2]}" for pool in pools for candidate in pool.candidates]


def for_zone(zone: str, of: ResourceSlice) -> ResourceSlice:
    wanted = NodeSelectorRequirement(key="zone", operator="In", values=(zone,))
    selector = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=(wanted,)),))
    return msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, node_selector=selector))


@pytest.mark.parametrize(
    ("slices", "want"),
    [
        pytest.param([piece(gpu("g"), on="a"), piece(gpu("g"), on="b")], ["a/g"], id="a node reaches its own devices"),
        pytest.param([piece(gpu("g"), everywhere=True)], ["shared/g"], id="some devices are reached from everywhere"),
        pytest.param(
            [for_zone("1", piece(gpu("x"), pool="one")), for_zone("2", piece(gpu("y"), pool="two"))],
            ["one/x"],
            id="or from nodes of a kind",
        ),
        pytest.param(
            [piece(gpu("z"), on="a", pool="z"), piece(gpu("y"), on="a", pool="y")],
            ["y/y", "z/z"],
            id="pools come by name",
        ),
        pytest.param(
            [
                piece(gpu("x"), on="a", pool="p", name="second", of=2),
                piece(gpu("y"), on="a", pool="p", name="first", of=2),
            ],
            ["p/y", "p/x"],
            id="slices of a pool come by name",
        ),
        pytest.param(
            [piece(gpu("x", conditions=["up"]), on="a", pool="a"), piece(gpu("y"), on="a", pool="b")],
            ["b/y", "a/x"],
            id="devices that have to be made ready come last",
        ),
        pytest.param(
            [piece(gpu("old"), on="a", name="1"), piece(gpu("new"), on="a", name="2", generation=2)],
            ["a/new"],
            id="the newest generation counts",
        ),
        pytest.param(
            [
                piece(gpu("old"), on="a", pool="p", name="1", of=2),
                piece(gpu("new"), on="b", pool="p", name="2", of=2, generation=2),
            ],
            [],
            id="a generation that is being replaced elsewhere does not",
        ),
        pytest.param(
            [piece(gpu("g"), on="a", pool="p", name="1", of=2), piece(gpu("h"), on="b", pool="p", name="2", of=2)],
            ["p/g"],
            id="a pool may be spread over nodes",
        ),
    ],
)
def test_what_a_node_reaches(slices: list[ResourceSlice], want: list[str]) -> None:
    assert want == devices(*gather(A, *slices))


@pytest.mark.parametrize(
    ("slices", "incomplete", "invalid"),
    [
        pytest.param([piece(gpu("g"), on="a", of=2)], True, "", id="a pool with a hole"),
        pytest.param(
            [piece(gpu("g"), on="a", name="1", of=2), piece(gpu("g"), on="a", name="2", of=2)],
            False,
            "duplicate device name g",
            id="a pool with a device twice",
        ),
        pytest.param(
            [piece(gpu("g", takes={"c": 1}), on="a")], False, "counter set set not found", id="a missing counter set"
        ),
        pytest.param(
            [
                piece(gpu("g", takes={"d": 1}), on="a", name="1", of=2),
                piece(on="a", name="2", of=2, counters={"c": 1}),
            ],
            False,
            "counter d not found in counter set set",
            id="a missing counter",
        ),
    ],
)
def test_pools_that_are_not_used(slices: list[ResourceSlice], incomplete: bool, invalid: str) -> None:
    (pool,) = gather(A, *slices)

    assert (incomplete, invalid, False) == (pool.incomplete, pool.invalid, pool.usable)


def test_other_nodes_hear_of_pools_with_counters_only_when_they_are_not_whole() -> None:
    whole = [piece(gpu("g", takes={"c": 1}), on="a", name="1", of=2), piece(on="a", name="2", of=2, counters={"c": 1})]

    assert ((), [True]) == (gather(B, *whole), [pool.incomplete for pool in gather(B, whole[1])])


def test_devices_may_choose_their_nodes_themselves() -> None:
    slices = [piece(gpu("g", on="a"), gpu("h", on="b"), per_device=True)]

    # the pool comes as a whole; the search leaves out what the node does not reach
    assert (["shared/g", "shared/h"], []) == (
        devices(*gather(A, *slices)),
        devices(*gather(NodeIdentity("c", {}), *slices)),
    )
