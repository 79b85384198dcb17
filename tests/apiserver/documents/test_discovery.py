"""What the server says about itself."""

import asyncio

import pytest

from tests.apiserver.running import running

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def test_groups_and_resources() -> None:
    async def story() -> None:
        async with running() as api:
            groups = {group["name"]: group for group in (await api.get("/apis")).json["groups"]}
            assert {
                "apps",
                "batch",
                "policy",
                "storage.k8s.io",
                "resource.k8s.io",
                "scheduling.k8s.io",
            } <= groups.keys()
            assert ["v2", "v1"] == [version["version"] for version in groups["autoscaling"]["versions"]]
            assert groups["apps"] == {
                name: member for name, member in (await api.get("/apis/apps")).json.items()
                if name not in ("kind", "apiVersion")
            }  # fmt: skip
            resources = {found["name"]: found for found in (await api.get("/api/v1")).json["resources"]}
            assert (["po"], ["all"], True) == (
                resources["pods"]["shortNames"], resources["pods"]["categories"], resources["pods"]["namespaced"],
            )  # fmt: skip
            assert {"pods/binding", "pods/eviction", "pods/status", "pods/log", "nodes/status"} <= resources.keys()
            assert "policy" == resources["pods/eviction"]["group"]
            assert 404 == (await api.get("/apis/nothing")).status

    asyncio.run(story())


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_the_aggregated_document_says_the_same(path: str) -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.get(path, Accept=AGGREGATED)
            assert "APIGroupDiscoveryList" == got.json["kind"]
            assert "as=APIGroupDiscoveryList" in got.headers["Content-Type"]
            for group in got.json["items"]:
                name = group["metadata"].get("name", "")
                for version in group["versions"]:
                    spoken = version["version"]
                    root = f"/apis/{name}/{spoken}" if name else f"/api/{spoken}"
                    plain = (await api.get(root)).json["resources"]
                    names = {found["resource"] for found in version["resources"]}
                    assert names == {found["name"] for found in plain if "/" not in found["name"]}

    asyncio.run(story())


def test_the_version() -> None:
    async def story() -> None:
        async with running() as api:
            got = (await api.get("/version")).json
            assert ("1", "36", True) == (got["major"], got["minor"], got["gitVersion"].startswith("v1.36.4"))

    asyncio.run(story())
