"""Bindings: once, to the right pod, with what follows."""

import asyncio
from typing import Any

import pytest

from tests.apiserver.running import PODS, pod, running

TARGET = {"target": {"kind": "Node", "name": "n"}}


def binding(**meta: Any) -> dict[str, Any]:
    """A Binding of pod a to node n."""
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a", **meta}, **TARGET}


def test_a_bound_pod_has_a_node_and_a_condition_and_no_nomination() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            await api.patch(f"{PODS}/a/status", {"status": {"nominatedNodeName": "m"}})
            got = await api.post(f"{PODS}/a/binding", binding(annotations={"why": "best"}, labels={"zone": "z"}))
            assert (201, "Success") == (got.status, got.json["status"])
            bound = (await api.get(f"{PODS}/a")).json
            assert ("n", "best", "z", 1) == (
                bound["spec"]["nodeName"], bound["metadata"]["annotations"]["why"],
                bound["metadata"]["labels"]["zone"], bound["metadata"]["generation"],
            )  # fmt: skip
            assert "nominatedNodeName" not in bound["status"]
            condition = bound["status"]["conditions"][0]
            assert ("PodScheduled", "True") == (condition["type"], condition["status"])

    asyncio.run(story())


@pytest.mark.parametrize(
    ("before", "body", "status", "want"),
    [
        pytest.param("bound", binding(), 409, 'pod a is already assigned to node "n"', id="it has a node"),
        pytest.param("gated", binding(), 409, "pod a has non-empty .spec.schedulingGates", id="it is gated"),
        pytest.param("going", binding(), 409, "pod a is being deleted, cannot be assigned to a host", id="it goes"),
        pytest.param("", binding(uid="other"), 409, "UID in precondition: other", id="another pod of that name"),
        pytest.param("", binding(resourceVersion="1"), 409, "ResourceVersion in precondition", id="an older version"),
        pytest.param("none", binding(), 404, 'pods "a" not found', id="no pod"),
        pytest.param("", {**binding(), "target": {}}, 422, "target.name: Required value", id="no node is named"),
        pytest.param("", {**binding(), "target": {"kind": "Pod", "name": "n"}}, 422, "target.kind", id="no node"),
        pytest.param("", binding(name="b"), 400, "name in URL does not match", id="another name"),
        pytest.param("", {**binding(), "kind": "Pod"}, 400, "does not match the expected kind", id="another kind"),
    ],
)  # fmt: skip
def test_a_binding_that_cannot_be(before: str, body: dict[str, Any], status: int, want: str) -> None:
    async def story() -> None:
        async with running() as api:
            made = pod("a", schedulingGates=[{"name": "g"}] if before == "gated" else [])
            if before == "going":
                made["metadata"]["finalizers"] = ["example.com/hold"]
            if before != "none":
                await api.post(PODS, made)
            if before == "bound":
                await api.post(f"{PODS}/a/binding", binding())
            if before == "going":
                await api.delete(f"{PODS}/a")
            got = await api.post(f"{PODS}/a/binding", body)
            assert (status, True) == (got.status, want in got.message), got.message

    asyncio.run(story())


def test_the_collection_of_bindings_works_too() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            assert 201 == (await api.post("/api/v1/namespaces/default/bindings", binding())).status
            assert "n" == (await api.get(f"{PODS}/a")).json["spec"]["nodeName"]

    asyncio.run(story())


def test_of_many_bindings_of_one_pod_one_wins() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            got = await asyncio.gather(*(api.post(f"{PODS}/a/binding", binding()) for _ in range(10)))
            assert [201] + [409] * 9 == sorted(answer.status for answer in got)

    asyncio.run(story())
