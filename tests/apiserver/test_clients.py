"""Kept Python clients, the official one among them, work without special settings."""

from pathlib import Path
from typing import cast

from kubernetes import client as official
from kubernetes import config, dynamic, watch
from lightkube import Client, KubeConfig
from lightkube.models.core_v1 import Container, PodSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Node, Pod

from stowplan.apiserver.options import ServerOptions
from tests.apiserver.running import deployment, node
from tests.apiserver.wire import process


def test_lightkube_creates_lists_and_watches(tmp_path: Path) -> None:
    with process(ServerOptions(kubeconfig=tmp_path / "config")):
        client = Client(config=KubeConfig.from_file(tmp_path / "config"))
        client.create(cast("Node", Node.from_dict(node("n"))))
        client.create(cast("Deployment", Deployment.from_dict(deployment("d"))), namespace="default")
        made = client.create(
            Pod(metadata=ObjectMeta(name="a"), spec=PodSpec(containers=[Container(name="c", image="i")])),
            namespace="default",
        )

        assert made.metadata is not None
        assert ["n"] == [found.metadata.name for found in client.list(Node) if found.metadata]
        version = made.metadata.resourceVersion
        client.patch(Pod, "a", {"metadata": {"labels": {"x": "y"}}}, namespace="default")
        client.delete(Pod, "a", namespace="default")
        events = []
        for change, found in client.watch(Pod, namespace="default", resource_version=version, server_timeout=5):
            events.append((change, found.metadata.name if found.metadata else ""))
            if change == "DELETED":
                break
        assert [("MODIFIED", "a"), ("DELETED", "a")] == events


def test_the_official_client_creates_lists_in_pages_and_watches(tmp_path: Path) -> None:
    with process(ServerOptions(kubeconfig=tmp_path / "config")):
        api = config.new_client_from_config(str(tmp_path / "config"))
        core, apps = official.CoreV1Api(api), official.AppsV1Api(api)
        container = official.V1Container(name="c", image="i")
        for name in "abc":
            pod = official.V1Pod(
                metadata=official.V1ObjectMeta(name=name), spec=official.V1PodSpec(containers=[container])
            )
            core.create_namespaced_pod("default", pod)

        page = core.list_namespaced_pod("default", limit=2)
        rest = core.list_namespaced_pod("default", limit=2, _continue=page.metadata._continue)
        assert ["a", "b", "c"] == [pod.metadata.name for pod in (*page.items, *rest.items)]
        assert (1, None) == (page.metadata.remaining_item_count, rest.metadata._continue)

        version = rest.metadata.resource_version
        core.patch_namespaced_pod("a", "default", {"metadata": {"labels": {"x": "y"}}})
        core.delete_namespaced_pod("a", "default")
        told = []
        stream = watch.Watch()
        for event in stream.stream(core.list_namespaced_pod, "default", resource_version=version, timeout_seconds=5):
            told.append((event["type"], event["object"].metadata.name))
            if event["type"] == "DELETED":
                stream.stop()
        assert [("MODIFIED", "a"), ("DELETED", "a")] == told

        apps.create_namespaced_deployment("default", deployment("d"))
        apps.patch_namespaced_deployment_scale("d", "default", {"spec": {"replicas": 3}})
        deployments = dynamic.DynamicClient(api).resources.get(api_version="apps/v1", kind="Deployment")
        assert [3] == [found.spec.replicas for found in deployments.get(namespace="default").items]
