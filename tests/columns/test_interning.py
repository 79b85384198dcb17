"""Codes of distinct values, and what is known of them."""

from functools import partial
from operator import add

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns.interning import MOST_QUESTIONS, Interner


def divides(divisor: int, number: int) -> bool:
    return number % divisor == 0


def test_equal_values_share_a_code_and_codes_count_from_zero() -> None:
    interner: Interner[str] = Interner()

    assert [0, 1, 0] == [interner.code(value) for value in ("a", "b", "a")]
    assert ["a", "b"] == interner.values
    assert [1, -1] == [interner.find("b"), interner.find("c")]


def test_values_are_judged_once_however_often_one_asks() -> None:
    interner: Interner[str] = Interner()
    asked: list[str] = []

    def judge(value: str) -> bool:
        asked.append(value)
        return value > "a"

    for value in ("a", "b"):
        interner.code(value)
    assert [False, True, False] == interner.answers("later than a", judge, np.bool_).tolist()
    interner.code("c")
    answers = interner.answers("later than a", judge, np.bool_, absent=False)

    assert [False, True, True, False] == answers.tolist()
    assert ["a", "b", "c"] == asked


def test_code_minus_one_finds_the_answer_for_absent() -> None:
    interner: Interner[str] = Interner()
    interner.code("a")

    assert 7 == interner.answers("length", len, np.int64, absent=7)[-1]


def test_old_questions_are_forgotten_and_asked_anew() -> None:
    interner: Interner[int] = Interner()
    interner.code(1)
    for question in range(MOST_QUESTIONS + 5):
        interner.answers(question, partial(add, question), np.int64)

    assert [1, 0] == interner.answers(0, lambda value: value, np.int64, absent=0).tolist()


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from([2, 3, 5])), max_size=40))
def test_answers_agree_with_judging_every_value(steps: list[tuple[int, int]]) -> None:
    interner: Interner[int] = Interner()
    for value, divisor in steps:
        interner.code(value)
        got = interner.answers(divisor, partial(divides, divisor), np.bool_)
        assert [*(known % divisor == 0 for known in interner.values), False] == got.tolist()
