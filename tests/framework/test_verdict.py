"""What a filter says of many nodes at once."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.framework.verdict import Code, Rejection, Verdict, rejection, unresolvable
from stowplan.testing.builders import cluster, node


def said(verdict: Verdict, rows: int) -> list[Rejection | None]:
    return [verdict.at(at) for at in range(rows)]


def masks(*rows: str) -> list[np.ndarray]:
    return [np.array([mark == "x" for mark in row]) for row in rows]


SHORT, FULL = rejection("short"), unresolvable("full")


def test_passing_everywhere() -> None:
    assert [None, None] == said(Verdict.pass_all(), 2)
    assert Verdict.pass_all().passed_n is None


def test_rejecting_everywhere() -> None:
    rows = cluster(node("a"), node("b")).view().rows

    assert [FULL, FULL] == said(Verdict.reject_all(rows, FULL), 2)


def test_rejecting_under_a_mask() -> None:
    (some, none) = masks(".x", "..")

    assert [None, SHORT] == said(Verdict.reject_where(some, SHORT), 2)
    assert Verdict.reject_where(none, SHORT).passed_n is None


def test_the_first_case_decides() -> None:
    short, full, none = masks(".x.x", "..xx", "....")

    assert [None, SHORT, FULL, SHORT] == said(Verdict.first_of([(short, SHORT), (full, FULL)]), 4)
    assert Verdict.first_of([(none, SHORT)]).passed_n is None
    assert Verdict.first_of([]).passed_n is None


def test_all_cases_add_their_reasons() -> None:
    cpu, memory, hopeless = masks(".x.x", "..xx", "x..x")

    verdict = Verdict.all_of([(cpu, "cpu"), (memory, "memory")], hopeless)

    assert [None, rejection("cpu"), rejection("memory"), unresolvable("cpu", "memory")] == said(verdict, 4)
    assert verdict.passed_n is not None
    assert [True, False, False, False] == verdict.passed_n.tolist()


@given(st.integers(1, 20), st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
def test_adding_reasons_agrees_with_its_twin(cases: int, rows: int, some_hopeless: bool, random: Random) -> None:
    marks = np.array([[random.random() < 0.3 for _ in range(rows)] for _ in range(cases)])
    hopeless = np.array([random.random() < 0.3 for _ in range(rows)]) if some_hopeless else None
    want: list[Rejection | None] = []
    for row in range(rows):
        reasons = tuple(f"r{case}" for case in range(cases) if marks[case][row])
        want.append(Rejection(reasons, hopeless is not None and bool(hopeless[row])) if reasons else None)

    verdict = Verdict.all_of([(marks[case], f"r{case}") for case in range(cases)], hopeless)

    assert want == said(verdict, rows)


def test_a_rejection_has_upstreams_code_and_text() -> None:
    assert (Code.UNSCHEDULABLE, "a, b") == (rejection("a", "b").code, rejection("a", "b").message)
    assert Code.UNRESOLVABLE == FULL.code


def test_a_verdict_refuses_to_be_a_truth_value() -> None:
    with pytest.raises(TypeError, match="speaks for many nodes"):
        bool(Verdict.pass_all())
