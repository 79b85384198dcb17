"""Files of objects read as kubectl reads them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.documents import load_documents
from stowplan.api.errors import DocumentError


def load(text: str) -> list[tuple[str, Any]]:
    return list(load_documents(text.encode(), "f.yaml"))


@pytest.mark.parametrize(
    ("scalar", "want"),
    [
        ("yes", True),
        ("On", True),
        ("y", True),
        ("n", False),
        ("OFF", False),
        ("yEs", "yEs"),
        ("'yes'", "yes"),
        ("2020-01-02", "2020-01-02"),
        ("2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z"),
        ("12:30", "12:30"),
        ("0777", 511),
        ("0o17", 15),
        ("0x1f", 31),
        ("-0b11", -3),
        ("08", 8),
        ("1_000", 1000),
        ("+5", 5),
        ("1e3", 1000),
        (".5", 0.5),
        ("1.", 1),
        ("1e400", "1e400"),
        ("0x_", "0x_"),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("~", None),
        ("", None),
        ("Null", None),
        ("-", "-"),
        ("1.2.3", "1.2.3"),
        ("!!str 5", "5"),
        ("!!binary aGVsbG8=", "hello"),
        ("!!timestamp 2020-01-02", "2020-01-02"),
        ("<<", "<<"),
    ],
)
def test_scalars(scalar: str, want: object) -> None:
    (_, document), *_ = load(f"a: [{scalar}]" if scalar else "a: {0: }")
    got = document["a"][0] if scalar else document["a"]["0"]

    assert (type(want), want) == (type(got), got)


def test_keys_are_strings() -> None:
    assert [{"1": "a", "true": "b", "1.5": "c", "x": "d"}] == [d for _, d in load("1: a\non: b\n1.5: c\nx: d\n")]


def test_anchors_and_merge_keys_apply_and_the_last_of_equal_keys_wins() -> None:
    (_, document), *_ = load("base: &b {q: 1, r: 1}\nuse: {<<: *b, r: 2}\ntwice: 1\ntwice: 2\n")

    assert {"q": 1, "r": 2} == document["use"]
    assert 2 == document["twice"]


def test_documents_come_with_their_places_and_empty_ones_not_at_all() -> None:
    assert [("f.yaml:2", {"a": 1}), ("f.yaml:6", {"b": 2})] == load("# first\na: 1\n---\n---\n# none\nb: 2\n---\n")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{"a": 1}', [("f.yaml:1", {"a": 1})], id="one value"),
        pytest.param(
            '{"a": 1}\n\n{"b": 2} {"c": 3}',
            [("f.yaml:1", {"a": 1}), ("f.yaml:3", {"b": 2}), ("f.yaml:3", {"c": 3})],
            id="several",
        ),
        pytest.param('\ufeff{"a": 1}', [("f.yaml:1", {"a": 1})], id="with a byte order mark"),
        pytest.param("{a: yes}", [("f.yaml:1", {"a": True})], id="YAML in flow style"),
        pytest.param("", [], id="nothing"),
        pytest.param("# only a comment\n", [], id="a comment"),
    ],
)
def test_json(text: str, want: list[tuple[str, Any]]) -> None:
    assert want == load(text)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a: b\nc: d: e", "f.yaml:2: not valid YAML: mapping values are not allowed", id="two colons"),
        pytest.param("a: 1\n---\nb: [1", "f.yaml:3: not valid YAML: ", id="an open bracket in the second"),
        pytest.param('{"a": 1', "f.yaml:1: not valid JSON: expecting ',' delimiter", id="half a value"),
        pytest.param('{"a": 1}\n{"b"', "f.yaml:2: not valid JSON: expecting ':' delimiter", id="half a second value"),
        pytest.param("- a", "f.yaml:1: a document must be a mapping, not a list", id="a list"),
        pytest.param("[1]", "f.yaml:1: a document must be a mapping, not a list", id="a JSON list"),
        pytest.param("a: 1\n---\ntext", "f.yaml:3: a document must be a mapping, not plain text", id="text"),
        pytest.param("7", "f.yaml:1: a document must be a mapping, not a number", id="a number"),
        pytest.param("a: .inf", "f.yaml:1: not valid YAML: .inf has no place in JSON", id="infinity"),
        pytest.param("? [1]\n: 2", "f.yaml:1: not valid YAML: a key must be a scalar", id="a list as key"),
        pytest.param("a: !!python/object:os.system x", "f.yaml:1: not valid YAML: could not determine", id="a tag"),
        pytest.param("a: !!bool perhaps", "f.yaml:1: not valid YAML: 'perhaps' is not a boolean", id="no boolean"),
        pytest.param("a: !!binary '*'", "f.yaml:1: not valid YAML: !!binary is not base64", id="no base64"),
        pytest.param("a: *b", "f.yaml:1: not valid YAML: found undefined alias", id="an unknown alias"),
        pytest.param("a: &a [*a]", "f.yaml:1: not valid YAML: an anchor contains itself", id="a cycle"),
        pytest.param("a: '\x01'", "f.yaml: not valid YAML: unacceptable character", id="a control character"),
        pytest.param("[" * 100_000, "f.yaml: nested too deeply", id="depth"),
    ],
)
def test_malformed(text: str, want: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(text)

    assert str(caught.value).startswith(want)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_named_by_line() -> None:
    with pytest.raises(DocumentError, match=r"^f\.yaml:2: not UTF-8 text$"):
        list(load_documents(b"a: 1\nb: \xff\n", "f.yaml"))


def test_aliases_that_multiply_are_refused_before_they_are_built() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{of}'] * 9)}]" for of, name in zip("abcdefgh", "bcdefghi", strict=True)]

    with pytest.raises(DocumentError, match="aliases repeat too much"):
        load("\n".join(lines))


def test_aliases_that_are_shared_in_good_faith_are_fine() -> None:
    (_, document), *_ = load("a: &a {x: 1}\nb: [*a, *a]\nc: {d: *a, e: *a}\n")

    assert {"a": {"x": 1}, "b": [{"x": 1}] * 2, "c": {"d": {"x": 1}, "e": {"x": 1}}} == document


def test_documents_before_a_malformed_one_are_still_read() -> None:
    documents = load_documents(b"a: 1\n---\nb: [", "f.yaml")

    assert ("f.yaml:1", {"a": 1}) == next(documents)
    with pytest.raises(DocumentError):
        next(documents)


def outcome(data: bytes) -> str:
    """The places of the documents, or the error."""
    try:
        return ",".join(place for place, document in load_documents(data, "f") if all(map(str.isascii, document)))
    except DocumentError as error:
        return str(error)


@given(st.text("ab:- {}[]&*!?|>'\"\n#1~,%@`<", max_size=30))
def test_whatever_a_file_holds_it_loads_or_says_where(text: str) -> None:
    assert outcome(text.encode())[:2] in {"", "f:"}


@given(st.binary(max_size=30))
def test_whatever_bytes_a_file_holds_it_loads_or_says_where(data: bytes) -> None:
    assert outcome(data)[:2] in {"", "f:"}
