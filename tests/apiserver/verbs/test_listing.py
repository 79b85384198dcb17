"""Lists: selectors, pages that belong together, versions, forms."""

import asyncio

import pytest

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import NODES, PODS, Session, config_map, node, pod, running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


async def names(api: Session, path: str) -> list[str]:
    """The names in a list."""
    got = await api.get(path)
    assert 200 == got.status, got.body
    return [item["metadata"]["name"] for item in got.json["items"]]


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("app=web", ["a", "b"]), ("app==web", ["a", "b"]), ("app!=web", ["c", "d"]), ("app", ["a", "b", "c"]),
        ("!app", ["d"]), ("app in (web,db)", ["a", "b", "c"]), ("app notin (web)", ["c", "d"]),
        ("app=web,tier=front", ["a"]), ("weight>5", ["b"]), ("weight<5", ["a"]), ("app=", []),
        ("", ["a", "b", "c", "d"]),
    ],
)  # fmt: skip
def test_labels_select(selector: str, want: list[str]) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a", labels={"app": "web", "tier": "front", "weight": "3"}))
            await api.post(PODS, pod("b", labels={"app": "web", "weight": "7"}))
            await api.post(PODS, pod("c", labels={"app": "db"}))
            await api.post(PODS, pod("d", labels={}))
            query = selector.replace("=", "%3D").replace(" ", "%20").replace("<", "%3C").replace(">", "%3E")
            assert want == await names(api, f"{PODS}?labelSelector={query}")

    asyncio.run(story())


@pytest.mark.parametrize(
    ("selector", "want"),
    [
        ("metadata.name=a", ["a"]), ("metadata.name!=a", ["b"]), ("metadata.namespace=default", ["a", "b"]),
        ("spec.nodeName=n", ["a"]), ("spec.nodeName=", ["b"]), ("status.phase=Pending,spec.nodeName!=n", ["b"]),
        ("spec.schedulerName=default-scheduler", ["a", "b"]), ("status.phase!=Pending", []),
    ],
)  # fmt: skip
def test_fields_select(selector: str, want: list[str]) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(NODES, node("n"))
            await api.post(PODS, pod("a"))
            await api.post(PODS, pod("b"))
            await api.post(f"{PODS}/a/binding", {"metadata": {"name": "a"}, "target": {"name": "n"}})
            assert want == await names(api, f"/api/v1/pods?fieldSelector={selector.replace('=', '%3D')}")

    asyncio.run(story())


def test_pages_show_the_state_of_the_first_one() -> None:
    async def story() -> None:
        async with running() as api:
            for letter in "abcdef":
                await api.post(CONFIG_MAPS, config_map(letter))
            first = (await api.get(f"{CONFIG_MAPS}?limit=2")).json
            assert 5 == first["metadata"]["remainingItemCount"]
            await api.delete(f"{CONFIG_MAPS}/d")
            await api.post(CONFIG_MAPS, config_map("bb"))
            await api.patch(f"{CONFIG_MAPS}/e", {"data": {"x": "new"}})
            seen = [item["metadata"]["name"] for item in first["items"]]
            token, texts = first["metadata"]["continue"], {}
            while token:
                page = (await api.get(f"{CONFIG_MAPS}?limit=2&continue={token}")).json
                assert first["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
                seen += [item["metadata"]["name"] for item in page["items"]]
                texts.update({item["metadata"]["name"]: item.get("data") for item in page["items"]})
                token = page["metadata"].get("continue", "")
            assert [*"abcdef", "kube-root-ca.crt"] == seen
            assert texts["e"] is None

    asyncio.run(story())


def test_a_page_of_a_forgotten_state_is_gone() -> None:
    async def story() -> None:
        async with running(ServerOptions(history=3)) as api:
            for letter in "abc":
                await api.post(CONFIG_MAPS, config_map(letter))
            token = (await api.get(f"{CONFIG_MAPS}?limit=1")).json["metadata"]["continue"]
            for letter in "vwxyz":
                await api.post(CONFIG_MAPS, config_map(letter))
            got = await api.get(f"{CONFIG_MAPS}?limit=1&continue={token}")
            assert (410, "Expired") == (got.status, got.reason)

    asyncio.run(story())


def test_a_list_of_an_exact_version_looks_back() -> None:
    async def story() -> None:
        async with running() as api:
            made = (await api.post(PODS, pod("a"))).json["metadata"]["resourceVersion"]
            await api.post(PODS, pod("b"))
            exact = f"{PODS}?resourceVersionMatch=Exact&resourceVersion="
            assert ["a"] == await names(api, exact + made)
            assert ["a", "b"] == await names(api, f"{PODS}?resourceVersionMatch=NotOlderThan&resourceVersion={made}")
            ahead = await api.get(f"{PODS}?resourceVersion=99999")
            assert (504, "ResourceVersionTooLarge") == (ahead.status, ahead.json["details"]["causes"][0]["reason"])
            assert 422 == (await api.get(exact + "0")).status

    asyncio.run(story())


def test_a_namespace_shows_its_own_only() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post("/api/v1/namespaces", {"metadata": {"name": "other"}})
            await api.post(PODS, pod("a"))
            await api.post("/api/v1/namespaces/other/pods", pod("b"))
            assert ["a"] == await names(api, PODS)
            assert ["a", "b"] == await names(api, "/api/v1/pods")
            assert [] == await names(api, "/api/v1/namespaces/nowhere/pods")

    asyncio.run(story())


def test_a_long_list_is_whole() -> None:
    async def story() -> None:
        async with running() as api:
            wanted = [f"p{number:04}" for number in range(1200)]
            for name in wanted:
                await api.post(PODS, pod(name))
            assert wanted == await names(api, PODS)

    asyncio.run(story())


def test_a_table_has_columns_rows_and_metadata() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            got = (await api.get(PODS, Accept=TABLE)).json
            columns = [column["name"] for column in got["columnDefinitions"]]
            assert ["Name", "Ready", "Status", "Restarts", "Age"] == columns[:5]
            assert ["a", "0/1", "Pending", "0"] == got["rows"][0]["cells"][:4]
            assert "PartialObjectMetadata" == got["rows"][0]["object"]["kind"]
            whole = (await api.get(f"{PODS}?includeObject=Object", Accept=TABLE)).json
            assert "Pod" == whole["rows"][0]["object"]["kind"]

    asyncio.run(story())


def test_metadata_can_be_asked_for_alone() -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
            got = (await api.get(PODS, Accept=accept)).json
            assert "PartialObjectMetadataList" == got["kind"]
            assert {"kind", "apiVersion", "metadata"} == got["items"][0].keys()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("accept", "want"),
    [
        ("application/vnd.kubernetes.protobuf,application/json", 200),
        ("application/vnd.kubernetes.protobuf, */*", 200),
        ("application/vnd.kubernetes.protobuf", 406), ("text/html", 406), ("*/*", 200), ("", 200),
    ],
)  # fmt: skip
def test_the_form_is_one_that_we_speak(accept: str, want: int) -> None:
    async def story() -> None:
        async with running() as api:
            assert want == (await api.get(PODS, Accept=accept)).status

    asyncio.run(story())


def test_events_are_spoken_in_two_versions() -> None:
    async def story() -> None:
        async with running() as api:
            new = "/apis/events.k8s.io/v1/namespaces/default/events"
            value = {
                "metadata": {"name": "e"}, "eventTime": "2026-01-01T00:00:00.000001Z", "reason": "Scheduled",
                "regarding": {"kind": "Pod", "name": "a", "namespace": "default"}, "note": "hello", "type": "Normal",
                "reportingController": "s", "reportingInstance": "i", "action": "Binding",
            }  # fmt: skip
            made = (await api.post(new, value)).json
            assert ("events.k8s.io/v1", "hello") == (made["apiVersion"], made["note"])
            old = (await api.get("/api/v1/namespaces/default/events/e")).json
            assert ("v1", "hello", "a", "s") == (
                old["apiVersion"], old["message"], old["involvedObject"]["name"], old["reportingComponent"],
            )  # fmt: skip
            query = "fieldSelector=involvedObject.name%3Da,reason%3DScheduled"
            assert ["e"] == await names(api, f"/api/v1/events?{query}")
            patched = await api.patch(f"{new}/e", {"series": {"count": 2, "lastObservedTime": value["eventTime"]}})
            assert (200, 2, "hello") == (patched.status, patched.json["series"]["count"], patched.json["note"])

    asyncio.run(story())
