"""Label selectors compile to one form per meaning and match as upstream's do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.errors import SelectorError
from stowplan.api.meta import LabelSelector, LabelSelectorRequirement
from stowplan.api.selectors import (
    EVERYTHING,
    NOTHING,
    Operator,
    Requirement,
    Selector,
    compile_label_selector,
    go_int64,
    selector_from_labels,
    selector_of,
)


def expression(key: str, operator: str, *values: str) -> LabelSelector:
    return LabelSelector(match_expressions=(LabelSelectorRequirement(key=key, operator=operator, values=values),))


@pytest.mark.parametrize(
    ("selector", "labels", "want"),
    [
        pytest.param(None, {"a": "1"}, False, id="no selector selects nothing"),
        pytest.param(LabelSelector(), {}, True, id="an empty selector selects everything"),
        pytest.param(LabelSelector(match_labels={"a": "1"}), {"a": "1", "b": "2"}, True, id="the label is there"),
        pytest.param(LabelSelector(match_labels={"a": "1"}), {"a": "2"}, False, id="the label has another value"),
        pytest.param(LabelSelector(match_labels={"a": ""}), {}, False, id="an absent label is not an empty one"),
        pytest.param(expression("a", "In", "1", "2"), {"a": "2"}, True, id="one of the values"),
        pytest.param(expression("a", "In", "1", "2"), {}, False, id="none of the values without the label"),
        pytest.param(expression("a", "NotIn", "1"), {"a": "2"}, True, id="not the value"),
        pytest.param(expression("a", "NotIn", "1"), {}, True, id="without the label it is not the value either"),
        pytest.param(expression("a", "NotIn", "1"), {"a": "1"}, False, id="the value that is excluded"),
        pytest.param(expression("a", "Exists"), {"a": ""}, True, id="an empty value exists"),
        pytest.param(expression("a", "DoesNotExist"), {"b": "1"}, True, id="the label is not there"),
        pytest.param(expression("a", "DoesNotExist"), {"a": ""}, False, id="the label is there, if empty"),
    ],
)
def test_matches(selector: LabelSelector | None, labels: dict[str, str], want: bool) -> None:
    assert want == compile_label_selector(selector).matches(labels)


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        pytest.param(expression("a", "Near", "1"), '"Near" is not a valid label selector operator', id="operator"),
        pytest.param(
            expression("a", "In"),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
            id="no values",
        ),
        pytest.param(
            expression("a", "Exists", "1"),
            'values: Invalid value: ["1"]: values set must be empty for exists and does not exist',
            id="values too many",
        ),
        pytest.param(
            LabelSelector(match_labels={"": "1"}),
            'key: Invalid value: "": name part must be non-empty; name part must consist of alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  "
            "or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
            id="key",
        ),
    ],
)
def test_malformed(selector: LabelSelector, text: str) -> None:
    with pytest.raises(SelectorError) as caught:
        compile_label_selector(selector)

    assert text == str(caught.value)


def test_several_errors_come_in_brackets() -> None:
    with pytest.raises(SelectorError, match=r"^\[key: Invalid value: .*, values: Invalid value: null: .*\]$"):
        compile_label_selector(expression("-", "In"))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(LabelSelector(match_labels={"a": "1"}), expression("a", "In", "1"), id="equality is In of one"),
        pytest.param(expression("a", "In", "1", "2"), expression("a", "In", "2", "1", "2"), id="order and repeats"),
        pytest.param(
            LabelSelector(match_labels={"a": "1", "b": "2"}),
            LabelSelector(match_labels={"b": "2", "a": "1"}),
            id="order of labels",
        ),
    ],
)
def test_equal_meanings_are_equal_objects(left: LabelSelector, right: LabelSelector) -> None:
    assert compile_label_selector(left) == compile_label_selector(right)
    assert hash(compile_label_selector(left)) == hash(compile_label_selector(right))


def test_everything_and_nothing_know_themselves() -> None:
    assert (True, False) == (EVERYTHING.is_everything, EVERYTHING.is_nothing)
    assert (False, True) == (NOTHING.is_everything, NOTHING.is_nothing)
    assert EVERYTHING == selector_from_labels({})


def test_text_is_what_people_type() -> None:
    selector = selector_of(
        [
            Requirement("e", Operator.EXISTS),
            Requirement("d", Operator.DOES_NOT_EXIST),
            Requirement("c", Operator.NOT_IN, ("1",)),
            Requirement("b", Operator.IN, ("1", "2")),
            Requirement("a", Operator.IN, ("1",)),
            Requirement("f", Operator.GREATER_THAN, ("3",)),
        ]
    )

    assert "a=1,b in (1,2),c!=1,!d,e,f>3" == str(selector)
    assert "1" == selector.exact_value("a")
    assert selector.exact_value("b") is None


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"]))


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "1", "2"]))), labels)
def test_the_short_way_for_equalities_agrees_with_the_long_one(
    pairs: list[tuple[str, str]], have: dict[str, str]
) -> None:
    requirements = [Requirement(key, Operator.IN, (value,)) for key, value in pairs]

    assert all(requirement.matches(have) for requirement in requirements) == selector_of(requirements).matches(have)


@given(st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"])), labels)
def test_labels_as_selector_mean_containment(wanted: dict[str, str], have: dict[str, str]) -> None:
    want = all(have.get(key) == value for key, value in wanted.items())

    assert want == selector_from_labels(wanted).matches(have)


@pytest.mark.parametrize(
    ("text", "want"),
    [("7", 7), ("+7", 7), ("-7", -7), ("007", 7), ("", None), ("-", None), ("1_0", None), ("٣", None), (" 1", None)],
)
def test_integers_are_read_as_go_reads_them(text: str, want: int | None) -> None:
    assert want == go_int64(text)


def test_integers_end_at_64_bits() -> None:
    assert go_int64(str(2**63)) is None
    assert 2**63 - 1 == go_int64(str(2**63 - 1))


def test_a_selector_of_nothing_differs_from_one_of_everything() -> None:
    assert Selector(None) != Selector(())
