"""What Jobs do next, and the text of completed indexes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.sim.cluster.records import SimPod
from stowplan.sim.controllers.indexes import read_indexes, write_indexes
from stowplan.sim.controllers.job_plan import (
    INDEX,
    Tally,
    Wish,
    backoff,
    counts_as_failed,
    end_of,
    index_of,
    step_of,
    wish_of,
)
from tests.sim.objects import NOW, job, sim_pod


def wish(**spec: Any) -> Wish:
    found = job("j", **{"parallelism": 2, "completions": 4, **spec})
    return wish_of(found)


def pods(count: int) -> list[SimPod]:
    return [sim_pod(f"p{number}", phase="Running") for number in range(count)]


def indexed(*indexes: int) -> list[SimPod]:
    return [sim_pod(f"p{index}", phase="Running", annotations={INDEX: str(index)}) for index in indexes]


@pytest.mark.parametrize(
    ("wished", "tally", "want"),
    [
        pytest.param(wish(), Tally(), (0, 2), id="as many as may run at a time"),
        pytest.param(wish(), Tally(active=pods(1), succeeded=2), (0, 1), id="one more"),
        pytest.param(wish(), Tally(active=pods(1), succeeded=3), (0, 0), id="not more than are needed"),
        pytest.param(wish(), Tally(active=pods(3)), (1, 0), id="fewer when there are too many"),
        pytest.param(wish(completions=None), Tally(active=pods(1)), (0, 1), id="a work queue fills up"),
        pytest.param(wish(completions=None), Tally(active=pods(1), succeeded=1), (0, 0), id="until the first success"),
        pytest.param(wish(suspend=True), Tally(active=pods(2)), (2, 0), id="none while suspended"),
        pytest.param(wish(podReplacementPolicy="Failed"), Tally(terminating=2), (0, 0), id="waiting for those that go"),
        pytest.param(wish(), Tally(terminating=2), (0, 2), id="or not"),
    ],
)
def test_steps(wished: Wish, tally: Tally, want: tuple[int, int]) -> None:
    step = step_of(wished, tally)

    assert want == (len(step.delete), len(step.create))


@pytest.mark.parametrize(
    ("tally", "create", "delete"),
    [
        pytest.param(Tally(), [0, 1], [], id="the lowest indexes first"),
        pytest.param(Tally(active=indexed(1), completed=frozenset({0})), [2], [], id="those that are missing"),
        pytest.param(Tally(active=indexed(0, 0, 7), completed=frozenset({3})), [1], ["p0", "p7"],
                     id="no index twice, none that is not wanted"),
        pytest.param(Tally(active=[sim_pod("plain")]), [0, 1], ["plain"], id="no pod without an index"),
    ],
)  # fmt: skip
def test_indexed_steps(tally: Tally, create: list[int], delete: list[str]) -> None:
    step = step_of(wish(completionMode="Indexed"), tally)

    assert create == step.create
    assert delete == [pod.name for pod in step.delete]


@pytest.mark.parametrize(
    ("wished", "tally", "want"),
    [
        pytest.param(wish(), Tally(succeeded=4), "CompletionsReached", id="all have succeeded"),
        pytest.param(wish(), Tally(succeeded=3), None, id="one is missing"),
        pytest.param(wish(backoffLimit=1), Tally(failed=1), None, id="as many failures as there may be"),
        pytest.param(wish(backoffLimit=1), Tally(failed=2), "BackoffLimitExceeded", id="one failure too many"),
        pytest.param(wish(activeDeadlineSeconds=10), Tally(seconds=9.0), None, id="within the deadline"),
        pytest.param(wish(activeDeadlineSeconds=10), Tally(seconds=10.0), "DeadlineExceeded", id="past it"),
        pytest.param(wish(activeDeadlineSeconds=10, suspend=True), Tally(seconds=99.0), None, id="time stands still"),
        pytest.param(wish(completions=None), Tally(succeeded=1, active=pods(1)), None, id="the queue is not empty"),
        pytest.param(wish(completions=None), Tally(succeeded=1), "CompletionsReached", id="the queue is empty"),
    ],
)
def test_ends(wished: Wish, tally: Tally, want: str | None) -> None:
    end = end_of(wished, tally)

    assert want == (end.reason if end is not None else None)


def test_restarts_count_where_containers_restart() -> None:
    spec = job("j", backoffLimit=2)
    spec["spec"]["template"]["spec"]["restartPolicy"] = "OnFailure"

    assert end_of(wish_of(spec), Tally(active=[sim_pod(restarts=1)])) is None
    end = end_of(wish_of(spec), Tally(active=[sim_pod(restarts=2)]))
    assert "BackoffLimitExceeded" == (end.reason if end is not None else None)


@pytest.mark.parametrize(
    ("pod", "policy", "want"),
    [
        pytest.param(sim_pod(phase="Failed"), None, True, id="a failed pod"),
        pytest.param(sim_pod(phase="Running"), None, False, id="a running pod"),
        pytest.param(sim_pod(phase="Running", deleted=NOW), None, True, id="one on its way out"),
        pytest.param(sim_pod(phase="Running", deleted=NOW), "Failed", False, id="not before its end, if so wished"),
        pytest.param(sim_pod(phase="Succeeded", deleted=NOW), None, False, id="one that had succeeded"),
    ],
)
def test_failures(pod: SimPod, policy: str | None, want: bool) -> None:
    assert want == counts_as_failed(pod, wish(podReplacementPolicy=policy))


def test_waits_grow() -> None:
    assert [0.0, 10.0, 20.0, 40.0, 600.0] == [backoff(failures, 10.0) for failures in (0, 1, 2, 3, 50)]


@pytest.mark.parametrize(
    ("indexes", "want"),
    [
        pytest.param([], "", id="none"),
        pytest.param([0, 1, 2, 5], "0-2,5", id="an interval and one more"),
        pytest.param([3, 4], "3,4", id="two in a row"),
    ],
)
def test_indexes_as_text(indexes: list[int], want: str) -> None:
    assert want == write_indexes(indexes)


@given(st.sets(st.integers(0, 200)))
def test_indexes_come_back(indexes: set[int]) -> None:
    assert indexes == read_indexes(write_indexes(indexes))


def test_parts_that_cannot_be_read_count_for_nothing() -> None:
    assert {1, 2, 3} == read_indexes("1,x,2-3,-,4-y")


def test_a_pod_without_an_index() -> None:
    assert [-1, -1, 3] == [index_of(sim_pod(annotations=marks)) for marks in ({}, {INDEX: "x"}, {INDEX: "3"})]
