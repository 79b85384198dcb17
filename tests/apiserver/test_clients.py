"""A kept Python client works without special settings."""

from pathlib import Path
from typing import cast

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
