"""Back-off delays and retries follow client-go."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.client.backoff import (
    CONFLICT_BACKOFF,
    REFLECTOR_BACKOFF,
    STATUS_PATCH_BACKOFF,
    Backoff,
    BackoffPolicy,
    jittered,
    retry_on,
)
from stowplan.client.errors import Conflict, NotFound
from stowplan.clock import FakeClock
from tests.client.virtual_time import LoopClock, run_virtual


def delays(policy: BackoffPolicy, count: int) -> list[float]:
    """The first delays without jitter."""
    plain = BackoffPolicy(initial=policy.initial, factor=policy.factor, cap=policy.cap, steps=policy.steps)
    backoff = Backoff(plain, clock=FakeClock(), rng=random.Random(1))
    return [round(backoff.next_delay(), 6) for _ in range(count)]


@pytest.mark.parametrize(
    ("policy", "want"),
    [
        pytest.param(
            REFLECTOR_BACKOFF, [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0], id="an informer doubles to its cap"
        ),
        pytest.param(STATUS_PATCH_BACKOFF, [0.01, 0.05, 0.25], id="a status patch waits five times longer each time"),
        pytest.param(CONFLICT_BACKOFF, [0.01, 0.01, 0.01], id="a conflict is tried again at an even pace"),
    ],
)
def test_delays(policy: BackoffPolicy, want: list[float]) -> None:
    assert want == delays(policy, len(want))


def test_resets_two_minutes_after_the_last_reset() -> None:
    clock = FakeClock()
    backoff = Backoff(
        BackoffPolicy(initial=1.0, factor=2.0, cap=30.0, reset_after=120.0), clock=clock, rng=random.Random(1)
    )
    assert [1.0, 2.0, 4.0] == [backoff.next_delay() for _ in range(3)]
    clock.advance(120.0)
    assert backoff.next_delay() == 8.0
    clock.advance(0.1)
    assert backoff.next_delay() == 1.0
    backoff.reset()
    assert backoff.next_delay() == 1.0


@given(st.floats(0, 100), st.floats(0, 3), st.integers())
def test_jitter_only_adds(seconds: float, factor: float, seed: int) -> None:
    assert seconds <= jittered(seconds, factor, random.Random(seed)) <= seconds * (1 + factor) + 1e-9


@pytest.mark.parametrize(
    ("failures", "want_tries", "want_error"),
    [
        pytest.param([], 1, None, id="success at once"),
        pytest.param([Conflict("c")] * 3, 4, None, id="success at the last try"),
        pytest.param([Conflict("c")] * 4, 4, Conflict, id="the last error when no try succeeds"),
        pytest.param([NotFound("n")], 1, NotFound, id="other errors are not tried again"),
    ],
)
def test_retry_on(failures: list[Exception], want_tries: int, want_error: type[Exception] | None) -> None:
    tries = 0

    async def attempt() -> str:
        nonlocal tries
        tries += 1
        if tries <= len(failures):
            raise failures[tries - 1]
        return "done"

    async def story() -> str:
        return await retry_on(
            attempt, retriable=(Conflict,), policy=STATUS_PATCH_BACKOFF, clock=LoopClock(), rng=random.Random(1)
        )

    if want_error is None:
        assert run_virtual(story()) == "done"
    else:
        with pytest.raises(want_error):
            run_virtual(story())
    assert want_tries == tries
