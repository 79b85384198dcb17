"""Allocation: who gets which devices, in which order, and what is told when nobody can."""

from collections.abc import Sequence

import pytest

from stowplan.api.resource import (
    CapacityRequestPolicy,
    CapacityRequestPolicyRange,
    DeviceConstraint,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocator import Allocator
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache
from stowplan.plugins.dynamic_resources.errors import AllocationError, NodeAllocationError, SearchTimeoutError
from stowplan.plugins.dynamic_resources.features import ALL_FEATURES, Features
from stowplan.plugins.dynamic_resources.pools import NodeIdentity
from stowplan.plugins.dynamic_resources.slices import SliceIndex
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocation,
    claim,
    device_class,
    different,
    exactly,
    first_of,
    gpu,
    piece,
    same,
)

HERE = NodeIdentity("a", {})
CLASSES = {
    one.name: one
    for one in (
        device_class("gpu"),
        device_class("big", f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'),
        device_class("broken", "nope == 1"),
    )
}
SELECTORS = SelectorCache()
BROKEN = DeviceTaint(key="broken", value="yes", effect="NoSchedule")
MODEL = f'device.attributes["{DRIVER}"].model'


def allocator(claims: Sequence[ResourceClaim], *taken: ResourceClaim, features: Features = ALL_FEATURES) -> Allocator:
    state = AllocatedState()
    for one in taken:
        assert one.status.allocation is not None
        state.add(one.status.allocation)
    return Allocator(claims=claims, classes=CLASSES, state=state, selectors=SELECTORS, features=features)


def given(slices: Sequence[ResourceSlice], claims: Sequence[ResourceClaim], *taken: ResourceClaim) -> list[str] | None:
    """Each device with the request it is given to."""
    results = allocator(claims, *taken).allocate(HERE, SliceIndex(slices, ALL_FEATURES).gather(HERE))
    if results is None:
        return None
    return [f"{one.request}={one.device}" for result in results for one in result.devices.results]


FOUR = piece(
    gpu("0", model="x", numa=0),
    gpu("1", model="y", numa=0),
    gpu("2", model="x", numa=1),
    gpu("3", model="y", numa=1),
    on="a",
)


@pytest.mark.parametrize(
    ("claims", "want"),
    [
        pytest.param([claim(exactly(2))], ["r=0", "r=1"], id="the first devices are taken"),
        pytest.param([claim(exactly(5))], None, id="too few devices are none"),
        pytest.param(
            [claim(exactly(where=[f'{MODEL} == "y"']), exactly(name="q"))], ["r=1", "q=0"], id="requests come in order"
        ),
        pytest.param(
            [claim(exactly(), exactly(2, name="q", where=[f'{MODEL} == "x"']))],
            ["r=1", "q=0", "q=2"],
            id="an earlier choice is given up for a later request",
        ),
        pytest.param(
            [claim(exactly(2), name="c"), claim(exactly(2), name="d")],
            ["r=0", "r=1", "r=2", "r=3"],
            id="claims share nothing",
        ),
        pytest.param([claim(exactly(2), constraints=[same("model")])], ["r=0", "r=2"], id="devices of one model"),
        pytest.param(
            [claim(exactly(2), exactly(name="q"), constraints=[same("numa", "r")])],
            ["r=0", "r=1", "q=2"],
            id="a constraint may be about one request",
        ),
        pytest.param(
            [claim(exactly(), exactly(name="q"), constraints=[different("numa")])], ["r=0", "q=2"], id="devices apart"
        ),
        pytest.param([claim(exactly(2), constraints=[same("nope")])], None, id="an attribute that no device has"),
        pytest.param([claim(exactly(take_all=True))], ["r=0", "r=1", "r=2", "r=3"], id="all there are"),
        pytest.param([claim(exactly(take_all=True, where=[f'{MODEL} == "z"']))], None, id="all of none is not enough"),
        pytest.param(
            [claim(exactly(take_all=True, where=[f'{MODEL} == "x"']), exactly(2, name="q"))],
            ["r=0", "r=2", "q=1", "q=3"],
            id="the others take from the rest",
        ),
        pytest.param(
            [claim(first_of(("gpu", 1, f'{MODEL} == "z"'), ("gpu", 2)))], ["r/s1=0", "r/s1=1"], id="the second best"
        ),
        pytest.param(
            [claim(first_of(("gpu", 3), ("gpu", 2)), exactly(2, name="q"))],
            ["r/s1=0", "r/s1=1", "q=2", "q=3"],
            id="an alternative gives way to a later request",
        ),
        pytest.param([claim(exactly(0))], [], id="nothing is always there"),
    ],
)
def test_allocation_from_four_devices(claims: list[ResourceClaim], want: list[str] | None) -> None:
    assert want == given([FOUR], claims)


@pytest.mark.parametrize(
    ("slices", "claims", "taken", "want"),
    [
        pytest.param([FOUR], [claim()], [claim(allocation=allocation(("a", "0")))], ["r=1"], id="a device in use"),
        pytest.param(
            [FOUR],
            [claim(exactly(take_all=True))],
            [claim(allocation=allocation(("a", "0")))],
            None,
            id="all means also those in use",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(admin=True))],
            [claim(allocation=allocation(("a", "0")))],
            ["r=0"],
            id="an administrator may look at devices in use",
        ),
        pytest.param(
            [FOUR],
            [claim()],
            [claim(allocation=allocation(("a", "0"), admin_access=True))],
            ["r=0"],
            id="whose look does not keep others off",
        ),
        pytest.param([piece(gpu("0", taint=BROKEN), gpu("1"), on="a")], [claim()], [], ["r=1"], id="a tainted device"),
        pytest.param(
            [piece(gpu("0", taint=BROKEN), on="a")],
            [claim(exactly(tolerate=[DeviceToleration(key="broken", operator="Exists")]))],
            [],
            ["r=0"],
            id="a taint that is tolerated",
        ),
        pytest.param(
            [
                piece(
                    gpu("0", takes={"c": 2}), gpu("1", takes={"c": 2}), gpu("2", takes={"c": 1}), on="a", name="1", of=2
                ),
                piece(on="a", name="2", of=2, counters={"c": 3}),
            ],
            [claim(exactly(2))],
            [],
            ["r=0", "r=2"],
            id="partitions share counters",
        ),
        pytest.param(
            [
                piece(gpu("0", takes={"c": 2}), gpu("1", takes={"c": 2}), on="a", name="1", of=2),
                piece(on="a", name="2", of=2, counters={"c": 3}),
            ],
            [claim()],
            [claim(allocation=allocation(("a", "0")))],
            None,
            id="also with those in use",
        ),
        pytest.param(
            [piece(gpu("0", on="b"), gpu("1", on="a"), per_device=True)],
            [claim()],
            [],
            ["r=1"],
            id="devices of the node",
        ),
    ],
)
def test_what_stands_in_the_way(
    slices: list[ResourceSlice], claims: list[ResourceClaim], taken: list[ResourceClaim], want: list[str] | None
) -> None:
    assert want == given(slices, claims, *taken)


STEPS = CapacityRequestPolicy(default="4Gi", valid_range=CapacityRequestPolicyRange(min="2Gi", max="8Gi", step="2Gi"))
VALUES = CapacityRequestPolicy(default="1Gi", valid_values=("1Gi", "4Gi"))


@pytest.mark.parametrize(
    ("policy", "asked", "want"),
    [
        pytest.param(None, None, ["10Gi"], id="without policy and request all is taken"),
        pytest.param(None, "3Gi", ["3Gi", "3Gi", "3Gi"], id="without policy what is asked for"),
        pytest.param(STEPS, None, ["4Gi", "4Gi"], id="the default"),
        pytest.param(STEPS, "1Gi", ["2Gi"] * 5, id="at least the minimum"),
        pytest.param(STEPS, "3Gi", ["4Gi", "4Gi"], id="whole steps"),
        pytest.param(STEPS, "9Gi", [], id="no more than the maximum"),
        pytest.param(VALUES, "2Gi", ["4Gi", "4Gi"], id="the next value that is valid"),
        pytest.param(VALUES, "5Gi", [], id="beyond the greatest value"),
    ],
)
def test_shares_of_a_device(policy: CapacityRequestPolicy | None, asked: str | None, want: list[str]) -> None:
    slices = [piece(gpu("0", memory="10Gi", shared=True, policy=policy), on="a")]
    pools = SliceIndex(slices, ALL_FEATURES).gather(HERE)
    taken: list[ResourceClaim] = []
    while (
        results := allocator([claim(exactly(memory=asked), name=f"c{len(taken)}")], *taken).allocate(HERE, pools)
    ) is not None:
        taken.append(claim(allocation=results[0]))
    shares = [one.status.allocation.devices.results[0] for one in taken if one.status.allocation]

    assert want == [share.consumed_capacity["memory"] for share in shares]
    assert len(shares) == len({share.share_id for share in shares})


@pytest.mark.parametrize(
    ("slices", "claims", "want"),
    [
        pytest.param(
            [FOUR],
            [claim(exactly(of="broken"))],
            "class broken: selector #0: CEL compile error: compilation failed: ERROR: <input>:1:1: undeclared "
            "reference to 'nope' (in container '')\n | nope == 1\n | ^",
            id="a class whose selector does not compile",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(where=["true", f"{MODEL[:-6]}.size == 1"]))],
            "claim default/claim: selector #1: CEL runtime error: no such key: size",
            id="a selector that asks for what is not there",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(where=["[1,2].all(a, " * 19 + "true" + ")" * 19]))],
            "claim default/claim: selector #0: CEL runtime error: operation cancelled: actual cost limit exceeded",
            id="a selector that runs too long",
        ),
        pytest.param(
            [piece(gpu("0"), on="a", of=2)],
            [claim(exactly(take_all=True))],
            "claim default/claim, request r: asks for all devices, but resource pool "
            f"{DRIVER}/a is currently being updated",
            id="all of a pool with a hole",
        ),
        pytest.param(
            [piece(gpu("0"), gpu("0"), on="a")],
            [claim(exactly(take_all=True))],
            f"claim default/claim, request r: asks for all devices, but resource pool {DRIVER}/a is currently invalid",
            id="all of a pool that is invalid",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(take_all=True), constraints=[same("model")])],
            f"claim default/claim, request r: cannot add device {DRIVER}/a/1 because "
            "a claim constraint would not be satisfied",
            id="all and a constraint that forbids it",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(33))],
            "claim default/claim: number of requested devices 33 exceeds the claim limit of 32",
            id="more than a claim can hold",
        ),
        pytest.param(
            [FOUR],
            [claim(constraints=[DeviceConstraint()])],
            "claim default/claim, constraint #0: empty constraint (unsupported constraint type?)",
            id="a constraint of an unknown kind",
        ),
        pytest.param(
            [FOUR],
            [claim(exactly(of="none"))],
            "claim default/claim, request r: could not retrieve device class none: "
            'deviceclass.resource.k8s.io "none" not found',
            id="a class that is gone",
        ),
    ],
)
def test_what_fails_the_attempt(slices: list[ResourceSlice], claims: list[ResourceClaim], want: str) -> None:
    with pytest.raises(AllocationError) as failed:
        given(slices, claims)

    assert want == str(failed.value)
    assert not isinstance(failed.value, NodeAllocationError)


def test_an_invalid_pool_is_told_when_the_others_are_not_enough() -> None:
    invalid = piece(gpu("0"), gpu("0"), on="a", pool="bad")

    with pytest.raises(NodeAllocationError) as failed:
        given([invalid, FOUR], [claim(exactly(5))])

    assert "invalid resource pools were encountered" == str(failed.value)
    assert ["r=0"] == given([invalid, FOUR], [claim()])


def test_a_hole_in_a_pool_is_no_obstacle_to_counted_requests() -> None:
    assert ["r=0"] == given([piece(gpu("x"), on="a", pool="hole", of=2), FOUR], [claim()])


def test_a_search_without_end_is_given_up() -> None:
    unlike = piece(*(gpu(str(i), model="x", serial=i) for i in range(24)), on="a")
    hopeless = claim(
        exactly(8), exactly(8, name="q"), exactly(9, name="s"), constraints=[same("model"), different("serial")]
    )
    pools = SliceIndex([unlike], ALL_FEATURES).gather(HERE)
    impatient = Allocator(
        claims=[hopeless], classes=CLASSES, state=AllocatedState(), selectors=SELECTORS, max_steps=1000
    )

    with pytest.raises(SearchTimeoutError) as failed:
        impatient.allocate(HERE, pools)

    assert "node a: timed out trying to allocate devices" == str(failed.value)


def test_features_that_are_off_are_named() -> None:
    off = Features(admin_access=False, prioritized_list=False, consumable_capacity=False)
    told = []
    for request in (exactly(admin=True), first_of(("gpu", 1)), exactly(memory="1Gi")):
        with pytest.raises(AllocationError) as failed:
            allocator([claim(request)], features=off)
        told.append(str(failed.value))

    assert [
        "claim default/claim, request r: admin access is requested, but the feature is disabled",
        "claim default/claim, request r: has subrequests, but the DRAPrioritizedList feature is disabled",
        "claim default/claim, request r: has capacity requests, but the DRAConsumableCapacity feature is disabled",
    ] == told
