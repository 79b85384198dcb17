"""YAML and JSON to trees, as Kubernetes' own reader sees them."""

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from stowplan.config.document import plain, read_document
from stowplan.config.errors import DocumentError


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: y", True, id="y is true"),
        pytest.param("a: Off", False, id="Off is false"),
        pytest.param("a: 'on'", "on", id="what is quoted is text"),
        pytest.param("a: !!str 5", "5", id="a tag makes text of a number"),
        pytest.param("a: !!int '5'", 5, id="a tag makes a number of text"),
        pytest.param("a: |-\n  on", "on", id="a block is text"),
        pytest.param("a: ~", None, id="a tilde is null"),
        pytest.param("a:", None, id="nothing is null"),
        pytest.param("a: 010", 8, id="a leading zero is octal"),
        pytest.param("a: 08", 8, id="what cannot be octal is decimal"),
        pytest.param("a: 0x10", 16, id="hexadecimal"),
        pytest.param("a: 0b101", 5, id="binary"),
        pytest.param("a: 1_000", 1000, id="underscores are skipped"),
        pytest.param("a: 1e1", 10, id="a whole float is an integer in JSON"),
        pytest.param("a: -0.5", -0.5, id="a fraction"),
        pytest.param("a: 1:30", "1:30", id="sexagesimal numbers are text"),
        pytest.param("a: 2020-01-02", "2020-01-02", id="a date is text"),
        pytest.param("b: &x [1]\na: *x", [1], id="an alias stands for its anchor"),
        pytest.param("a: {<<: {b: 1, c: 2}, b: 3}", {"b": 3, "c": 2}, id="a merge gives way to what is written"),
        pytest.param("a: 1\n---\na: 2", 1, id="only the first document counts"),
        pytest.param('{"a": 1.0}', 1.0, id="JSON"),
    ],
)
def test_values(text: str, want: object) -> None:
    tree = plain(read_document(text.encode()).tree)

    assert isinstance(tree, dict)
    assert want == tree["a"]


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            "a: 1\nb: c: d\n", "yaml: line 2: mapping values are not allowed in this context", id="two colons in a line"
        ),
        pytest.param("a:\n\t- b\n", "yaml: line 2: found character that cannot start any token", id="a tab"),
        pytest.param("a: [\n", "yaml: line 1: did not find expected node content", id="the file ends too early"),
        pytest.param("? [a]\n: 1\n", "yaml: line 1: unsupported map key of type: array", id="a list as a key"),
        pytest.param("a: &x\n  b: *x\n", "yaml: line 1: anchor value contains itself", id="an endless anchor"),
        pytest.param(
            '{"a": 1,\n "b": 2 c}',
            "couldn't get version/kind; json parse error: line 2 column 9: Expecting ',' delimiter",
            id="JSON with a word too many",
        ),
        pytest.param(
            '{"a": 1}{"b": 2}',
            "couldn't get version/kind; json parse error: line 1 column 9: Extra data",
            id="two JSON objects",
        ),
        pytest.param(
            '{"a": NaN}',
            "couldn't get version/kind; json parse error: NaN is not a JSON number",
            id="not a number",
        ),
    ],
)
def test_malformed(text: str, want: str) -> None:
    with pytest.raises(DocumentError) as raised:
        read_document(text.encode())

    assert want == str(raised.value)


def test_every_repeated_yaml_key_is_noted_with_its_line() -> None:
    document = read_document(b"a: 1\na: 2\nb:\n  c: 1\n  c: 2\n")

    want = ('yaml: unmarshal errors: line 2: key "a" already set in map, line 5: key "c" already set in map',)
    assert want == document.faults


def test_bytes_that_are_not_text_are_refused() -> None:
    with pytest.raises(DocumentError, match="json parse error"):
        read_document(b'{"a": "\xff"}')
    with pytest.raises(DocumentError, match="yaml: "):
        read_document(b"a: \xff\n")


# PyYAML leaves y and 1e1 without quotes, which Kubernetes reads otherwise: such words are no part of this
WORDS = st.text("abcxz -_:,#&*!|>%@[]{}'\"é\n", max_size=8)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abcxz", min_size=1), inner, max_size=3),
    max_leaves=12,
)


@settings(deadline=None)
@given(st.dictionaries(st.text("abcxz", min_size=1, max_size=4), TREES, max_size=4))
def test_yaml_and_json_of_the_same_value_give_the_same_tree(value: dict[str, object]) -> None:
    from_json = plain(read_document(json.dumps(value).encode()).tree)
    from_yaml = plain(read_document(yaml.safe_dump(value).encode()).tree)
    from_tagged_yaml = plain(read_document(yaml.safe_dump(value, default_style='"').encode()).tree)

    assert value == from_json == from_tagged_yaml
    assert value == from_yaml
