"""Server-side apply: ownership, conflicts, loss."""

import asyncio
from typing import Any

import pytest

from tests.apiserver.running import APPLY, Got, Session, config_map, deployment, running

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


async def apply(api: Session, path: str, value: Any, manager: str = "me", *, force: bool = False) -> Got:
    """Apply a configuration."""
    return await api.patch(f"{path}?fieldManager={manager}&force={str(force).lower()}", value, APPLY)


def data(**entries: str) -> dict[str, Any]:
    """The configuration of a ConfigMap."""
    return config_map("c", **entries)


def test_the_first_apply_makes_the_object() -> None:
    async def story() -> None:
        async with running() as api:
            got = await apply(api, f"{CONFIG_MAPS}/c", data(a="1"))
            owner = got.json["metadata"]["managedFields"][0]
            assert (201, "me", "Apply") == (got.status, owner["manager"], owner["operation"])
            assert {"f:data": {"f:a": {}}} == owner["fieldsV1"]
            again = await apply(api, f"{CONFIG_MAPS}/c", data(a="1"))
            assert (200, got.json) == (again.status, again.json)

    asyncio.run(story())


def test_what_is_no_longer_said_goes_unless_somebody_else_owns_it() -> None:
    async def story() -> None:
        async with running() as api:
            await apply(api, f"{CONFIG_MAPS}/c", data(a="1", b="2", c="3"))
            await apply(api, f"{CONFIG_MAPS}/c", data(b="2"), "other")
            await api.patch(f"{CONFIG_MAPS}/c", {"data": {"d": "4"}})
            got = (await apply(api, f"{CONFIG_MAPS}/c", data(a="1"))).json
            assert {"a": "1", "b": "2", "d": "4"} == got["data"]

    asyncio.run(story())


def test_another_owner_is_a_conflict_that_can_be_forced() -> None:
    async def story() -> None:
        async with running() as api:
            await apply(api, f"{CONFIG_MAPS}/c", data(a="1"))
            refused = await apply(api, f"{CONFIG_MAPS}/c", data(a="2"), "other")
            assert (409, "Conflict") == (refused.status, refused.reason)
            assert 'Apply failed with 1 conflict: conflict with "me": .data.a' == refused.message
            assert [{"reason": "FieldManagerConflict", "message": 'conflict with "me"', "field": ".data.a"}] == (
                refused.json["details"]["causes"]
            )
            assert 200 == (await apply(api, f"{CONFIG_MAPS}/c", data(a="2"), "other", force=True)).status
            assert 409 == (await apply(api, f"{CONFIG_MAPS}/c", data(a="1"))).status
            assert 200 == (await apply(api, f"{CONFIG_MAPS}/c", data(a="2"))).status

    asyncio.run(story())


def test_a_plain_write_takes_what_it_changes() -> None:
    async def story() -> None:
        async with running() as api:
            await apply(api, f"{DEPLOYMENTS}/d", deployment("d", replicas=2))
            await api.patch(f"{DEPLOYMENTS}/d/scale?fieldManager=scaler", {"spec": {"replicas": 5}})
            refused = await apply(api, f"{DEPLOYMENTS}/d", deployment("d", replicas=2))
            assert 409 == refused.status
            assert 'conflict with "scaler"' in refused.message
            assert ".spec.replicas" in refused.message
            without = deployment("d")
            del without["spec"]["replicas"]
            got = await apply(api, f"{DEPLOYMENTS}/d", without)
            assert (200, 5) == (got.status, got.json["spec"]["replicas"])

    asyncio.run(story())


def test_an_object_that_was_there_before_belongs_to_somebody() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(CONFIG_MAPS, data(a="1"))
            assert 'conflict with "before-first-apply"' in (await apply(api, f"{CONFIG_MAPS}/c", data(a="2"))).message
            assert 200 == (await apply(api, f"{CONFIG_MAPS}/c", data(a="1", b="2"))).status

    asyncio.run(story())


def test_containers_are_told_apart_by_name() -> None:
    async def story() -> None:
        async with running() as api:
            await apply(api, f"{DEPLOYMENTS}/d", deployment("d"))
            sidecar = deployment("d")
            del sidecar["spec"]["replicas"], sidecar["spec"]["selector"], sidecar["spec"]["template"]["metadata"]
            containers = [{"name": "side", "image": "side:1"}]
            sidecar["spec"]["template"]["spec"]["containers"] = containers
            got = (await apply(api, f"{DEPLOYMENTS}/d", sidecar, "injector")).json
            images = {c["name"]: c["image"] for c in got["spec"]["template"]["spec"]["containers"]}
            assert {"main": "nginx:1", "side": "side:1"} == images
            got = (await apply(api, f"{DEPLOYMENTS}/d", deployment("d", image="nginx:2"))).json
            images = {c["name"]: c["image"] for c in got["spec"]["template"]["spec"]["containers"]}
            assert {"main": "nginx:2", "side": "side:1"} == images
            sidecar["spec"] = {}
            got = (await apply(api, f"{DEPLOYMENTS}/d", sidecar, "injector")).json
            assert ["main"] == [c["name"] for c in got["spec"]["template"]["spec"]["containers"]]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("query", "body", "status"),
    [
        pytest.param("", data(a="1"), 422, id="no manager"),
        pytest.param("?fieldManager=m", {"data": {}}, 400, id="no kind"),
        pytest.param("?fieldManager=m", {**data(), "metadata": {"name": "other"}}, 400, id="another name"),
        pytest.param("?fieldManager=m", b"- a list", 400, id="no object"),
        pytest.param("?fieldManager=m", {**data(), "metadata": {"managedFields": [{}]}}, 400, id="owners in it"),
    ],
)
def test_an_apply_that_cannot_be(query: str, body: Any, status: int) -> None:
    async def story() -> None:
        async with running() as api:
            assert status == (await api.patch(f"{CONFIG_MAPS}/c{query}", body, APPLY)).status

    asyncio.run(story())


def test_yaml_can_be_applied() -> None:
    async def story() -> None:
        async with running() as api:
            body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  day: '2026-01-01'\n"
            got = await api.patch(f"{CONFIG_MAPS}/c?fieldManager=m", body, APPLY)
            assert (201, {"day": "2026-01-01"}) == (got.status, got.json["data"])

    asyncio.run(story())
