"""Field selectors."""

import pytest

from stowplan.apiserver.selecting.fields import BadFieldSelectorError, FieldIndex
from stowplan.apiserver.storage.entry import Entry

POD = {"spec": {"nodeName": "n", "hostNetwork": True}, "status": {"phase": "Running"}}


def entry(index: FieldIndex) -> Entry:
    """A pod as it is stored."""
    return Entry("ns", "a", "", 1, b"", {}, index.read("pods", POD))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("metadata.name=a", True), ("metadata.name!=a", False), ("metadata.namespace==ns", True),
        ("spec.nodeName=n,status.phase=Running", True), ("status.phase!=Running", False),
        ("spec.hostNetwork=true", True),
        ("status.nominatedNodeName=", True), ("", True), ("metadata.name=a\\,b", False),
    ],
)  # fmt: skip
def test_selectors(text: str, want: bool) -> None:
    index = FieldIndex()

    assert want is index.parse("pods", text).matches(entry(index))


@pytest.mark.parametrize("text", ["spec.image=x", "nonsense", "a=b=c", "metadata.name=a\\"])
def test_no_selectors(text: str) -> None:
    with pytest.raises(BadFieldSelectorError):
        FieldIndex().parse("pods", text)


def test_a_custom_kind_names_its_own_fields() -> None:
    index = FieldIndex()
    index.define("widgets.example.com", ("spec.color",))
    read = index.read("widgets.example.com", {"spec": {"color": "red"}})

    assert index.parse("widgets.example.com", "spec.color=red").matches(Entry("", "a", "", 1, b"", {}, read))
