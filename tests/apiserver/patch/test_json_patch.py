"""RFC 6902, by its own examples and by what it forbids."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.apiserver.errors import ApiError
from stowplan.apiserver.patch.json_patch import apply_json_patch
from stowplan.apiserver.patch.merge import apply_merge_patch


@pytest.mark.parametrize(
    ("document", "operation", "want"),
    [
        pytest.param({"a": 1}, {"op": "add", "path": "/b", "value": 2}, {"a": 1, "b": 2}, id="a member is added"),
        pytest.param({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}, id="an item"),
        pytest.param({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}, id="a last item"),
        pytest.param({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}, id="a member goes"),
        pytest.param({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}, id="an item goes"),
        pytest.param({"a": 1}, {"op": "replace", "path": "/a", "value": None}, {"a": None}, id="null replaces"),
        pytest.param({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/c"}, {"a": {}, "c": 1}, id="a move"),
        pytest.param({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}},
                     id="a copy"),
        pytest.param({"a~/b": 1}, {"op": "test", "path": "/a~0~1b", "value": 1}, {"a~/b": 1}, id="escaped signs"),
        pytest.param({"a": 1}, {"op": "replace", "path": "", "value": [1]}, [1], id="the whole document"),
    ],
)  # fmt: skip
def test_an_operation(document: Any, operation: dict[str, Any], want: Any) -> None:
    assert want == apply_json_patch(document, [operation])


@pytest.mark.parametrize(
    ("operation", "status"),
    [
        pytest.param({"op": "remove", "path": "/x"}, 422, id="nothing to remove"),
        pytest.param({"op": "replace", "path": "/x", "value": 1}, 422, id="nothing to replace"),
        pytest.param({"op": "add", "path": "/x/y", "value": 1}, 422, id="no parent"),
        pytest.param({"op": "add", "path": "/l/9", "value": 1}, 422, id="beyond the end"),
        pytest.param({"op": "add", "path": "/l/01x", "value": 1}, 422, id="no index"),
        pytest.param({"op": "test", "path": "/a", "value": 2}, 422, id="a test that fails"),
        pytest.param({"op": "test", "path": "/a", "value": True}, 422, id="one is not true"),
        pytest.param({"op": "move", "from": "/l", "path": "/l/0"}, 422, id="a move into itself"),
        pytest.param({"op": "add", "path": "/b"}, 422, id="no value"),
        pytest.param({"op": "jump", "path": "/b"}, 422, id="an unknown operation"),
        pytest.param({"op": "add", "path": "b", "value": 1}, 422, id="a path without a slash"),
        pytest.param({"op": "add"}, 400, id="no path"),
        pytest.param("add", 400, id="no operation"),
    ],
)
def test_an_operation_that_cannot_be(operation: Any, status: int) -> None:
    with pytest.raises(ApiError) as refused:
        apply_json_patch({"a": 1, "l": [1, 2]}, [operation])

    assert status == refused.value.code


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def without_nulls(value: Any) -> Any:
    """What a merge patch can say."""
    if isinstance(value, dict):
        return {name: without_nulls(member) for name, member in value.items() if member is not None}
    return value


@given(st.dictionaries(st.text(max_size=3), VALUES), st.dictionaries(st.text(max_size=3), VALUES))
def test_a_merge_patch_done_twice_is_done_once(before: dict[str, Any], patch: dict[str, Any]) -> None:
    once = apply_merge_patch(before, patch)

    assert once == apply_merge_patch(once, patch)


@given(st.dictionaries(st.text(max_size=3), VALUES))
def test_a_merge_patch_of_nothing_is_the_patch_without_nulls(patch: dict[str, Any]) -> None:
    assert without_nulls(patch) == apply_merge_patch({}, patch)
