"""Creations: identity, defaults, admission, refusals."""

import asyncio
import json
from typing import Any

import pytest

from stowplan.clock import FakeClock
from tests.apiserver.running import NODES, PODS, config_map, deployment, node, pod, running

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
NAMESPACES = "/api/v1/namespaces"


def test_a_new_object_gets_an_identity() -> None:
    async def story() -> None:
        async with running(clock=FakeClock(0.0)) as api:
            got = await api.post(CONFIG_MAPS, config_map("a", key="value"))
            meta = got.json["metadata"]
            assert 201 == got.status
            assert ("a", "default", "1970-01-01T00:00:00Z") == (
                meta["name"],
                meta["namespace"],
                meta["creationTimestamp"],
            )
            assert 36 == len(meta["uid"])
            assert got.json == (await api.get(f"{CONFIG_MAPS}/a")).json

    asyncio.run(story())


def test_a_name_is_generated() -> None:
    async def story() -> None:
        async with running() as api:
            value = {"metadata": {"generateName": "web-"}}
            names = {(await api.post(CONFIG_MAPS, value)).json["metadata"]["name"] for _ in range(20)}
            assert 20 == len(names)
            assert all(name.startswith("web-") and 9 == len(name) for name in names)

    asyncio.run(story())


def test_a_pod_is_completed_as_the_real_server_does() -> None:
    async def story() -> None:
        async with running() as api:
            got = (await api.post(PODS, pod("a"))).json
            spec = got["spec"]
            assert {"phase": "Pending", "qosClass": "BestEffort"} == got["status"]
            assert 1 == got["metadata"]["generation"]
            assert ("Always", "ClusterFirst", 30, "default-scheduler", True, "default", 0, "PreemptLowerPriority") == (
                spec["restartPolicy"], spec["dnsPolicy"], spec["terminationGracePeriodSeconds"], spec["schedulerName"],
                spec["enableServiceLinks"], spec["serviceAccountName"], spec["priority"], spec["preemptionPolicy"],
            )  # fmt: skip
            tolerated = [(part["key"], part["effect"], part["tolerationSeconds"]) for part in spec["tolerations"]]
            assert [
                ("node.kubernetes.io/not-ready", "NoExecute", 300),
                ("node.kubernetes.io/unreachable", "NoExecute", 300),
            ] == tolerated
            container = spec["containers"][0]
            assert ("IfNotPresent", "/dev/termination-log", "File", {}) == (
                container["imagePullPolicy"], container["terminationMessagePath"],
                container["terminationMessagePolicy"], container["resources"],
            )  # fmt: skip

    asyncio.run(story())


@pytest.mark.parametrize(
    ("image", "want"),
    [("nginx", "Always"), ("nginx:latest", "Always"), ("nginx:1", "IfNotPresent"), ("host:5000/nginx", "Always"),
     ("nginx@sha256:abc", "IfNotPresent")],
)  # fmt: skip
def test_the_pull_policy_follows_the_tag(image: str, want: str) -> None:
    async def story() -> None:
        async with running() as api:
            value = pod("a", containers=[{"name": "c", "image": image}])
            assert want == (await api.post(PODS, value)).json["spec"]["containers"][0]["imagePullPolicy"]

    asyncio.run(story())


@pytest.mark.parametrize(
    ("resources", "want"),
    [
        pytest.param({}, "BestEffort", id="nothing is asked for"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="something is asked for"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits become requests"),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="memory is not limited"),
        pytest.param(
            {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            "Burstable",
            id="less is asked for than is allowed",
        ),
    ],
)
def test_the_quality_of_service_follows_the_resources(resources: dict[str, Any], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            value = pod("a", containers=[{"name": "c", "image": "i", "resources": resources}])
            assert want == (await api.post(PODS, value)).json["status"]["qosClass"]

    asyncio.run(story())


def test_quantities_are_written_in_one_form() -> None:
    async def story() -> None:
        async with running() as api:
            resources = {"requests": {"cpu": "0.5", "memory": "1024Mi"}}
            value = pod("a", containers=[{"name": "c", "image": "i", "resources": resources}])
            got = (await api.post(PODS, value)).json["spec"]["containers"][0]["resources"]
            assert {"requests": {"cpu": "500m", "memory": "1Gi"}} == got

    asyncio.run(story())


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(["500Mi", "500Mi"], "1000Mi", id="what the containers ask for together"),
        pytest.param([None, None], "4Gi", id="its own limit, when they ask for nothing"),
    ],
)
def test_requests_of_a_whole_pod_follow_its_containers(asked: list[str | None], want: str) -> None:
    async def story() -> None:
        async with running() as api:
            containers = [
                {"name": f"c{index}", "image": "i", "resources": {"requests": {"memory": text}} if text else {}}
                for index, text in enumerate(asked)
            ]
            value = pod("a", containers=containers, resources={"limits": {"memory": "4Gi"}})
            got = (await api.post(PODS, value)).json["spec"]["resources"]
            assert {"memory": want} == got["requests"]

    asyncio.run(story())


def test_a_priority_comes_from_its_class() -> None:
    async def story() -> None:
        async with running() as api:
            high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}
            usual = {"metadata": {"name": "usual"}, "value": 7, "globalDefault": True}
            assert 201 == (await api.post(CLASSES, high)).status
            assert 201 == (await api.post(CLASSES, usual)).status
            named = (await api.post(PODS, pod("a", priorityClassName="high"))).json["spec"]
            unnamed = (await api.post(PODS, pod("b"))).json["spec"]
            assert (1000, "Never") == (named["priority"], named["preemptionPolicy"])
            assert (7, "usual") == (unnamed["priority"], unnamed["priorityClassName"])
            missing = await api.post(PODS, pod("c", priorityClassName="nope"))
            assert 403 == missing.status
            assert 'pods "c" is forbidden: no PriorityClass with name nope was found' == missing.message
            clash = await api.post(PODS, pod("d", priority=3))
            assert (403, True) == (clash.status, "must not be provided in pod spec" in clash.message)

    asyncio.run(story())


def test_a_gated_pod_says_so() -> None:
    async def story() -> None:
        async with running() as api:
            got = (await api.post(PODS, pod("a", schedulingGates=[{"name": "wait"}]))).json
            condition = got["status"]["conditions"][0]
            assert ("PodScheduled", "False", "SchedulingGated") == (
                condition["type"],
                condition["status"],
                condition["reason"],
            )

    asyncio.run(story())


def test_what_a_node_has_can_be_allocated() -> None:
    async def story() -> None:
        async with running() as api:
            got = (await api.post(NODES, node("n"))).json["status"]
            assert got["capacity"] == got["allocatable"]

    asyncio.run(story())


def test_a_secret_hides_its_plain_texts() -> None:
    async def story() -> None:
        async with running() as api:
            value = {"metadata": {"name": "s"}, "stringData": {"a": "b"}}
            got = (await api.post("/api/v1/namespaces/default/secrets", value)).json
            assert ({"a": "Yg=="}, "Opaque", False) == (got["data"], got["type"], "stringData" in got)

    asyncio.run(story())


def test_services_get_addresses_of_their_own() -> None:
    async def story() -> None:
        async with running() as api:
            path = "/api/v1/namespaces/default/services"
            addresses = []
            for number in range(5):
                value = {"metadata": {"name": f"s{number}"}, "spec": {"ports": [{"port": 80}], "type": "NodePort"}}
                spec = (await api.post(path, value)).json["spec"]
                addresses.append((spec["clusterIP"], spec["ports"][0]["nodePort"]))
                assert 80 == spec["ports"][0]["targetPort"]
            assert 5 == len({address for address, _ in addresses})
            assert 5 == len({port for _, port in addresses})
            taken = {"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}], "clusterIP": "10.96.0.1"}}
            got = await api.post(path, taken)
            assert (422, True) == (got.status, "provided IP is already allocated" in got.message)

    asyncio.run(story())


def test_a_claim_without_a_class_gets_the_default_one() -> None:
    async def story() -> None:
        async with running() as api:
            path = "/api/v1/namespaces/default/persistentvolumeclaims"
            spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
            before = (await api.post(path, {"metadata": {"name": "a"}, "spec": spec})).json
            mark = {"storageclass.kubernetes.io/is-default-class": "true"}
            made = {"metadata": {"name": "fast", "annotations": mark}, "provisioner": "x/y"}
            got = (await api.post("/apis/storage.k8s.io/v1/storageclasses", made)).json
            assert ("Delete", "Immediate") == (got["reclaimPolicy"], got["volumeBindingMode"])
            after = (await api.post(path, {"metadata": {"name": "b"}, "spec": spec})).json
            assert "storageClassName" not in before["spec"]
            assert ("fast", "Pending") == (after["spec"]["storageClassName"], after["status"]["phase"])
            none = {**spec, "storageClassName": ""}
            static = (await api.post(path, {"metadata": {"name": "c"}, "spec": none})).json
            assert "" == static["spec"]["storageClassName"]

    asyncio.run(story())


def test_a_job_gets_a_selector_of_its_own() -> None:
    async def story() -> None:
        async with running() as api:
            template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
            value = {"metadata": {"name": "j"}, "spec": {"template": template}}
            got = (await api.post("/apis/batch/v1/namespaces/default/jobs", value)).json
            uid = got["metadata"]["uid"]
            assert {"batch.kubernetes.io/controller-uid": uid} == got["spec"]["selector"]["matchLabels"]
            assert uid == got["spec"]["template"]["metadata"]["labels"]["batch.kubernetes.io/controller-uid"]
            assert (1, 1, 6) == (got["spec"]["completions"], got["spec"]["parallelism"], got["spec"]["backoffLimit"])

    asyncio.run(story())


@pytest.mark.parametrize(
    ("value", "status", "want"),
    [
        pytest.param(pod("a"), 409, 'pods "a" already exists', id="the name is taken"),
        pytest.param({"kind": "Node"}, 400, "does not match the expected kind (Pod)", id="another kind"),
        pytest.param({"apiVersion": "apps/v1"}, 400, "does not match the expected API version (v1)", id="a version"),
        pytest.param({"metadata": {}}, 422, "name or generateName is required", id="no name"),
        pytest.param({"metadata": {"name": "x", "namespace": "other"}}, 400,
                     "does not match the namespace sent on the request", id="another namespace"),
        pytest.param({"metadata": {"name": "x"}, "spec": {}}, 422, "spec.containers: Required value", id="empty"),
        pytest.param({"metadata": {"name": "A_b"}, "spec": {}}, 422, "a lowercase RFC 1123 subdomain", id="bad name"),
        pytest.param({"metadata": {"name": "x", "labels": {"a b": "c"}}, "spec": {}}, 422,
                     "metadata.labels: Invalid value", id="a bad label"),
        pytest.param({"metadata": {"name": "x"}, "spec": {"hostNetwork": "yes"}}, 400,
                     "json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
                     id="a text for a flag"),
        pytest.param(pod("x", containers=[{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1x"}}}]), 400,
                     "quantities must match the regular expression", id="a malformed quantity"),
        pytest.param(pod("x", restartPolicy="Sometimes"), 422,
                     'Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"', id="an enum"),
        pytest.param(pod("x", tolerations=[{"operator": "Equal"}]), 422, "operator must be Exists when `key` is empty",
                     id="a toleration of nothing"),
    ],
)  # fmt: skip
def test_a_bad_pod_is_refused(value: dict[str, Any], status: int, want: str) -> None:
    async def story() -> None:
        async with running() as api:
            await api.post(PODS, pod("a"))
            got = await api.post(PODS, value)
            assert status == got.status, got.body
            assert want in got.message

    asyncio.run(story())


@pytest.mark.parametrize(
    ("wanted", "status", "warned"),
    [
        pytest.param("Strict", 400, 0, id="strict refuses"),
        pytest.param("Warn", 201, 2, id="warn warns of unknown and of repeated fields"),
        pytest.param("", 201, 1, id="the usual warns of unknown fields"),
        pytest.param("Ignore", 201, 0, id="ignore says nothing"),
        pytest.param("Other", 422, 0, id="another word is refused"),
    ],
)
def test_unknown_fields_are_treated_as_asked(wanted: str, status: int, warned: int) -> None:
    async def story() -> None:
        async with running() as api:
            body = json.dumps(pod("a", bogus=1))[:-1].encode() + b', "kind": "Pod"}'
            got = await api.post(f"{PODS}?fieldValidation={wanted}", body)
            assert (status, warned) == (got.status, len(got.warnings))
            if status == 201:
                assert "bogus" not in got.json["spec"]
            if status == 400:
                assert 'strict decoding error: unknown field "spec.bogus", duplicate field "kind"' in got.message

    asyncio.run(story())


def test_a_dry_run_keeps_nothing() -> None:
    async def story() -> None:
        async with running() as api:
            got = await api.post(f"{PODS}?dryRun=All", pod("a"))
            assert (201, "Always") == (got.status, got.json["spec"]["restartPolicy"])
            assert 404 == (await api.get(f"{PODS}/a")).status
            assert 422 == (await api.post(f"{PODS}?dryRun=Some", pod("a"))).status

    asyncio.run(story())


def test_nothing_is_made_where_it_cannot_live() -> None:
    async def story() -> None:
        async with running() as api:
            missing = await api.post("/api/v1/namespaces/nope/pods", pod("a"))
            assert (404, 'namespaces "nope" not found') == (missing.status, missing.message)
            await api.post(NAMESPACES, {"metadata": {"name": "going"}})
            assert "Terminating" == (await api.delete(f"{NAMESPACES}/going")).json["status"]["phase"]
            refused = await api.post("/api/v1/namespaces/going/pods", pod("a"))
            assert (403, "NamespaceTerminating") == (refused.status, refused.json["details"]["causes"][0]["reason"])

    asyncio.run(story())


def test_a_deployment_is_completed_and_its_selector_checked() -> None:
    async def story() -> None:
        async with running() as api:
            path = "/apis/apps/v1/namespaces/default/deployments"
            spec = (await api.post(path, deployment("d"))).json["spec"]
            assert (10, 600, "25%") == (
                spec["revisionHistoryLimit"],
                spec["progressDeadlineSeconds"],
                spec["strategy"]["rollingUpdate"]["maxSurge"],
            )
            bad = deployment("e")
            bad["spec"]["selector"]["matchLabels"] = {"app": "other"}
            got = await api.post(path, bad)
            assert (422, True) == (got.status, "`selector` does not match template `labels`" in got.message)

    asyncio.run(story())
