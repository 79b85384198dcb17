"""Objects by type and key, and which changed since a generation."""

import pytest

from stowplan.api.meta import Namespace, ObjectMeta
from stowplan.api.policy import PodDisruptionBudget
from stowplan.columns import objects
from stowplan.columns.objects import ObjectStore
from stowplan.testing.builders import namespace


def budget(name: str) -> PodDisruptionBudget:
    return PodDisruptionBudget(metadata=ObjectMeta(name=name, namespace="web"))


def test_objects_are_kept_by_type_and_key() -> None:
    store = ObjectStore()
    first, second = namespace("a"), namespace("a", team="t")

    assert store.put(first) is None
    assert store.put(budget("a")) is None
    assert first is store.put(second)

    assert second is store.get(Namespace, "a")
    assert ["web/a"] == list(store.all(PodDisruptionBudget))
    assert second is store.drop(Namespace, "a")
    assert store.drop(Namespace, "a") is None
    assert store.get(Namespace, "a") is None


def test_generations_count_each_type_by_itself() -> None:
    store = ObjectStore()
    store.put(budget("a"))
    store.put(budget("b"))
    store.drop(PodDisruptionBudget, "web/a")
    store.drop(PodDisruptionBudget, "web/never")

    assert (3, 0) == (store.generation(PodDisruptionBudget), store.generation(Namespace))
    assert [] == store.changed_since(Namespace, 0)
    assert {"web/a", "web/b"} == set(store.changed_since(PodDisruptionBudget, 1) or ())
    assert [] == store.changed_since(PodDisruptionBudget, 3)


def test_changes_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "KEPT", 2)
    store = ObjectStore()
    for name in "abc":
        store.put(namespace(name))

    assert store.changed_since(Namespace, 0) is None
    assert {"b", "c"} == set(store.changed_since(Namespace, 1) or ())
