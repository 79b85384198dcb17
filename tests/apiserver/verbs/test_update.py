"""Updates: conflicts, the parts that may be written where, what stands."""

import asyncio
import copy
from typing import Any

import pytest

from tests.apiserver.running import NODES, PODS, STRATEGIC, config_map, deployment, node, pod, running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


def test_a_writer_who_has_not_seen_the_newest_version_is_told() -> None:
    async def story() -> None:
        async with running() as api:
            first = (await api.post(CONFIG_MAPS, config_map("a", key="1"))).json
            second = copy.deepcopy(first)
            second["data"]["key"] = "2"
            assert 200 == (await api.put(f"{CONFIG_MAPS}/a", second)).status
            got = await api.put(f"{CONFIG_MAPS}/a", first)
            assert (409, "Conflict") == (got.status, got.reason)
            assert (
                'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your '
                "changes to the latest version and try again" == got.message
            )

    asyncio.run(story())


def test_a_write_that_changes_nothing_makes_no_version() -> None:
    async def story() -> None:
        async with running() as api:
            first = (await api.post(PODS, pod("a"))).json
            assert first == (await api.put(f"{PODS}/a", first)).json
            again = await api.patch(f"{PODS}/a", {"metadata": {"labels": first["metadata"]["labels"]}})
            assert first["metadata"]["resourceVersion"] == again.json["metadata"]["resourceVersion"]

    asyncio.run(story())


def test_the_main_address_does_not_write_the_status_nor_the_other_way_round() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(DEPLOYMENTS, deployment("d"))).json
            both = copy.deepcopy(made)
            both["spec"]["replicas"], both["status"] = 5, {"replicas": 5}
            main = (await api.put(f"{DEPLOYMENTS}/d", both)).json
            assert (5, None, 2) == (
                main["spec"]["replicas"],
                main["status"].get("replicas"),
                main["metadata"]["generation"],
            )
            both = copy.deepcopy(main)
            both["spec"]["replicas"], both["status"] = 9, {"replicas": 3}
            status = (await api.put(f"{DEPLOYMENTS}/d/status", both)).json
            assert (5, 3, 2) == (
                status["spec"]["replicas"],
                status["status"]["replicas"],
                status["metadata"]["generation"],
            )

    asyncio.run(story())


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        pytest.param({"spec": {"nodeName": "n"}}, "pod updates may not change fields other than", id="its node"),
        pytest.param({"spec": {"priority": 5}}, "pod updates may not change fields other than", id="its priority"),
        pytest.param({"spec": {"schedulingGates": [{"name": "g"}]}}, "only deletion is allowed, but found new "
                     "scheduling gate 'g'", id="a new gate"),
        pytest.param({"spec": {"tolerations": []}}, "existing toleration can not be modified", id="fewer tolerations"),
        pytest.param({"metadata": {"name": "b"}}, "metadata.name: Invalid value", id="its name"),
    ],
)  # fmt: skip
def test_what_stands_of_a_pod_cannot_be_changed(patch: dict[str, Any], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a", tolerations=[{"key": "gpu", "operator": "Exists"}]))
            got = await api.patch(f"{PODS}/a", patch)
            assert (422, True) == (got.status, want in got.message), got.message

    asyncio.run(story())


def test_a_manifest_applied_again_does_not_lose_what_every_pod_tolerates() -> None:
    async def story() -> None:
        async with running() as api:
            own = [{"key": "gpu", "operator": "Exists"}]
            made = (await api.post(PODS, pod("a", tolerations=own))).json
            # a client that knows only its manifest patches the list as a whole
            got = await api.patch(f"{PODS}/a", {"spec": {"tolerations": own}}, STRATEGIC)
            assert (200, made) == (got.status, got.json)

    asyncio.run(story())


def test_what_may_change_of_a_pod_can_be_changed() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(PODS, pod("a", schedulingGates=[{"name": "g"}]))).json
            made["spec"]["containers"][0]["image"] = "other:2"
            made["spec"]["tolerations"].append({"key": "gpu", "operator": "Exists"})
            del made["spec"]["schedulingGates"]
            got = await api.put(f"{PODS}/a", made)
            assert (200, 2) == (got.status, got.json["metadata"]["generation"])

    asyncio.run(story())


def test_a_selector_stands() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(DEPLOYMENTS, deployment("d"))).json
            made["spec"]["selector"]["matchLabels"] = {"app": "e"}
            made["spec"]["template"]["metadata"]["labels"] = {"app": "e"}
            got = await api.put(f"{DEPLOYMENTS}/d", made)
            assert (422, True) == (got.status, "spec.selector: Invalid value" in got.message)
            assert "field is immutable" in got.message

    asyncio.run(story())


def test_a_lease_needs_the_version_that_was_seen_and_may_be_made_by_an_update() -> None:
    async def story() -> None:
        async with running() as api:
            lease = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}}
            made = await api.put(f"{LEASES}/l", lease)
            assert 201 == made.status
            blind = await api.put(f"{LEASES}/l", lease)
            assert (422, True) == (blind.status, "must be specified for an update" in blind.message)
            seen = made.json
            seen["spec"]["holderIdentity"] = ""
            assert "" == (await api.put(f"{LEASES}/l", seen)).json["spec"]["holderIdentity"]

    asyncio.run(story())


def test_an_update_of_another_object_of_the_same_name_is_refused() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(CONFIG_MAPS, config_map("a"))).json
            await api.delete(f"{CONFIG_MAPS}/a")
            await api.post(CONFIG_MAPS, config_map("a"))
            del made["metadata"]["resourceVersion"]
            got = await api.put(f"{CONFIG_MAPS}/a", made)
            assert (409, True) == (got.status, "UID in precondition" in got.message)
            assert 404 == (await api.put(f"{CONFIG_MAPS}/nope", config_map("nope"))).status

    asyncio.run(story())


def test_a_node_writes_its_status_and_keeps_its_taints() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(NODES, node("n"))
            taint = {"spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}}
            assert 200 == (await api.patch(f"{NODES}/n", taint)).status
            ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}, "spec": {"taints": None}}
            got = await api.patch(f"{NODES}/n/status", ready, "application/strategic-merge-patch+json")
            assert "Ready" == got.json["status"]["conditions"][0]["type"]
            assert "a" == got.json["spec"]["taints"][0]["key"]
            twice = {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]}}
            assert 422 == (await api.patch(f"{NODES}/n", twice)).status

    asyncio.run(story())


def test_immutable_data_stands() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(CONFIG_MAPS, {**config_map("a", key="1"), "immutable": True})
            got = await api.patch(f"{CONFIG_MAPS}/a", {"data": {"key": "2"}})
            assert (422, True) == (got.status, "field is immutable when `immutable` is set" in got.message)

    asyncio.run(story())
