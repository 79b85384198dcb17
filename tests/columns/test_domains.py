"""Sums over domains agree with dictionaries."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stowplan.columns.domains import domain_members, domain_sums, only_where

DOMAINS = 4

rows = st.lists(st.tuples(st.integers(-1, DOMAINS - 1), st.integers(-5, 2**40), st.booleans()), max_size=12)


@given(rows)
def test_sums_run_along_domains_and_keep_rows_without_label_last(given_rows: list[tuple[int, int, bool]]) -> None:
    codes_n = np.array([code for code, _, _ in given_rows], np.int32)
    values_n = np.array([value for _, value, _ in given_rows], np.int64)

    want = [sum(v for c, v, _ in given_rows if c == code) for code in (*range(DOMAINS), -1)]

    assert want == domain_sums(codes_n, values_n, DOMAINS).tolist()


@given(rows)
def test_members_are_the_rows_of_a_domain(given_rows: list[tuple[int, int, bool]]) -> None:
    codes_n = np.array([code for code, _, _ in given_rows], np.int32)

    want = [sum(c == code for c, _, _ in given_rows) for code in (*range(DOMAINS), -1)]

    assert want == domain_members(codes_n, DOMAINS).tolist()


@given(rows)
def test_rows_outside_a_mask_belong_to_no_domain(given_rows: list[tuple[int, int, bool]]) -> None:
    codes_n = np.array([code for code, _, _ in given_rows], np.int32)
    mask_n = np.array([inside for _, _, inside in given_rows], np.bool_)

    want = [code if inside else -1 for code, _, inside in given_rows]

    assert want == only_where(mask_n, codes_n).tolist()


def test_without_a_mask_codes_stay() -> None:
    codes_n = np.array([0, -1, 2], np.int32)

    assert only_where(None, codes_n) is codes_n
