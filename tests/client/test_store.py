"""The store tells each change once, with the right states."""

import pytest

from stowplan.api.meta import ObjectMeta
from stowplan.api.pod import Pod
from stowplan.client.decoding import RecordDecoder
from stowplan.client.store import Store


class Told:
    """Writes down what is told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_add(self, obj: Pod, initial: bool) -> None:
        """Write it down."""
        self.lines.append(f"add {obj.uid}@{obj.metadata.resource_version}{' initial' if initial else ''}")

    def on_update(self, old: Pod, new: Pod) -> None:
        """Write it down."""
        self.lines.append(f"update {old.metadata.resource_version} to {new.metadata.resource_version}")

    def on_delete(self, obj: Pod) -> None:
        """Write it down."""
        self.lines.append(f"delete {obj.uid}@{obj.metadata.resource_version}")


def pod(version: str, uid: str = "u") -> Pod:
    """A pod in one state."""
    return Pod(metadata=ObjectMeta(namespace="ns", name="p", uid=uid, resource_version=version))


@pytest.mark.parametrize(
    ("states", "want"),
    [
        pytest.param([pod("1")], ["add u@1"], id="a new object is added"),
        pytest.param([pod("1"), pod("2")], ["add u@1", "update 1 to 2"], id="a changed one is updated"),
        pytest.param([pod("1"), pod("1")], ["add u@1"], id="an unchanged one is not told again"),
        pytest.param([pod(""), pod("")], ["add u@", "update  to "], id="without versions everything is news"),
        pytest.param(
            [pod("1"), pod("2", uid="v")],
            ["add u@1", "delete u@1", "add v@2"],
            id="another of the same name replaces it",
        ),
    ],
)
def test_put(states: list[Pod], want: list[str]) -> None:
    identify = RecordDecoder(Pod).identify
    store = Store(identify)
    told = Told()
    store.add_handler(told)
    for state in states:
        store.put(state, identify(state))

    assert want == told.lines
    assert states[-1].metadata.resource_version == next(iter(store)).metadata.resource_version


def test_drop_tells_the_last_state_and_unknown_objects_are_nothing() -> None:
    identify = RecordDecoder(Pod).identify
    store = Store(identify)
    told = Told()
    store.add_handler(told)
    store.drop("ns/p", pod("9"))
    store.put(pod("1"), identify(pod("1")), initial=True)
    store.drop("ns/p", pod("9"))

    assert told.lines == ["add u@1 initial", "delete u@9"]
    assert store.get("ns/p") is None
    assert len(store) == 0
