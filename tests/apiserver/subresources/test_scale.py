"""Scale: the number of replicas without the rest."""

import asyncio

import pytest

from tests.apiserver.running import MERGE, STRATEGIC, deployment, running

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_a_scale_is_read_and_written() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(DEPLOYMENTS, deployment("d", replicas=2))
            scale = (await api.get(f"{DEPLOYMENTS}/d/scale")).json
            assert ("Scale", "autoscaling/v1", 2, "app=d") == (
                scale["kind"], scale["apiVersion"], scale["spec"]["replicas"], scale["status"]["selector"],
            )  # fmt: skip
            scale["spec"]["replicas"] = 0
            assert 0 == (await api.put(f"{DEPLOYMENTS}/d/scale", scale)).json["spec"]["replicas"]
            stored = (await api.get(f"{DEPLOYMENTS}/d")).json
            assert (0, 2) == (stored["spec"]["replicas"], stored["metadata"]["generation"])
            assert 409 == (await api.put(f"{DEPLOYMENTS}/d/scale", scale)).status

    asyncio.run(story())


@pytest.mark.parametrize("kind", [MERGE, STRATEGIC])
def test_a_scale_is_patched(kind: str) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(DEPLOYMENTS, deployment("d"))
            got = await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 7}}, kind)
            assert (200, 7) == (got.status, got.json["spec"]["replicas"])
            assert 422 == (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": -1}}, kind)).status
            assert 400 == (await api.patch(f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": "x"}}, kind)).status
            assert 7 == (await api.get(f"{DEPLOYMENTS}/d")).json["spec"]["replicas"]

    asyncio.run(story())


def test_what_has_no_scale_says_so() -> None:
    async def story() -> None:
        async with running() as api:
            assert 404 == (await api.get("/apis/apps/v1/namespaces/default/daemonsets/x/scale")).status
            assert 404 == (await api.get(f"{DEPLOYMENTS}/nope/scale")).status

    asyncio.run(story())
