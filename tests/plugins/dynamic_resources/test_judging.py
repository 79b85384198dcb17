"""Judging by signature says of every node what a search on that node says."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.api.resource import (
    CapacityRequestPolicy,
    Device,
    DeviceClass,
    DeviceRequest,
    DeviceTaint,
    DeviceToleration,
    ResourceClaim,
    ResourceSlice,
)
from stowplan.columns.cluster import Cluster
from stowplan.framework.plugin import PluginContext
from stowplan.plugins.dynamic_resources.allocated import AllocatedState
from stowplan.plugins.dynamic_resources.allocator import Allocator
from stowplan.plugins.dynamic_resources.cel.selector import SelectorCache
from stowplan.plugins.dynamic_resources.errors import AllocationError, NodeAllocationError
from stowplan.plugins.dynamic_resources.features import ALL_FEATURES
from stowplan.plugins.dynamic_resources.outcome import score_of
from stowplan.plugins.dynamic_resources.plan import DevicePlan
from stowplan.plugins.dynamic_resources.plugin import DynamicResources
from stowplan.plugins.dynamic_resources.pools import NodeIdentity
from stowplan.plugins.dynamic_resources.slices import SliceIndex
from stowplan.testing.builders import node, pod
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    claim,
    claiming,
    device_class,
    different,
    exactly,
    first_of,
    gpu,
    piece,
    same,
)

SELECTORS = SelectorCache()
NODES = ("a", "b", "c", "d")
MODEL, INDEX = f'device.attributes["{DRIVER}"].model', f'device.attributes["{DRIVER}"].index'
DEFAULT = CapacityRequestPolicy(default="4Gi")


@st.composite
def device(draw: st.DrawFn, i: int) -> Device:
    return gpu(
        f"d{i}",
        memory=draw(st.sampled_from(["8Gi", "16Gi"])),
        shared=draw(st.integers(0, 4)) == 0,
        policy=draw(st.sampled_from([None, DEFAULT])),
        takes=draw(st.sampled_from([None, None, {"c": 1}, {"c": 2}])),
        taint=draw(st.sampled_from([None, None, None, DeviceTaint(key="k", value="v", effect="NoSchedule")])),
        conditions=draw(st.sampled_from([(), (), ("up",)])),
        model=draw(st.sampled_from(["x", "y"])),
        **({"index": i} if draw(st.integers(0, 4)) else {}),  # type: ignore[arg-type]  # mypy takes it for any keyword
    )


@st.composite
def devices(draw: st.DrawFn) -> tuple[Device, ...]:
    return tuple(draw(device(i)) for i in range(draw(st.integers(1, 3))))


@st.composite
def fleets(draw: st.DrawFn) -> list[ResourceSlice]:
    slices: list[ResourceSlice] = []
    for kind in draw(st.lists(st.sampled_from(["own", "own", "shared", "chosen"]), min_size=1, max_size=3)):
        found, pool = draw(devices()), f"p{len(slices)}"
        held = {"c": draw(st.integers(1, 3))} if any(one.consumes_counters for one in found) else None
        count = 1 + (held is not None) + (draw(st.integers(0, 9)) == 0)
        if kind == "own":
            for name in draw(st.sets(st.sampled_from(NODES), min_size=1)):
                slices.append(piece(*found, on=name, pool=f"{pool}-{name}", of=count, name=f"s-{pool}-{name}"))
                if held:
                    slices.append(
                        piece(on=name, pool=f"{pool}-{name}", of=count, name=f"c-{pool}-{name}", counters=held)
                    )
            continue
        if kind == "chosen":
            found = tuple(msgspec.structs.replace(one, node_name=draw(st.sampled_from(NODES))) for one in found)
        slices.append(piece(*found, everywhere=kind == "shared", per_device=kind == "chosen", pool=pool, of=count))
        if held:
            slices.append(piece(everywhere=True, pool=pool, of=count, name=f"c-{pool}", counters=held))
    return slices


@st.composite
def requests(draw: st.DrawFn, name: str) -> DeviceRequest:
    if draw(st.integers(0, 3)) == 0:
        return first_of(("gpu", 2, f'{MODEL} == "x"'), ("gpu", draw(st.integers(1, 2))), name=name)
    return exactly(
        draw(st.integers(1, 2)),
        name=name,
        where=draw(st.sampled_from([(), (), (f'{MODEL} == "x"',), (f"{INDEX} < 1",)])),
        take_all=draw(st.integers(0, 5)) == 0,
        tolerate=draw(st.sampled_from([(), (DeviceToleration(operator="Exists"),)])),
        memory=draw(st.sampled_from([None, None, "2Gi"])),
        admin=draw(st.sampled_from([None, None, None, True])),
    )


@st.composite
def claims(draw: st.DrawFn) -> list[ResourceClaim]:
    return [
        claim(
            *[draw(requests(f"r{j}")) for j in range(draw(st.integers(1, 2)))],
            name=f"c{i}",
            constraints=draw(st.sampled_from([(), (), (same("model"),), (different("index"),)])),
        )
        for i in range(draw(st.integers(1, 2)))
    ]


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    fatal: bool
    score: int


def by_search(
    name: str, slices: Sequence[ResourceSlice], wanted: Sequence[ResourceClaim], state: AllocatedState
) -> Said:
    """The twin: one search on one node."""
    here = NodeIdentity(name, {})
    classes: dict[str, DeviceClass] = {"gpu": device_class("gpu")}
    try:
        allocator = Allocator(claims=wanted, classes=classes, state=state, selectors=SELECTORS)
        found = allocator.search(here, SliceIndex(slices, ALL_FEATURES).gather(here))
    except NodeAllocationError as error:
        return Said(str(error), False, 0)
    except AllocationError as error:
        return Said(str(error), True, 0)
    return Said("cannot allocate all claims", False, 0) if found is None else Said("", False, score_of(found))


def same_failure(want: Said, got: Said) -> bool:
    """Any of several failures may be told: which comes first depends on the order of nodes."""
    return want == got or (want.fatal and got.fatal)


CHANGES = st.lists(
    st.tuples(st.sampled_from(["node goes", "node comes", "slice goes", "slice shrinks"]), st.integers(0, 5)),
    max_size=2,
)


def change_fleet(change: tuple[str, int], cluster: Cluster, slices: list[ResourceSlice], names: list[str]) -> None:
    what, which = change
    if what == "node goes" and len(names) > 1:
        cluster.remove(node(names.pop(which % len(names))))
    elif what == "node comes" and f"new{which}" not in names:
        names.append(f"new{which}")
        cluster.put(node(names[-1]))
    elif what.startswith("slice") and slices:
        one = slices.pop(which % len(slices))
        if what == "slice goes" or not one.spec.devices:
            cluster.remove_object(ResourceSlice, one.key)
            return
        smaller = msgspec.structs.replace(one, spec=msgspec.structs.replace(one.spec, devices=one.spec.devices[1:]))
        slices.append(smaller)
        cluster.put(smaller)


@settings(max_examples=150, deadline=None)
@given(fleets(), st.lists(claims(), min_size=1, max_size=3), st.lists(CHANGES, min_size=3, max_size=3))
def test_one_search_speaks_for_all_nodes_that_look_the_same(
    slices: list[ResourceSlice], asked: list[list[ResourceClaim]], changes: list[list[tuple[str, int]]]
) -> None:
    cluster, plugin = Cluster(), DynamicResources(None, PluginContext())
    for thing in (*map(node, NODES), *slices, device_class("gpu")):
        cluster.put(thing)
    state = AllocatedState()
    names = list(NODES)
    for step, wanted in enumerate(asked):
        for change in changes[step] if step else ():
            change_fleet(change, cluster, slices, names)
        named = [
            msgspec.structs.replace(
                one, metadata=msgspec.structs.replace(one.metadata, name=f"{one.name}-{step}", uid=f"{one.uid}-{step}")
            )
            for one in wanted
        ]
        for one in named:
            cluster.put(one)
        info = cluster.compiler.compile(claiming(pod(f"p{step}"), *[one.name for one in named]))
        view = cluster.view()
        plan = plugin.prepare(view, info)
        assert isinstance(plan, DevicePlan)
        verdict = plugin.filter(info, view.rows, plan)
        passed = []
        for at, name in enumerate(view.rows.names):
            why, want = verdict.at(at), by_search(name, slices, named, state)
            row = int(view.rows.index[at])
            score = 0 if why is not None or plan.scores is None else int(plan.scores[row])
            got = Said("" if why is None else why.message, why is not None and why.fatal, score)
            assert same_failure(want, got), (name, want, got)
            if why is None:
                passed.append(name)
        if passed:
            assert plugin.reserve(view, info, passed[step % len(passed)], {plugin.name: plan}) is None
            assert plan.reservation is not None
            for given_away in plan.reservation.allocations.values():
                state.add(given_away)
