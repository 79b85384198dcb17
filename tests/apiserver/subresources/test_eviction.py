"""Evictions honour the budgets of pods."""

import asyncio
from typing import Any

import pytest

from tests.apiserver.running import NODES, PODS, Session, node, pod, running

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}


async def running_pod(api: Session, name: str, *, ready: bool = True) -> None:
    """A pod that runs on a node."""
    await api.post(NODES, node("n"))
    await api.post(PODS, pod(name))
    await api.post(f"{PODS}/{name}/binding", {"metadata": {"name": name}, "target": {"name": "n"}})
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True" if ready else "False"}]}
    await api.patch(f"{PODS}/{name}/status", {"status": status})


async def budget(api: Session, name: str = "b", **status: Any) -> None:
    """A budget whose controller has counted."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await api.post(BUDGETS, {"metadata": {"name": name}, "spec": spec})
    counted = {"observedGeneration": 1, "expectedPods": 2, "currentHealthy": 2, "desiredHealthy": 1, **status}
    got = await api.patch(f"{BUDGETS}/{name}/status", {"status": {"disruptionsAllowed": 0, **counted}})
    assert 200 == got.status


def test_a_pod_without_a_budget_is_evicted() -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a")
            assert 201 == (await api.post(f"{PODS}/a/eviction", EVICTION)).status
            left = (await api.get(f"{PODS}/a")).json
            assert "deletionTimestamp" in left["metadata"]
            reasons = {found["type"]: found.get("reason") for found in left["status"]["conditions"]}
            assert "EvictionByEvictionAPI" == reasons["DisruptionTarget"]

    asyncio.run(story())


def test_a_budget_is_spent_and_then_refuses() -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a")
            await running_pod(api, "b")
            await budget(api, disruptionsAllowed=1)
            assert 201 == (await api.post(f"{PODS}/a/eviction", EVICTION)).status
            spent = (await api.get(f"{BUDGETS}/b")).json["status"]
            assert (0, ["a"]) == (spent["disruptionsAllowed"], list(spent["disruptedPods"]))
            got = await api.post(f"{PODS}/b/eviction", {**EVICTION, "metadata": {"name": "b"}})
            assert (429, "TooManyRequests") == (got.status, got.reason)
            assert "Cannot evict pod as it would violate the pod's disruption budget." == got.message
            assert "DisruptionBudget" == got.json["details"]["causes"][0]["reason"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("status", "want"),
    [
        pytest.param({"currentHealthy": 1}, "needs 1 healthy pods and has 1 currently", id="too few are healthy"),
        pytest.param({"observedGeneration": 0}, "is still being processed by the server", id="not counted yet"),
        pytest.param({"currentHealthy": 5}, "does not allow evicting pods currently", id="no reason is given"),
    ],
)
def test_a_refusal_says_why(status: dict[str, Any], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a")
            await budget(api, **status)
            got = await api.post(f"{PODS}/a/eviction", EVICTION)
            assert (429, True) == (got.status, want in got.json["details"]["causes"][0]["message"])

    asyncio.run(story())


def test_two_budgets_are_one_too_many() -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a")
            await budget(api, "b")
            await budget(api, "c")
            got = await api.post(f"{PODS}/a/eviction", EVICTION)
            # parity: the real server answers 500 here, and kubectl drain waits on it
            assert (500, True) == (got.status, "more than one PodDisruptionBudget" in got.message)

    asyncio.run(story())


def test_an_unhealthy_pod_may_go_when_the_others_are_healthy() -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a", ready=False)
            await budget(api)
            assert 201 == (await api.post(f"{PODS}/a/eviction", EVICTION)).status

    asyncio.run(story())


def test_a_pending_pod_needs_no_budget() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            await budget(api)
            assert 201 == (await api.post(f"{PODS}/a/eviction", EVICTION)).status
            assert 404 == (await api.get(f"{PODS}/a")).status

    asyncio.run(story())


def test_a_dry_run_spends_nothing() -> None:
    async def story() -> None:
        async with running() as api:
            await running_pod(api, "a")
            await budget(api, disruptionsAllowed=1)
            assert 201 == (await api.post(f"{PODS}/a/eviction?dryRun=All", EVICTION)).status
            assert 1 == (await api.get(f"{BUDGETS}/b")).json["status"]["disruptionsAllowed"]
            assert "deletionTimestamp" not in (await api.get(f"{PODS}/a")).json["metadata"]

    asyncio.run(story())
