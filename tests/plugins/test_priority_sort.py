"""The order of the active queue."""

from dataclasses import dataclass

import pytest

from stowplan.columns.pods import PodCompiler, PodInfo
from stowplan.plugins.priority_sort import PrioritySort
from stowplan.testing.builders import pod


@dataclass
class Queued:
    """A pod in the queue."""

    info: PodInfo
    queued_at: float


def queued(priority: int | None, at: float) -> Queued:
    return Queued(PodCompiler().compile(pod(priority=priority)), at)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(queued(10, 5.0), queued(9, 1.0), id="the higher priority, however late"),
        pytest.param(queued(10, 1.0), queued(10, 5.0), id="among equals the one that came first"),
        pytest.param(queued(0, 5.0), queued(-1, 1.0), id="a negative priority comes last"),
        pytest.param(queued(None, 1.0), queued(0, 2.0), id="no priority counts as zero"),
    ],
)
def test_order(first: Queued, second: Queued) -> None:
    key = PrioritySort().queue_key

    assert [first, second] == sorted([second, first], key=key)
