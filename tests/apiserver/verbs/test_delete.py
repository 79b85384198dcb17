"""Deletions: grace, finalizers, preconditions, propagation, collections, namespaces."""

import asyncio
from typing import Any

import pytest

from stowplan.clock import FakeClock
from tests.apiserver.running import NODES, PODS, Session, config_map, node, pod, running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
NAMESPACES = "/api/v1/namespaces"


async def bound_pod(api: Session, name: str, **spec: Any) -> None:
    """A pod that has a node."""
    await api.post(NODES, node("n"))
    await api.post(PODS, pod(name, **spec))
    got = await api.post(f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": {"name": "n"}})
    assert 201 == got.status


def test_a_pod_without_a_node_goes_at_once() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            got = await api.delete(f"{PODS}/a")
            assert (200, "Pod") == (got.status, got.json["kind"])
            assert 404 == (await api.get(f"{PODS}/a")).status

    asyncio.run(story())


def test_a_pod_on_a_node_has_time_to_end() -> None:
    async def story() -> None:
        async with running(clock=FakeClock(0.0)) as api:
            await bound_pod(api, "a")
            meta = (await api.delete(f"{PODS}/a")).json["metadata"]
            assert (30, "1970-01-01T00:00:30Z", 2) == (
                meta["deletionGracePeriodSeconds"], meta["deletionTimestamp"], meta["generation"],
            )  # fmt: skip
            longer = (await api.delete(f"{PODS}/a?gracePeriodSeconds=60")).json["metadata"]
            assert 30 == longer["deletionGracePeriodSeconds"]
            shorter = (await api.delete(f"{PODS}/a?gracePeriodSeconds=5")).json["metadata"]
            assert (5, "1970-01-01T00:00:05Z") == (shorter["deletionGracePeriodSeconds"], shorter["deletionTimestamp"])
            await api.delete(f"{PODS}/a", {"gracePeriodSeconds": 0})
            assert 404 == (await api.get(f"{PODS}/a")).status

    asyncio.run(story())


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_goes_at_once(phase: str) -> None:
    async def story() -> None:
        async with running() as api:
            await bound_pod(api, "a")
            await api.patch(f"{PODS}/a/status", {"status": {"phase": phase}})
            await api.delete(f"{PODS}/a")
            assert 404 == (await api.get(f"{PODS}/a")).status

    asyncio.run(story())


def test_a_finalizer_holds_an_object_until_it_is_taken_away() -> None:
    async def story() -> None:
        async with running() as api:
            value = config_map("a")
            value["metadata"]["finalizers"] = ["example.com/hold"]
            await api.post(CONFIG_MAPS, value)
            held = (await api.delete(f"{CONFIG_MAPS}/a")).json
            assert "deletionTimestamp" in held["metadata"]
            more = await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/hold", "x.com/new"]}})
            assert (422, True) == (more.status, "no new finalizers can be added" in more.message)
            assert 200 == (await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": None}})).status
            assert 404 == (await api.get(f"{CONFIG_MAPS}/a")).status

    asyncio.run(story())


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], id="dependents go first"),
        pytest.param({"propagationPolicy": "Orphan"}, ["orphan"], id="dependents stay"),
        pytest.param({"orphanDependents": True}, ["orphan"], id="dependents stay, in old words"),
        pytest.param({"propagationPolicy": "Background"}, None, id="dependents go later"),
    ],
)
def test_a_propagation_policy_is_a_finalizer(options: dict[str, Any], want: list[str] | None) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(CONFIG_MAPS, config_map("a"))
            await api.delete(f"{CONFIG_MAPS}/a", options)
            left = await api.get(f"{CONFIG_MAPS}/a")
            assert want == (left.json["metadata"]["finalizers"] if left.status == 200 else None)

    asyncio.run(story())


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param({"preconditions": {"uid": "other"}}, 409, id="another identity"),
        pytest.param({"preconditions": {"resourceVersion": "1"}}, 409, id="an older version"),
        pytest.param({"propagationPolicy": "Sideways"}, 422, id="an unknown policy"),
        pytest.param({"propagationPolicy": "Orphan", "orphanDependents": True}, 422, id="two policies"),
        pytest.param({"gracePeriodSeconds": "soon"}, 400, id="a grace that is no number"),
        pytest.param({"kind": "Pod"}, 400, id="another kind of body"),
        pytest.param([], 400, id="a list"),
    ],
)
def test_a_deletion_that_cannot_be_is_refused(options: Any, status: int) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(CONFIG_MAPS, config_map("a"))
            assert status == (await api.delete(f"{CONFIG_MAPS}/a", options)).status
            assert 200 == (await api.get(f"{CONFIG_MAPS}/a")).status

    asyncio.run(story())


def test_a_collection_is_deleted_as_far_as_selected() -> None:
    async def story() -> None:
        async with running() as api:
            for name, tier in (("a", "front"), ("b", "back"), ("c", "front")):
                await api.post(PODS, pod(name, labels={"tier": tier}))
            got = (await api.delete(f"{PODS}?labelSelector=tier%3Dfront")).json
            assert ["a", "c"] == [item["metadata"]["name"] for item in got["items"]]
            left = (await api.get(PODS)).json["items"]
            assert ["b"] == [item["metadata"]["name"] for item in left]

    asyncio.run(story())


def test_a_namespace_ends_when_it_is_finalized() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(NAMESPACES, {"metadata": {"name": "x"}})).json
            assert {"kubernetes.io/metadata.name": "x"} == made["metadata"]["labels"]
            assert (["kubernetes"], "Active") == (made["spec"]["finalizers"], made["status"]["phase"])
            going = (await api.delete(f"{NAMESPACES}/x")).json
            assert "Terminating" == going["status"]["phase"]
            going["spec"]["finalizers"] = []
            assert 200 == (await api.put(f"{NAMESPACES}/x/finalize", going)).status
            assert 404 == (await api.get(f"{NAMESPACES}/x")).status

    asyncio.run(story())


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_the_first_namespaces_stay(name: str) -> None:
    async def story() -> None:
        async with running() as api:
            assert 403 == (await api.delete(f"{NAMESPACES}/{name}")).status

    asyncio.run(story())


def test_a_dry_run_deletes_nothing() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(CONFIG_MAPS, config_map("a"))
            assert 200 == (await api.delete(f"{CONFIG_MAPS}/a?dryRun=All")).status
            assert 200 == (await api.delete(f"{CONFIG_MAPS}/a", {"dryRun": ["All"]})).status
            assert 200 == (await api.get(f"{CONFIG_MAPS}/a")).status

    asyncio.run(story())
