"""Custom kinds: served as their definition says, as long as it is there."""

import asyncio
import copy
from typing import Any

import pytest

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import APPLY, STRATEGIC, Json, Session, running

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GADGETS = "/apis/example.com/v1/namespaces/default/gadgets"
SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "code": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4},
                "port": {"x-kubernetes-int-or-string": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                "parts": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                    "items": {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer"}}},
                },
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}  # fmt: skip


def definition(**spec: Any) -> Json:
    """The definition of gadgets."""
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA},
               "subresources": {"status": {}}, "selectableFields": [{"jsonPath": ".spec.color"}]}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "gadgets", "kind": "Gadget"},
            "versions": [version],
            **spec,
        },
    }


def gadget(name: str = "a", **spec: Any) -> Json:
    """An instance."""
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": {"size": 1, **spec}}


async def define(api: Session) -> None:
    """Serve gadgets."""
    assert 201 == (await api.post(DEFINITIONS, definition())).status


def test_a_definition_is_established_and_discovered() -> None:
    async def story() -> None:
        async with running() as api:
            assert 404 == (await api.get(GADGETS)).status
            await define(api)
            stored = (await api.get(f"{DEFINITIONS}/gadgets.example.com")).json
            conditions = {found["type"]: found["status"] for found in stored["status"]["conditions"]}
            assert {"NamesAccepted": "True", "Established": "True"} == conditions
            assert ("gadget", "GadgetList", ["v1"]) == (
                stored["spec"]["names"]["singular"],
                stored["spec"]["names"]["listKind"],
                stored["status"]["storedVersions"],
            )
            listed = (await api.get("/apis/example.com/v1")).json["resources"]
            assert ["gadgets", "gadgets/status"] == [found["name"] for found in listed]
            assert "GadgetList" == (await api.get(GADGETS)).json["kind"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({"size": 0}, "spec.size in body should be greater than or equal to 1", id="too small"),
        pytest.param({"size": "x"}, 'spec.size in body must be of type integer: "string"', id="no number"),
        pytest.param({"size": None}, "must be of type integer", id="null"),
        pytest.param({"color": "pink"}, 'Unsupported value: "pink": supported values: "red", "blue"', id="no choice"),
        pytest.param({"code": "A1"}, "spec.code in body should match", id="no match"),
        pytest.param({"code": "abcde"}, "Too long", id="too long"),
        pytest.param({"tags": ["a", "a"]}, 'Duplicate value: "a"', id="twice"),
        pytest.param({"parts": [{"name": "x"}, {"name": "x"}]}, "Duplicate value", id="two of one name"),
        pytest.param({"port": 1.5}, "must be of type integer,string", id="neither number nor text"),
    ],
)
def test_an_instance_that_does_not_fit_is_refused(spec: dict[str, Any], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            await define(api)
            got = await api.post(GADGETS, gadget(**spec))
            assert (422, True) == (got.status, want in got.message), got.message

    asyncio.run(story())


def test_an_instance_is_filled_in_and_pruned() -> None:
    async def story() -> None:
        async with running() as api:
            await define(api)
            got = await api.post(GADGETS, gadget(bogus=1, free={"any": "thing"}, port="http"))
            assert {"size": 1, "color": "red", "free": {"any": "thing"}, "port": "http"} == got.json["spec"]
            assert ['299 - "unknown field \\"spec.bogus\\""'] == list(got.warnings)
            strict = await api.post(f"{GADGETS}?fieldValidation=Strict", gadget("b", bogus=1))
            assert (400, True) == (strict.status, 'unknown field "spec.bogus"' in strict.message)

    asyncio.run(story())


def test_an_instance_lives_as_others_do() -> None:
    async def story() -> None:
        async with running() as api:
            await define(api)
            made = (await api.post(GADGETS, {**gadget(), "status": {"ready": True}})).json
            assert (1, False) == (made["metadata"]["generation"], "status" in made)
            ready = await api.patch(f"{GADGETS}/a/status", {"status": {"ready": True}, "spec": {"size": 9}})
            assert (1, True, 1) == (
                ready.json["spec"]["size"], ready.json["status"]["ready"], ready.json["metadata"]["generation"],
            )  # fmt: skip
            larger = await api.patch(f"{GADGETS}/a", {"spec": {"size": 5}})
            assert 2 == larger.json["metadata"]["generation"]
            assert 422 == (await api.put(f"{GADGETS}/a", gadget())).status
            assert 415 == (await api.patch(f"{GADGETS}/a", {}, STRATEGIC)).status
            await api.post(GADGETS, gadget("b", color="blue"))
            picked = (await api.get(f"{GADGETS}?fieldSelector=spec.color%3Dblue")).json["items"]
            assert ["b"] == [found["metadata"]["name"] for found in picked]
            async with api.watch(GADGETS) as stream:
                assert [("ADDED", "a"), ("ADDED", "b")] == await stream.names(2)
                await api.delete(f"{GADGETS}/a")
                assert [("DELETED", "a")] == await stream.names(1)

    asyncio.run(story())


def test_lists_of_an_instance_merge_as_its_schema_says() -> None:
    async def story() -> None:
        async with running() as api:
            await define(api)
            one = gadget(parts=[{"name": "x", "n": 1}], tags=["a"])
            two = gadget(parts=[{"name": "y", "n": 2}], tags=["b"])
            await api.patch(f"{GADGETS}/a?fieldManager=one", one, APPLY)
            got = await api.patch(f"{GADGETS}/a?fieldManager=two", two, APPLY)
            assert (["x", "y"], ["a", "b"]) == (
                [part["name"] for part in got.json["spec"]["parts"]],
                got.json["spec"]["tags"],
            )

    asyncio.run(story())


def test_a_definition_takes_its_instances_along() -> None:
    async def story() -> None:
        async with running() as api:
            await define(api)
            await api.post(GADGETS, gadget())
            assert 200 == (await api.delete(f"{DEFINITIONS}/gadgets.example.com")).status
            assert 404 == (await api.get(GADGETS)).status
            await define(api)
            assert [] == (await api.get(GADGETS)).json["items"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param({"scope": "Galaxy"}, "spec.scope: Unsupported value", id="an unknown scope"),
        pytest.param({"versions": []}, "spec.versions: Required value", id="no version"),
        pytest.param({"group": "example"}, "should be a domain with at least one dot", id="no domain"),
        pytest.param({"names": {"plural": "widgets", "kind": "Gadget"}}, "metadata.name: Invalid value", id="its name"),
    ],
)
def test_a_bad_definition_is_refused(change: dict[str, Any], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.post(DEFINITIONS, definition(**change))
            assert (422, True) == (got.status, want in got.message), got.message

    asyncio.run(story())


def test_a_second_version_speaks_of_the_same_objects() -> None:
    async def story() -> None:
        async with running() as api:
            both = definition()
            second = copy.deepcopy(both["spec"]["versions"][0])
            second["name"], second["storage"] = "v2beta1", False
            both["spec"]["versions"].append(second)
            await api.post(DEFINITIONS, both)
            await api.post(GADGETS, gadget())
            got = (await api.get(GADGETS.replace("v1", "v2beta1") + "/a")).json
            assert ("example.com/v2beta1", 1) == (got["apiVersion"], got["spec"]["size"])

    asyncio.run(story())


def test_definitions_outlive_the_process(tmp_path: Any) -> None:
    options = ServerOptions(data_dir=tmp_path / "data")

    async def story() -> None:
        async with running(options) as api:
            await define(api)
            await api.post(GADGETS, gadget())
        async with running(options) as api:
            assert 1 == len((await api.get(GADGETS)).json["items"])

    asyncio.run(story())
