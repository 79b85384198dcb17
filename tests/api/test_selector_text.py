"""Selectors as people type them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.errors import SelectorError
from stowplan.api.selector_text import parse_label_selector


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "", id="nothing is everything"),
        pytest.param("a=1", "a=1", id="equality"),
        pytest.param("a==1", "a=1", id="double equality"),
        pytest.param("a!=1", "a!=1", id="inequality"),
        pytest.param(" a in ( x , y ) , b notin (z)", "a in (x,y),b!=z", id="sets, with blanks"),
        pytest.param("a in ()", "a=", id="an empty set holds the empty value"),
        pytest.param("a in (x,,y)", "a in (,x,y)", id="an empty value within a set"),
        pytest.param("a,!b", "a,!b", id="existence"),
        pytest.param("a=", "a=", id="equality with nothing"),
        pytest.param("a>5,b<6", "a>5,b<6", id="comparison"),
        pytest.param("in in (in,notin)", "in in (in,notin)", id="words that are operators are names where names go"),
        pytest.param("b=2,a=1", "a=1,b=2", id="sorted by key"),
        pytest.param("kubernetes.io/os=linux", "kubernetes.io/os=linux", id="a key with a domain"),
    ],
)
def test_parse(text: str, want: str) -> None:
    assert want == str(parse_label_selector(text))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(",", "found ',', expected: !, identifier, or 'end of string'", id="only a comma"),
        pytest.param("a,", "found '', expected: identifier after ','", id="a comma at the end"),
        pytest.param("a=1 b", "found 'b', expected: ',' or 'end of string'", id="two without a comma"),
        pytest.param("!=1", "found '!=', expected: !, identifier, or 'end of string'", id="no key"),
        pytest.param("! =", "unable to parse requirement: found '=', expected: identifier", id="nothing negated"),
        pytest.param(
            "a x", "unable to parse requirement: found 'x', expected: in, notin, =, ==, !=, gt, lt", id="no operator"
        ),
        pytest.param("a in x", "unable to parse requirement: found 'x' expected: '('", id="a set without brackets"),
        pytest.param("a in (x", "unable to parse requirement: found '', expected: ',' or ')'", id="an open set"),
        pytest.param("a=(", "unable to parse requirement: found '(', expected: identifier", id="a bracket as value"),
        pytest.param(
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must "
            "be an integer",
            id="a comparison with a word",
        ),
    ],
)
def test_malformed(text: str, want: str) -> None:
    with pytest.raises(SelectorError) as caught:
        parse_label_selector(text)

    assert want == str(caught.value)


@given(st.lists(st.sampled_from(["a", "b", "in", "notin", "(", ")", ",", "=", "==", "!", "!=", ">", "1", " "])))
def test_what_is_printed_reads_back_as_the_same_selector(parts: list[str]) -> None:
    try:
        selector = parse_label_selector("".join(parts))
    except SelectorError:
        return
    assert selector == parse_label_selector(str(selector))
