"""Label selectors in their text form."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.apiserver.selecting.labels import BadSelectorError, parse_labels

LABELS = {"app": "web", "tier": "front", "weight": "10"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("app=web", True), ("app==web", True), ("app=db", False), ("app!=db", True), ("missing!=x", True),
        ("app", True), ("missing", False), ("!missing", True), ("! app", False), ("app in (web, db)", True),
        ("app in (db)", False), ("app notin (db,x)", True), ("missing notin (a)", True), ("missing in (a)", False),
        ("weight>9", True), ("weight<9", False), ("weight > 10", False), ("app>1", False), ("app=web,tier=front", True),
        ("app=web,tier=back", False), ("  app = web ", True), ("", True), ("app=,tier", False), ("app in (,web)", True),
        ("example.com/a=b", False),
    ],
)  # fmt: skip
def test_selectors(text: str, want: bool) -> None:
    assert want is parse_labels(text).matches(LABELS)


@pytest.mark.parametrize(
    "text",
    ["app in", "app in (", "app in (a", "app in a)", "=a", "a=b=c", "a b", ",", "a,", "a>b", "!", "a in (b))", "a!",
     "(a)",
     "a/b/c=d", "-a=b", "a=b c", "a" * 70_000],
)  # fmt: skip
def test_no_selectors(text: str) -> None:
    with pytest.raises(BadSelectorError):
        parse_labels(text)


@given(st.text(max_size=30))
def test_a_text_is_a_selector_or_refused(text: str) -> None:
    try:
        assert parse_labels(text).matches(LABELS) in (True, False)
    except BadSelectorError:
        return
