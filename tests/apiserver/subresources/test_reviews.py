"""Questions about tokens and rights."""

import asyncio
from typing import Any

import pytest

from stowplan.apiserver.options import ServerOptions, User
from tests.apiserver.running import Json, Session, running

USERS = {"bob-token": User("bob", ("readers",))}
REVIEWS = "/apis/authorization.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


async def readers_may_read(api: Session) -> None:
    """A role for bob's group."""
    role = {
        "metadata": {"name": "reader"},
        "rules": [
            {"verbs": ["get"], "apiGroups": ["apps"], "resources": ["deployments", "*/scale"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["mine"]},
            {"verbs": ["get"], "nonResourceURLs": ["/logs/*"]},
        ],
    }
    assert 201 == (await api.post(f"{RBAC}/clusterroles", role)).status
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"kind": "ClusterRole", "name": "reader"},
        "subjects": [{"kind": "Group", "name": "readers"}],
    }
    assert 201 == (await api.post(f"{RBAC}/clusterrolebindings", binding)).status


def resource(**asked: str) -> Json:
    """A question about a resource."""
    return {"resourceAttributes": asked}


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(resource(verb="get", group="apps", resource="deployments"), True, id="what the role names"),
        pytest.param(resource(verb="list", group="apps", resource="deployments"), False, id="another verb"),
        pytest.param(resource(verb="get", resource="deployments"), False, id="another group"),
        pytest.param(resource(verb="get", group="apps", resource="replicasets", subresource="scale"), True,
                     id="a subresource of anything"),
        pytest.param(resource(verb="get", resource="pods", name="mine"), True, id="the object that is named"),
        pytest.param(resource(verb="get", resource="pods", name="yours"), False, id="another object"),
        pytest.param({"nonResourceAttributes": {"verb": "get", "path": "/logs/a"}}, True, id="a path"),
        pytest.param({"nonResourceAttributes": {"verb": "get", "path": "/secret"}}, False, id="another path"),
        pytest.param({"nonResourceAttributes": {"verb": "get", "path": "/version"}}, True, id="what all may see"),
    ],
)  # fmt: skip
def test_rights_are_judged_by_roles(asked: dict[str, Any], want: bool) -> None:
    async def story() -> None:
        async with running(ServerOptions(users=USERS)) as api:
            await readers_may_read(api)
            groups = ["readers", "system:authenticated"]
            other = await api.post(
                f"{REVIEWS}/subjectaccessreviews", {"spec": {"user": "bob", "groups": groups, **asked}}
            )
            own = await api.call("POST", f"{REVIEWS}/selfsubjectaccessreviews", {"spec": asked}, token="bob-token")
            assert (201, want) == (other.status, other.json["status"]["allowed"])
            assert (201, want) == (own.status, own.json["status"]["allowed"])

    asyncio.run(story())


def test_a_token_is_reviewed() -> None:
    async def story() -> None:
        async with running(ServerOptions(users=USERS)) as api:
            path = "/apis/authentication.k8s.io/v1/tokenreviews"
            known = (await api.post(path, {"spec": {"token": "bob-token"}})).json["status"]
            assert (True, "bob", ["readers", "system:authenticated"]) == (
                known["authenticated"], known["user"]["username"], known["user"]["groups"],
            )  # fmt: skip
            assert "authenticated" not in (await api.post(path, {"spec": {"token": "nope"}})).json["status"]
            assert 400 == (await api.post(path, {"spec": {}})).status

    asyncio.run(story())


def test_everybody_may_ask_who_they_are() -> None:
    async def story() -> None:
        async with running(ServerOptions(users=USERS)) as api:
            path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
            got = await api.call("POST", path, {}, token="bob-token")
            assert (201, "bob") == (got.status, got.json["status"]["userInfo"]["username"])
            rules = await api.call(
                "POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "default"}}, token="bob-token"
            )
            assert 201 == rules.status
            assert rules.json["status"]["nonResourceRules"]

    asyncio.run(story())


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"user": "a"}, id="nothing is asked"),
        pytest.param({"resourceAttributes": {"verb": "get"}}, id="nobody is named"),
        pytest.param({"user": "a", "resourceAttributes": {}, "nonResourceAttributes": {}}, id="two things are asked"),
    ],
)
def test_a_question_without_sense_is_refused(spec: dict[str, Any]) -> None:
    async def story() -> None:
        async with running() as api:
            assert 422 == (await api.post(f"{REVIEWS}/subjectaccessreviews", {"spec": spec})).status

    asyncio.run(story())
