"""Resources know where they live."""

import pytest

from stowplan.client import paths
from stowplan.client.paths import Resource


@pytest.mark.parametrize(
    ("resource", "item", "want"),
    [
        pytest.param(paths.PODS, ("p", "ns"), "/api/v1/namespaces/ns/pods/p", id="a core resource in a namespace"),
        pytest.param(paths.PODS, ("p", "ns", "binding"), "/api/v1/namespaces/ns/pods/p/binding", id="a part of it"),
        pytest.param(paths.NODES, ("n",), "/api/v1/nodes/n", id="a core resource without a namespace"),
        pytest.param(
            paths.LEASES, ("l", "ns"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l", id="a resource of a group"
        ),
        pytest.param(paths.CSI_NODES, ("a:b",), "/apis/storage.k8s.io/v1/csinodes/a:b", id="a colon stays"),
        pytest.param(paths.NODES, ("a/b",), "/api/v1/nodes/a%2Fb", id="a slash does not leave the name"),
        pytest.param(paths.NODES, ("a?b",), "/api/v1/nodes/a%3Fb", id="nor does a question mark"),
    ],
)
def test_item(resource: Resource, item: tuple[str, ...], want: str) -> None:
    assert want == resource.item(*item)


def test_collection() -> None:
    assert paths.EVENTS.collection("ns") == "/apis/events.k8s.io/v1/namespaces/ns/events"
    assert paths.EVENTS.collection() == "/apis/events.k8s.io/v1/events"
    assert paths.EVENTS.api_version == "events.k8s.io/v1"
    assert paths.PODS.api_version == "v1"


@pytest.mark.parametrize(
    ("resource", "item"),
    [
        pytest.param(paths.PODS, ("p",), id="a pod without a namespace"),
        pytest.param(paths.NODES, ("n", "ns"), id="a node with one"),
        pytest.param(paths.NODES, ("",), id="no name"),
    ],
)
def test_misuse(resource: Resource, item: tuple[str, ...]) -> None:
    with pytest.raises(AssertionError):
        resource.item(*item)
