"""Devices that are alike are tried once; that saves steps and changes no answer."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.resource import Device, DeviceRequest, DeviceTaint, ResourceClaim, ResourceSlice
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocator import MAX_STEPS, Allocator
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache
from stowplan.plugins.dynamic_resources.errors import SearchTimeoutError
from stowplan.plugins.dynamic_resources.features import ALL_FEATURES
from stowplan.plugins.dynamic_resources.likeness import Likeness
from stowplan.plugins.dynamic_resources.pools import Candidate, NodeIdentity
from stowplan.plugins.dynamic_resources.requests import WantedClaim, read_requests
from stowplan.plugins.dynamic_resources.search import Search
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
        device_class("x", f'device.attributes["{DRIVER}"].model == "x"'),
        device_class("unsure", f'device.attributes["{DRIVER}"].numa == 0'),
    )
}
SELECTORS = SelectorCache()
BROKEN = DeviceTaint(key="broken", value="yes", effect="NoSchedule")
PLAIN = claim(exactly(of="x"), constraints=[same("numa")])


def found(
    slices: Sequence[ResourceSlice],
    claims: Sequence[ResourceClaim],
    taken: Sequence[ResourceClaim] = (),
    *,
    easy_steps: int,
    max_steps: int = MAX_STEPS,
) -> list[tuple[str, str]] | str | None:
    """Each request with its device, or the error."""
    state = AllocatedState()
    for one in taken:
        assert one.status.allocation is not None
        state.add(one.status.allocation)
    allocator = Allocator(claims=claims, classes=CLASSES, state=state, selectors=SELECTORS)
    search = Search(
        node=HERE,
        pools=SliceIndex(slices, ALL_FEATURES).gather(HERE),
        claims=allocator.wanted,
        state=state,
        matcher=allocator.matcher,
        features=ALL_FEATURES,
        max_steps=max_steps,
        easy_steps=easy_steps,
    )
    try:
        results = search.run()
    except SearchTimeoutError:
        raise
    except Exception as error:  # noqa: BLE001 - which one it is shall be the same, too
        return f"{type(error).__name__}: {error}"
    if results is None:
        return None
    return [(one.wanted.full_name, one.candidate.id[2]) for result in results for one in result.given]


def likeness(one: ResourceClaim) -> Likeness:
    """For one claim, whose requests select by the model."""
    wanted: Sequence[WantedClaim] = tuple(read_requests((one,), CLASSES, ALL_FEATURES))

    def selects(_claim: WantedClaim, asked: object, candidate: Candidate) -> bool:
        model = candidate.device.attributes.get("model")
        return model is not None and model.string_value == "x"

    return Likeness(wanted, selects)


@pytest.mark.parametrize(
    ("one", "other", "want"),
    [
        pytest.param(gpu("0", model="x", numa=0), gpu("1", model="x", numa=0), True, id="by all that is asked"),
        pytest.param(gpu("0", model="x", serial=1), gpu("1", model="x", serial=2), True, id="whatever nobody asks"),
        pytest.param(gpu("0", model="x"), gpu("1", model="y"), False, id="not if only one is selected"),
        pytest.param(gpu("0", model="x", numa=0), gpu("1", model="x", numa=1), False, id="not by another attribute"),
        pytest.param(gpu("0", model="x", numa=0), gpu("1", model="x"), False, id="not without the attribute"),
        pytest.param(gpu("0", model="x", taint=BROKEN), gpu("1", model="x"), False, id="not with another taint"),
        pytest.param(gpu("0", model="x", memory="1Gi"), gpu("1", model="x"), False, id="not with other capacity"),
        pytest.param(gpu("0", model="x", takes={"c": 1}), gpu("1", model="x"), False, id="not with other counters"),
    ],
)
def test_alike(one: Device, other: Device, want: bool) -> None:
    here = piece(one, other, on="a")
    kinds = likeness(PLAIN)
    first, second = [Candidate((DRIVER, "a", device.name), device, here) for device in (one, other)]

    assert want == (kinds.kind(first) == kinds.kind(second))


def test_nothing_is_alike_where_all_must_differ() -> None:
    device = gpu("0", model="x", numa=0)
    kinds = likeness(claim(exactly(of="x"), constraints=[different("numa")]))

    assert kinds.kind(Candidate((DRIVER, "a", "0"), device, piece(device, on="a"))) is None


def test_what_cannot_be_had_is_known_soon() -> None:
    many = piece(*(gpu(str(i), model="x", serial=i) for i in range(24)), on="a")
    hopeless = [claim(exactly(8), exactly(8, name="q"), exactly(9, name="s"), constraints=[same("model")])]

    assert found([many], hopeless, easy_steps=50, max_steps=1000) is None
    with pytest.raises(SearchTimeoutError):
        found([many], hopeless, easy_steps=1000, max_steps=1000)


devices = st.lists(
    st.builds(
        lambda model, numa, taint, share, takes: dict(
            model=model,
            **({} if numa is None else {"numa": numa}),
            taint=BROKEN if taint else None,
            shared=share,
            memory="2Gi" if share else None,
            takes={"c": 1} if takes else None,
        ),
        st.sampled_from(["x", "x", "y"]),
        st.sampled_from([0, 0, 1, None]),
        st.sampled_from([False, False, False, True]),
        st.sampled_from([False, False, True]),
        st.sampled_from([False, False, True]),
    ),
    min_size=1,
    max_size=6,
)


def requests(name: str) -> st.SearchStrategy[DeviceRequest]:
    """A request of any of the usual forms."""
    counts, classes = st.integers(1, 2), st.sampled_from(["gpu", "x", "x", "unsure"])
    return st.one_of(
        st.builds(lambda count, of: exactly(count, of=of, name=name), counts, classes),
        st.builds(lambda one, other: first_of((one, 2), (other, 1), name=name), classes, classes),
        st.builds(lambda of: exactly(of=of, name=name, memory="1Gi"), classes),
    )


claims = st.builds(
    lambda asked, constraint, name: claim(*asked, constraints=constraint, name=name),
    st.tuples(requests("r"), requests("q")),
    st.sampled_from([[], [same("numa")], [same("model", "r")], [different("numa")]]),
    st.uuids().map(str),
)


@given(devices, st.lists(claims, min_size=1, max_size=2), st.sets(st.integers(0, 5), max_size=2))
def test_the_first_solution_stays_the_first(
    some: list[dict[str, object]], wanted: list[ResourceClaim], in_use: set[int]
) -> None:
    many = piece(*(gpu(str(i), **one) for i, one in enumerate(some)), on="a", counters={"c": 2})  # type: ignore[arg-type]
    counters = piece(on="a", name="counters", of=2, counters={"c": 2})
    here = [piece(*many.spec.devices, on="a", of=2), counters]
    taken = [claim(name=f"t{i}", allocation=allocation(("a", str(i)))) for i in sorted(in_use)]

    assert found(here, wanted, taken, easy_steps=MAX_STEPS) == found(here, wanted, taken, easy_steps=0)
