"""A world answers like a Cluster on which its pods were really added and removed."""

from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.pod import Pod
from stowplan.columns.cluster import Cluster
from stowplan.columns.worlds import Worlds
from stowplan.testing.builders import cluster, namespace, node, pod
from tests.columns.test_cluster import SELECTORS
from tests.columns.twin import GONE, KINDS, WANTED_PORTS, Kind

NODES: Final = ("a", "b", "c")
RESOURCES: Final = ("cpu", "memory", "example.com/gpu", "example.com/never")


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One pod that comes to a node or leaves it."""

    on: str
    name: str
    kind: Kind | None
    """None removes."""


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Pod], list[Step]]:
    """Pods that are there, and what then happens on the nodes."""
    names: dict[str, list[str]] = {name: [] for name in NODES}
    placed = []
    kinds = st.sampled_from(KINDS)
    for number in range(draw(st.integers(0, 6))):
        on = draw(st.sampled_from(NODES))
        placed.append(draw(kinds).pod(f"p{number}", on=on, deleted=draw(st.sampled_from([None, None, GONE]))))
        names[on].append(f"p{number}")
    steps = []
    for number in range(draw(st.integers(0, 8))):
        on = draw(st.sampled_from(NODES))
        leaves = draw(st.booleans())
        if leaves and names[on]:
            steps.append(Step(on, names[on].pop(draw(st.integers(0, len(names[on]) - 1))), None))
        else:
            steps.append(Step(on, f"new{number}", draw(kinds)))
            names[on].append(f"new{number}")
    return placed, steps


def starting(placed: list[Pod]) -> Cluster:
    return cluster(namespace("default", team="t"), namespace("web"), *(node(name) for name in NODES), *placed)


def played(built: Cluster, steps: list[Step]) -> Worlds:
    """All steps in worlds, one per node."""
    view = built.view()
    worlds = Worlds(view, view.rows.index)
    known = {info.pod.name: info for at in range(len(view)) for info in view.rows.pods(at)}
    at = {name: position for position, name in enumerate(view.rows.names)}
    for step in steps:
        if step.kind is None:
            worlds.remove(at[step.on], known[step.name])
        else:
            known[step.name] = built.compiler.compile(step.kind.pod(step.name))
            worlds.add(at[step.on], known[step.name])
    return worlds


def done(built: Cluster, steps: list[Step]) -> Cluster:
    """All steps for real."""
    for step in steps:
        if step.kind is None:
            built.remove_pod(f"uid-{step.name}")
        else:
            built.put_pod(step.kind.pod(step.name, on=step.on))
    return built


def assert_alike(worlds: Worlds, real: Cluster, names: list[str], placed: list[Pod]) -> None:
    """The worlds of these nodes say what the rows of the real cluster say."""
    rows = real.view().only(list(names))
    assert list(rows.names) == list(worlds.names)
    for resource in RESOURCES:
        assert rows.requested(resource).tolist() == worlds.requested(resource).tolist()
    assert rows.pod_count.tolist() == worlds.pod_count.tolist()
    assert rows.nonzero_cpu.tolist() == worlds.nonzero_cpu.tolist()
    assert rows.nonzero_memory.tolist() == worlds.nonzero_memory.tolist()
    for wanted in WANTED_PORTS:
        want, got = rows.port_clash(wanted), worlds.port_clash(wanted)
        none = [False] * len(rows)
        assert (none if want is None else want.tolist()) == (none if got is None else got.tolist())
    for at in range(len(rows)):
        assert {info.uid for info in rows.pods(at)} == {info.uid for info in worlds.pods(at)}
    for what in SELECTORS:
        assert rows.count(real.view().count(what)).tolist() == worlds.count(worlds.view.count(what)).tolist()
        if not any(there.metadata.deletion_timestamp for there in placed):
            living, counted = real.view().count(what, live_only=True), worlds.view.count(what, live_only=True)
            assert rows.count(living).tolist() == worlds.count(counted).tolist()
    assert_terms_alike(worlds, real)


def assert_terms_alike(worlds: Worlds, real: Cluster) -> None:
    """So do the terms of their pods."""
    rows = real.view().only(list(worlds.names))
    before = {count.term: count for kind in KINDS for count in worlds.view.terms.about(kind.namespace, kind.labels)}
    after = {count.term: count for kind in KINDS for count in real.terms.about(kind.namespace, kind.labels)}
    assert after.keys() <= before.keys() | set(worlds.added_terms())
    for term in before.keys() | after.keys():
        was = worlds.take(before[term].column) if term in before else np.zeros(len(worlds), np.int64)
        shift = worlds.term_shift(term)
        want = rows.take(after[term].column) if term in after else np.zeros(len(worlds), np.int64)
        assert want.tolist() == (was if shift is None else was + shift).tolist()


@given(histories(), st.lists(st.booleans(), min_size=len(NODES), max_size=len(NODES)))
def test_worlds_are_like_the_real_thing(history: tuple[list[Pod], list[Step]], chosen: list[bool]) -> None:
    placed, steps = history
    worlds = played(starting(placed), steps)
    real = done(starting(placed), steps)

    assert_alike(worlds, real, list(NODES), placed)
    some = worlds.select(np.array(chosen))
    kept = [name for name, keep in zip(NODES, chosen, strict=True) if keep]
    real_some = done(starting(placed), [step for step in steps if step.on in kept])
    assert_alike(some, real_some, kept, placed)


@given(histories())
def test_undoing_every_step_gives_the_view_back(history: tuple[list[Pod], list[Step]]) -> None:
    placed, steps = history
    built = starting(placed)
    worlds = played(built, steps)
    for at in range(len(worlds)):
        for info in list(worlds.added(at)):
            worlds.remove(at, info)
        for info in list(worlds.removed(at)):
            worlds.add(at, info)
    rows = built.view().rows

    for resource in RESOURCES:
        assert rows.requested(resource).tolist() == worlds.requested(resource).tolist()
    assert rows.pod_count.tolist() == worlds.pod_count.tolist()
    assert all(worlds.shift(built.view().count(what)) is None for what in SELECTORS)
    assert set() == set(worlds.added_terms())


def test_what_is_asked_before_and_after_a_change_is_the_same() -> None:
    built = starting([])
    worlds = Worlds(built.view(), built.view().rows.index)
    count = built.view().count(SELECTORS[2])
    assert worlds.shift(count) is None

    worlds.add(1, built.compiler.compile(pod("x")))

    assert [0, 1, 0] == worlds.count(count).tolist()
    assert worlds.differs


def test_a_copy_goes_its_own_way() -> None:
    built = starting([])
    worlds = Worlds(built.view(), built.view().rows.index)
    worlds.add(0, built.compiler.compile(pod("x", cpu=1, host_ports=[80])))
    copy = worlds.select(np.array([True, False, False]))

    copy.add(0, built.compiler.compile(pod("y", cpu=1, host_ports=[81])))

    assert [1000, 0, 0] == worlds.requested("cpu").tolist()
    assert [2000] == copy.requested("cpu").tolist()
    assert worlds.port_clash(("0.0.0.0", "TCP", 81)) is None
    assert (1, 2) == (len(worlds.added(0)), len(copy.added(0)))


@pytest.mark.parametrize("live_only", [False, True])
def test_a_pod_that_is_being_deleted_leaves_a_mark_when_it_goes(live_only: bool) -> None:
    """Upstream's spread does not look whether a removed pod was counted; so does a world."""
    built = starting([KINDS[1].pod("p", on="a", deleted=GONE)])
    worlds = Worlds(built.view(), built.view().rows.index)
    worlds.remove(0, worlds.pods(0)[0])

    count = built.view().count(SELECTORS[0], live_only=live_only)

    assert (-1 if live_only else 0) == int(worlds.count(count)[0])
