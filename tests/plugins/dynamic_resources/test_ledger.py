"""The ledger: the newest version of every claim, and no device counted for nobody or given away twice."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.resource import ResourceClaim
from stowplan.columns.objects import ObjectStore
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.ledger import Ledger
from tests.plugins.dynamic_resources.devices import DRIVER, allocation, claim

GIVEN = allocation(("a", "0"))
DEVICE = (DRIVER, "a", "0")


@pytest.mark.parametrize(
    ("before", "assumed", "after", "want"),
    [
        pytest.param(claim(version=1), claim(version=2), claim(version=1), 2, id="ahead of the watch"),
        pytest.param(claim(version=1), claim(version=2), claim(version=2), 2, id="level with the watch"),
        pytest.param(claim(version=1), claim(version=2), claim(version=3), 3, id="overtaken by the watch"),
        pytest.param(claim(version=1), claim(version=2), None, None, id="deleted meanwhile"),
        pytest.param(None, claim(version=2), None, 2, id="created by us and not seen yet"),
    ],
)
def test_the_newest_version_is_known(
    before: ResourceClaim | None, assumed: ResourceClaim, after: ResourceClaim | None, want: int | None
) -> None:
    objects, ledger = ObjectStore(), Ledger()
    if before is not None:
        objects.put(before)
    ledger.assume(objects, assumed)
    if after is not None:
        objects.put(after)
    elif before is not None:
        objects.drop(ResourceClaim, before.key)
    found = ledger.find(objects, assumed.key)

    assert want == (None if found is None else int(found.metadata.resource_version))


def test_a_device_is_in_use_from_reservation_to_release() -> None:
    objects, ledger, seen = ObjectStore(), Ledger(), []

    def note() -> None:
        seen.append(ledger.state(objects, shares_apart=True).in_use(DEVICE))

    objects.put(claim())
    note()
    ledger.signal("uid-claim", GIVEN)
    note()
    ledger.assume(objects, claim(allocation=GIVEN, version=2))
    ledger.settle("uid-claim")
    note()
    objects.put(claim(allocation=GIVEN, version=2))
    note()
    objects.put(claim(version=3))
    note()

    assert [False, True, True, True, False] == seen


def test_what_was_reserved_in_vain_is_free_again() -> None:
    objects, ledger = ObjectStore(), Ledger()
    ledger.signal("uid-claim", GIVEN)

    assert (True, False, False) == (
        ledger.settle("uid-claim"),
        ledger.settle("uid-claim"),
        ledger.state(objects, shares_apart=True).in_use(DEVICE),
    )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "drop", "signal", "settle", "assume", "restore", "look"]),
        st.integers(0, 2),
        st.integers(0, 3),
    ),
    max_size=16,
)


@given(STEPS)
def test_the_counts_are_those_of_all_claims_and_reservations(steps: list[tuple[str, int, int]]) -> None:
    objects, ledger = ObjectStore(), Ledger()
    for version, (what, which, device) in enumerate(steps, 1):
        held = allocation(("a", str(device))) if device else None
        one = claim(name=f"c{which}", allocation=held, version=version)
        if what == "put":
            objects.put(one)
        elif what == "drop":
            objects.drop(ResourceClaim, one.key)
        elif what == "assume":
            ledger.assume(objects, one)
        elif what == "restore":
            ledger.restore(one.key)
        elif what == "signal" and one.uid not in ledger.in_flight:
            ledger.signal(one.uid, allocation(("a", str(device))))
        elif what == "settle":
            ledger.settle(one.uid)
        elif what == "look":
            want = AllocatedState()
            for found in [ledger.find(objects, f"default/c{number}") for number in range(3)]:
                if found is not None and found.status.allocation is not None:
                    want.add(found.status.allocation)
            for given_away in ledger.in_flight.values():
                want.add(given_away)

            assert want.whole == ledger.state(objects, shares_apart=True).whole


def test_another_cluster_is_another_book() -> None:
    ledger, before, after = Ledger(), ObjectStore(), ObjectStore()
    before.put(claim(allocation=GIVEN))
    after.put(claim(name="other"))

    assert [True, False] == [ledger.state(objects, shares_apart=True).in_use(DEVICE) for objects in (before, after)]


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(1, 4)), max_size=6))
def test_shares_come_and_go_in_any_order(shares: list[tuple[int, int]]) -> None:
    given_away = [
        msgspec.structs.replace(
            allocation(("a", str(device)), share_id=f"s{i}", consumed_capacity={"memory": f"{amount}Gi"})
        )
        for i, (device, amount) in enumerate(shares)
    ]
    state = AllocatedState()
    for one in given_away:
        state.add(one)
    held = {device: dict(amounts) for device, amounts in state.capacity.items()}
    for one in reversed(given_away):
        state.remove(one)

    totals: dict[tuple[str, str, str], int] = {}
    for number, amount in shares:
        device = (DRIVER, "a", str(number))
        totals[device] = totals.get(device, 0) + amount * 2**30 * 10**9
    assert totals == {device: amounts["memory"] for device, amounts in held.items()}
    assert ({}, {}, {}) == (dict(state.whole), dict(state.shares), state.capacity)
