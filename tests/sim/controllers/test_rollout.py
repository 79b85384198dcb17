"""The arithmetic of rollouts: tables of upstream's cases, and the bounds that every rollout keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.sim.controllers.numbers import fenceposts, scaled
from stowplan.sim.controllers.rollout import Part, Sizes, Wish, initial_size, is_scaled, roll, scale


def part(name: str, replicas: int, available: int | None = None, created: str = "", **more: int) -> Part:
    return Part(
        name=name, replicas=replicas, available=replicas if available is None else available, created=created, **more
    )


@pytest.mark.parametrize(
    ("value", "total", "up", "want"),
    [
        pytest.param(3, 10, True, 3, id="a number is itself"),
        pytest.param("25%", 10, True, 3, id="a surge is rounded up"),
        pytest.param("25%", 10, False, 2, id="what may be missing is rounded down"),
        pytest.param("100%", 7, False, 7, id="all of it"),
        pytest.param(None, 7, True, 0, id="nothing said is none"),
    ],
)
def test_amounts_and_percentages(value: int | str | None, total: int, up: bool, want: int) -> None:
    assert want == scaled(value, total, up=up)


@pytest.mark.parametrize("value", ["25", "x%", "-1%", "٣%"])
def test_what_is_neither_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="neither a number nor a percentage"):
        scaled(value, 10, up=True)


def test_a_rollout_may_always_move() -> None:
    assert (0, 1) == fenceposts("0%", "1%", 10)
    assert (1, 0) == fenceposts(1, 0, 10)


@pytest.mark.parametrize(
    ("new", "olds", "want"),
    [
        pytest.param(part("n", 0), [part("o", 10)], {"n": 3}, id="the new set grows into the surge"),
        pytest.param(part("n", 3, 0), [part("o", 10)], {"o": 8}, id="the old one gives what may be missing"),
        pytest.param(part("n", 3, 0), [part("o", 8)], {"n": 5}, id="and the new one takes it"),
        pytest.param(part("n", 5, 0), [part("o", 8)], {}, id="then it waits for new pods to be available"),
        pytest.param(part("n", 5, 2), [part("o", 8)], {"o": 6}, id="each one that is lets an old one go"),
        pytest.param(part("n", 10, 10), [part("o", 2)], {"o": 0}, id="at the end the old ones go"),
        pytest.param(part("n", 12, 12), [], {"n": 10}, id="too many new ones are cut back"),
        pytest.param(part("n", 10, 10), [], {}, id="a complete rollout rests"),
        pytest.param(part("n", 3, 3), [part("a", 5, 0, "1"), part("b", 5, 5, "2")], {"a": 0},
                     id="pods that are not available go first"),
    ],
)  # fmt: skip
def test_a_rolling_update(new: Part, olds: list[Part], want: Sizes) -> None:
    assert want == roll(Wish(replicas=10, max_surge=3, max_unavailable=2), new, olds)


@given(
    replicas=st.integers(0, 12),
    surge=st.integers(0, 5),
    unavailable=st.integers(0, 5),
    olds=st.lists(st.integers(0, 12), max_size=3),
    steps=st.lists(st.integers(0, 3), min_size=60, max_size=60),
)
def test_a_rollout_ends_and_stays_within_its_bounds(
    replicas: int, surge: int, unavailable: int, olds: list[int], steps: list[int]
) -> None:
    wish = Wish(replicas=replicas, max_surge=surge, max_unavailable=unavailable)
    parts = {f"o{number}": part(f"o{number}", size, created=str(number)) for number, size in enumerate(olds)}
    parts["n"] = part("n", initial_size(wish, list(parts.values())), 0)
    most = max(replicas + wish.surge, sum(olds))
    least = min(replicas - wish.unavailable, sum(olds))
    for ready in [*steps, *[3] * 60]:
        new = parts["n"]
        sizes = roll(wish, new, [one for name, one in parts.items() if name != "n"])
        for name, size in sizes.items():
            parts[name] = part(name, size, min(parts[name].available, size), parts[name].created)
        assert sum(one.replicas for one in parts.values()) <= most
        assert sum(one.available for one in parts.values()) >= least
        grown = min(parts["n"].available + ready, parts["n"].replicas)
        parts["n"] = part("n", parts["n"].replicas, grown)
    assert {"n": replicas} == {name: one.replicas for name, one in parts.items() if one.replicas or name == "n"}


@pytest.mark.parametrize(
    ("wish", "new", "olds", "want"),
    [
        pytest.param(Wish(replicas=5), part("n", 3), [], {"n": 5}, id="the only set takes all"),
        pytest.param(Wish(replicas=5), part("n", 0), [part("o", 3)], {"o": 5}, id="the only active one, if it is old"),
        pytest.param(Wish(replicas=5), part("n", 5), [], {}, id="nothing to do"),
        pytest.param(Wish(replicas=5), None, [], {}, id="nothing to scale"),
        pytest.param(Wish(replicas=5), part("n", 5, 5, desired=5), [part("o", 2)], {"o": 0},
                     id="a saturated new set empties the old ones"),
        pytest.param(Wish(replicas=20, max_surge=0, max_unavailable=1), part("n", 5, most=10), [part("o", 5, most=10)],
                     {"n": 10, "o": 10}, id="growth is shared in proportion"),
        pytest.param(Wish(replicas=4, max_surge=0, max_unavailable=1), part("n", 5, most=10), [part("o", 5, most=10)],
                     {"n": 2, "o": 2}, id="so is shrinking"),
        pytest.param(Wish(replicas=0), part("n", 5), [part("o", 3)], {"n": 0, "o": 0}, id="to none at all"),
        pytest.param(Wish(replicas=7, rolling=False), part("n", 5), [part("o", 3)], {}, id="recreating does not share"),
    ],
)  # fmt: skip
def test_scaling(wish: Wish, new: Part | None, olds: list[Part], want: Sizes) -> None:
    assert want == scale(wish, new, olds)


@given(
    sizes=st.lists(st.integers(1, 50), min_size=2, max_size=5),
    replicas=st.integers(0, 80),
    surge=st.integers(0, 10),
)
def test_shares_add_up(sizes: list[int], replicas: int, surge: int) -> None:
    parts = [part(f"p{number}", size, most=sum(sizes)) for number, size in enumerate(sizes)]
    wish = Wish(replicas=replicas, max_surge=surge, max_unavailable=1)

    shares = scale(wish, parts[0], parts[1:])

    assert all(size >= 0 for size in shares.values())
    assert (replicas + surge if replicas else 0) == sum(shares.values())


def test_a_size_that_changed_is_noticed() -> None:
    assert is_scaled(Wish(replicas=5), [part("n", 3, desired=3)])
    assert not is_scaled(Wish(replicas=5), [part("n", 3, desired=5), part("o", 0, desired=3)])
