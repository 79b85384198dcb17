"""Assumed versions on top of what the watch shows, in whatever order it shows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stowplan.api.storage import PersistentVolume
from stowplan.columns.objects import ObjectStore
from stowplan.plugins.volume_binding.assume_cache import AssumeCache, AssumeError
from stowplan.testing.storage import claim, volume


def fresh(*volumes: PersistentVolume) -> tuple[ObjectStore, AssumeCache[PersistentVolume]]:
    objects, cache = ObjectStore(), AssumeCache(PersistentVolume, "persistentvolumes")
    for one in volumes:
        objects.put(one)
    cache.watch(objects)
    return objects, cache


STORED = volume("v", version="5")
ASSUMED = volume("v", version="5", claim=claim())


def test_an_assumed_version_counts_and_the_stored_one_stays_readable() -> None:
    _, cache = fresh(STORED)

    cache.assume(ASSUMED)

    assert (ASSUMED, STORED) == (cache.get("v"), cache.stored("v"))


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        pytest.param(volume("v", version="5"), ASSUMED, id="the same version again changes nothing"),
        pytest.param(volume("v", version="6"), volume("v", version="6"), id="a newer version counts"),
        pytest.param(volume("v", version="4"), volume("v", version="4"), id="so does any other"),
        pytest.param(None, None, id="a deletion counts"),
    ],
)
def test_what_the_watch_shows_overtakes_what_is_assumed(
    shown: PersistentVolume | None, want: PersistentVolume | None
) -> None:
    objects, cache = fresh(STORED)
    cache.assume(ASSUMED)

    if shown is None:
        objects.drop(PersistentVolume, "v")
    else:
        objects.put(shown)
    assert want == cache.get("v")
    cache.watch(objects)
    assert want == cache.get("v")


def test_what_was_overtaken_does_not_come_back() -> None:
    objects, cache = fresh(STORED)
    cache.assume(ASSUMED)
    objects.drop(PersistentVolume, "v")
    cache.watch(objects)

    objects.put(STORED)

    assert cache.get("v") is STORED


def test_restoring_gives_back_the_stored_version() -> None:
    _, cache = fresh(STORED)
    cache.assume(ASSUMED)

    cache.restore(volume("v", version="6"))
    assert cache.get("v") is ASSUMED
    cache.restore(ASSUMED)
    assert cache.get("v") is STORED


@pytest.mark.parametrize(
    ("name", "version", "want"),
    [
        pytest.param("w", "5", 'persistentvolumes "w" not found', id="an object that is gone"),
        pytest.param("v", "4", '"v" is out of sync (stored: 5, assume: 4)', id="an older version"),
        pytest.param("v", "6", '"v" is out of sync (stored: 5, assume: 6)', id="a version the watch has not shown"),
    ],
)
def test_only_the_version_shown_can_be_assumed_upon(name: str, version: str, want: str) -> None:
    _, cache = fresh(STORED)

    with pytest.raises(AssumeError) as raised:
        cache.assume(volume(name, version=version))

    assert want == str(raised.value)


def test_other_objects_start_it_over() -> None:
    _, cache = fresh(STORED)
    cache.assume(ASSUMED)

    other = ObjectStore()
    other.put(STORED)
    cache.watch(other)

    assert cache.get("v") is STORED


steps = st.lists(
    st.tuples(st.sampled_from(["show", "delete", "assume", "restore", "watch"]), st.integers(1, 3)), max_size=12
)


@given(steps)
def test_any_order_of_events_leaves_the_stored_version_or_one_made_from_it(todo: list[tuple[str, int]]) -> None:
    objects, cache = fresh()
    for what, version in todo:
        one = volume("v", version=str(version))
        match what:
            case "show":
                objects.put(one)
            case "delete":
                objects.drop(PersistentVolume, "v")
            case "restore":
                cache.restore(one)
            case "watch":
                cache.watch(objects)
            case _:
                stored = objects.get(PersistentVolume, "v")
                try:
                    cache.assume(volume("v", version=str(version), claim=claim()))
                except AssumeError:
                    assert stored is None or stored.metadata.resource_version != str(version)
        stored, got = objects.get(PersistentVolume, "v"), cache.get("v")
        if stored is None or got is None:
            assert stored is got
        else:
            assert stored.metadata.resource_version == got.metadata.resource_version
            assert got is stored or got.spec.claim_ref is not None
