"""Images that nodes hold already."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from msgspec.structs import replace

from stowplan.api.node import Node
from stowplan.api.pod import Container, Pod
from stowplan.api.volumes import ImageVolumeSource, Volume
from stowplan.plugins.image_locality import ImageLocality, normalized
from stowplan.testing.builders import node, pod
from stowplan.testing.running import run_score
from tests.plugins.generated import MI, Scene, pods, scenes

BOTH = [node("has", images={"web:v1": 600 * MI}), node("lacks")]


@pytest.mark.parametrize(
    ("nodes", "running", "want"),
    [
        pytest.param(BOTH, pod(images=["other"]), {"has": 0, "lacks": 0}, id="nobody has the image"),
        pytest.param(
            BOTH, pod(images=["web:v1"]), {"has": 28, "lacks": 0}, id="600 MB on half the nodes: 100 * (300 - 23) / 977"
        ),
        pytest.param(
            BOTH,
            pod(images=["web:v1", "other"]),
            {"has": 14, "lacks": 0},
            id="a second container doubles the range: 100 * (300 - 23) / 1977",
        ),
        pytest.param(
            BOTH,
            pod(images=["web:v1", "web:v1"]),
            {"has": 29, "lacks": 0},
            id="an image counts once per use: 100 * (600 - 23) / 1977",
        ),
        pytest.param(
            [node("a", images={"big:v1": 5000 * MI})], pod(images=["big:v1"]), {"a": 100}, id="more than 1000 MB is cut"
        ),
        pytest.param(
            [node("a", images={"tiny:v1": 22 * MI})], pod(images=["tiny:v1"]), {"a": 0}, id="less than 23 MB is nothing"
        ),
        pytest.param(
            [node("a", images={"web:latest": 1000 * MI})], pod(images=["web"]), {"a": 100}, id="no tag means latest"
        ),
        pytest.param(
            [node("a", images={"x:v1": 500 * MI})],
            pod(images=["y"], init_containers=[Container(image="x:v1")]),
            {"a": 24},
            id="init containers count: 100 * (500 - 23) / 1977",
        ),
        pytest.param(
            [node("a", images={"x:v1": 500 * MI})],
            pod(images=["y"], volumes=[Volume(image=ImageVolumeSource(reference="x:v1"))]),
            {"a": 48},
            id="image volumes count but do not widen the range: 100 * (500 - 23) / 977",
        ),
    ],
)
def test_score(nodes: Sequence[Node], running: Pod, want: dict[str, int]) -> None:
    assert want == run_score(ImageLocality(), nodes, running)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("web", "web:latest"),
        ("web:v1", "web:v1"),
        ("reg:5000/web", "reg:5000/web:latest"),
        ("reg:5000/web:v1", "reg:5000/web:v1"),
        ("reg/web@sha256:77", "reg/web@sha256:77"),
        ("", ":latest"),
    ],
)
def test_image_names_get_a_tag(name: str, want: str) -> None:
    assert want == normalized(name)


def test_the_size_is_what_the_first_node_said() -> None:
    nodes = [node("a", images={"web:v1": 1000 * MI}), node("b", images={"web:v1": 500 * MI})]

    assert {"a": 100, "b": 100} == run_score(ImageLocality(), nodes, pod(images=["web:v1"]))


def test_a_node_that_loses_an_image_counts_no_more() -> None:
    scene = Scene((node("a", images={"web:v1": 600 * MI}), node("b", images={"web:v1": 600 * MI})), {})
    cluster = scene.cluster()
    assert {"a": 59, "b": 59} == run_score(ImageLocality(), cluster, pod(images=["web:v1"]))

    cluster.put_node(node("b"))

    assert {"a": 28, "b": 0} == run_score(ImageLocality(), cluster, pod(images=["web:v1"]))


def twin(pod: Pod, where: Node, nodes: Sequence[Node]) -> int:
    wanted = [c.image for c in (*pod.spec.init_containers, *pod.spec.containers)]
    total = 0
    for name in wanted:
        full = normalized(name)
        holders = [n for n in nodes if any(full in image.names for image in n.status.images)]
        if where not in holders:
            continue
        size = next(image.size_bytes for image in holders[0].status.images if full in image.names)
        total += int(float(size) * (len(holders) / len(nodes)))
    most = 1000 * MI * len(wanted)
    total = min(max(total, 23 * MI), most)
    return 100 * (total - 23 * MI) // (most - 23 * MI)


@given(scenes(), pods())
def test_kernel_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    want = {n.name: twin(pod, n, scene.nodes) for n in scene.nodes}

    assert want == run_score(ImageLocality(), scene.cluster(), pod)


def test_images_under_several_names_are_one_image_each() -> None:
    image = replace(node("a", images={"web:v1": 600 * MI}).status.images[0], names=("web:v1", "web@sha256:77"))
    plain = node("a")
    both_names = replace(plain, status=replace(plain.status, images=(image,)))

    assert {"a": 59} == run_score(ImageLocality(), [both_names], pod(images=["web@sha256:77"]))
