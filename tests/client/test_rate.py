"""The token bucket lets through what client-go's lets through."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.client.rate import RateLimiter
from stowplan.clock import FakeClock
from tests.client.virtual_time import LoopClock, run_virtual


@pytest.mark.parametrize(
    ("qps", "burst", "count", "want"),
    [
        pytest.param(50, 100, 100, 0.0, id="the burst goes at once"),
        pytest.param(50, 100, 150, 1.0, id="beyond the burst at the rate"),
        pytest.param(0, 1, 1000, 0.0, id="zero is no limit"),
        pytest.param(-1, 1, 1000, 0.0, id="less than zero is no limit"),
    ],
)
def test_how_long_many_requests_take(qps: float, burst: int, count: int, want: float) -> None:
    async def story() -> float:
        clock = LoopClock()
        limiter = RateLimiter(qps, burst, clock=clock)
        start = clock.monotonic()
        await asyncio.gather(*(limiter.acquire() for _ in range(count)))
        return clock.monotonic() - start

    assert run_virtual(story()) == pytest.approx(want, abs=0.1)


def test_waiters_are_served_in_order_and_a_cancelled_one_gives_its_token_back() -> None:
    async def story() -> list[str]:
        limiter = RateLimiter(1, 1, clock=LoopClock())
        served: list[str] = []

        async def take(name: str) -> None:
            await limiter.acquire()
            served.append(name)

        tasks = [asyncio.create_task(take(name)) for name in "abc"]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        await asyncio.sleep(0)
        tasks.append(asyncio.create_task(take("d")))
        await asyncio.sleep(1.7)
        assert len(served) == 3
        await asyncio.wait(tasks)
        return served

    assert sorted(run_virtual(story())) == ["a", "c", "d"]


@given(st.lists(st.floats(0, 2), max_size=60), st.integers(1, 5), st.floats(0.5, 10))
def test_never_more_than_burst_plus_rate(pauses: list[float], burst: int, qps: float) -> None:
    clock = FakeClock()
    limiter = RateLimiter(qps, burst, clock=clock)
    elapsed, taken = 0.0, 0
    for pause in pauses:
        clock.advance(pause)
        elapsed += pause
        taken += limiter.try_acquire()
        assert taken <= burst + elapsed * qps + 1e-6
