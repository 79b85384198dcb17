"""StatefulSets move in order, and always arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.sim.controllers.ordinals import Moves, Ordered, Place, next_moves
from stowplan.sim.controllers.stateful_pods import ordinal_of

OK, SICK, GOING = Place(), Place(available=False), Place(terminating=True)
OLD, OLD_SICK, ENDED = Place(updated=False), Place(updated=False, available=False), Place(finished=True)


@pytest.mark.parametrize(
    ("wish", "places", "want"),
    [
        pytest.param(Ordered(replicas=3), {}, Moves([0]), id="the first comes first"),
        pytest.param(Ordered(replicas=3), {0: SICK}, Moves(), id="the second waits for it"),
        pytest.param(Ordered(replicas=3), {0: OK}, Moves([1]), id="and comes when it is available"),
        pytest.param(Ordered(replicas=3, parallel=True), {0: SICK}, Moves([1, 2]), id="in parallel nobody waits"),
        pytest.param(Ordered(replicas=2, start=5), {}, Moves([5]), id="counting may start anywhere"),
        pytest.param(Ordered(replicas=2), {0: ENDED, 1: OK}, Moves([], [0]), id="one that has ended is replaced"),
        pytest.param(Ordered(replicas=2), {0: Place(finished=True, terminating=True)}, Moves(), id="in its time"),
        pytest.param(Ordered(replicas=1), {0: OK, 1: OK, 2: OK}, Moves([], [2]), id="the last goes first"),
        pytest.param(Ordered(replicas=1), {0: OK, 1: OK, 2: GOING}, Moves(), id="one at a time"),
        pytest.param(Ordered(replicas=1), {0: OK, 1: SICK, 2: OK}, Moves([], [2]), id="from the top down"),
        pytest.param(Ordered(replicas=1), {0: OK, 1: OK, 2: SICK}, Moves([], [2]), id="the first sick one may go"),
        pytest.param(Ordered(replicas=1), {0: OK, 1: SICK, 2: SICK}, Moves(), id="another sick one waits for it"),
        pytest.param(Ordered(replicas=1, parallel=True), {0: SICK, 1: SICK, 2: GOING}, Moves([], [1]),
                     id="in parallel all go"),
        pytest.param(Ordered(replicas=3), {0: OLD, 1: OLD, 2: OLD}, Moves([], [2]), id="an update begins at the top"),
        pytest.param(Ordered(replicas=3), {0: OLD, 1: OLD, 2: OK}, Moves([], [1]), id="and goes down"),
        pytest.param(Ordered(replicas=3, partition=2), {0: OLD, 1: OLD, 2: OK}, Moves(), id="to the partition"),
        pytest.param(Ordered(replicas=3, on_delete=True), {0: OLD, 1: OLD, 2: OLD}, Moves(), id="or when asked"),
        pytest.param(Ordered(replicas=3, max_unavailable=2), {0: OLD, 1: OLD, 2: OLD}, Moves([], [2, 1]),
                     id="several at a time, if it may"),
        pytest.param(Ordered(replicas=3, parallel=True), {0: OLD, 1: OLD, 2: SICK}, Moves(),
                     id="a sick new one holds it up"),
        pytest.param(Ordered(replicas=3, parallel=True), {0: OLD_SICK, 1: OLD, 2: OLD}, Moves([], [0]),
                     id="a sick old one is replaced"),
        pytest.param(Ordered(replicas=2), {0: OK, 1: OK}, Moves(), id="a complete set rests"),
    ],
)  # fmt: skip
def test_moves(wish: Ordered, places: dict[int, Place], want: Moves) -> None:
    assert want == next_moves(wish, places)


@given(
    replicas=st.integers(0, 5),
    parallel=st.booleans(),
    most=st.integers(1, 3),
    places=st.dictionaries(st.integers(0, 7), st.sampled_from([OK, OLD, SICK, OLD_SICK, ENDED, GOING]), max_size=8),
)
def test_every_set_arrives(replicas: int, parallel: bool, most: int, places: dict[int, Place]) -> None:
    wish = Ordered(replicas=replicas, parallel=parallel, max_unavailable=most)
    for _ in range(100):
        moves = next_moves(wish, places)
        assert set(moves.create).isdisjoint(places)
        assert set(moves.delete) <= places.keys()
        # What goes has gone, what was sick gets well, what was made is there.
        places = {
            ordinal: Place(updated=place.updated, finished=place.finished)
            for ordinal, place in places.items()
            if not place.terminating and ordinal not in moves.delete
        } | dict.fromkeys(moves.create, OK)
    assert dict.fromkeys(range(replicas), OK) == places


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("db-0", 0, id="the first"),
        pytest.param("db-12", 12, id="one of many"),
        pytest.param("db-01", None, id="not a number as we write it"),
        pytest.param("db-x", None, id="no number"),
        pytest.param("other-1", None, id="of another set"),
        pytest.param("db-1-2", None, id="of a set with a longer name"),
    ],
)
def test_the_number_of_a_pod(name: str, want: int | None) -> None:
    assert want == ordinal_of(name, "db")
