"""OpenAPI documents are whole: every reference leads somewhere, every kind is there."""

import asyncio
from collections.abc import Iterator
from typing import Any

from tests.apiserver.running import running


def references(value: Any) -> Iterator[str]:
    """All references in a document."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def test_version_three_is_whole() -> None:
    async def story() -> None:
        async with running() as api:
            index = (await api.get("/openapi/v3")).json["paths"]
            assert {"api/v1", "apis/apps/v1", "apis/resource.k8s.io/v1"} <= index.keys()
            for found in index.values():
                document = (await api.get(found["serverRelativeURL"])).json
                schemas = document["components"]["schemas"]
                for reference in references(document):
                    assert reference.removeprefix("#/components/schemas/") in schemas
            pods = (await api.get(index["api/v1"]["serverRelativeURL"])).json
            patch = pods["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
            assert "application/strategic-merge-patch+json" in patch["requestBody"]["content"]
            assert "fieldValidation" in {parameter["name"] for parameter in patch["parameters"]}
            containers = pods["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
            assert ("name", "merge", ["name"]) == (
                containers["x-kubernetes-patch-merge-key"], containers["x-kubernetes-patch-strategy"],
                containers["x-kubernetes-list-map-keys"],
            )  # fmt: skip

    asyncio.run(story())


def test_version_two_is_whole() -> None:
    async def story() -> None:
        async with running() as api:
            document = (await api.get("/openapi/v2")).json
            for reference in references(document):
                assert reference.removeprefix("#/definitions/") in document["definitions"]
            marks = document["definitions"]["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]
            assert [{"group": "apps", "version": "v1", "kind": "Deployment"}] == marks
            binary = await api.get("/openapi/v2", Accept="application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
            assert 406 == binary.status

    asyncio.run(story())
