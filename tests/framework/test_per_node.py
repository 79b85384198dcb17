"""Plugins that judge one node at a time."""

from hypothesis import given, settings

from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.columns.worlds import Worlds
from stowplan.framework.per_node import NodeFilterPlugin, NodeScorePlugin, NodeView, node_views
from stowplan.framework.plugin import Depends, PluginError
from stowplan.framework.verdict import Rejection, fatal, rejection, unresolvable
from stowplan.testing.builders import cluster, node, pod, taint
from stowplan.testing.properties import assert_rows_agree, assert_worlds_agree
from stowplan.testing.running import run_filter, run_score
from tests.plugins.generated import Scene, pods, scenes

GPU = "nvidia.com/gpu"


class Picky(NodeFilterPlugin, NodeScorePlugin):
    """Wants the disk that the pod's label names, and an even number of pods; likes free cpu."""

    name = "Picky"
    depends = Depends.LOAD

    def filter_node(self, pod: PodInfo, node: NodeView) -> Rejection | str | None:
        if node.labels.get("disk", "none") != pod.cls.labels.get("disk", "none"):
            return unresolvable("node(s) had another disk")
        return "node(s) had an odd number of pods" if len(node.pods) % 2 else None

    def score_node(self, pod: PodInfo, node: NodeView) -> int:
        return (node.allocatable["cpu"] - node.requested["cpu"]) // 1000


def test_texts_and_rejections_are_both_answers() -> None:
    objects = [node("fits"), node("odd"), node("ssd", labels={"disk": "ssd"}), pod("x", on="odd")]

    want = {
        "fits": None,
        "odd": rejection("node(s) had an odd number of pods"),
        "ssd": unresolvable("node(s) had another disk"),
    }

    assert want == run_filter(Picky(), objects, pod()).by_node


class Unsure(NodeFilterPlugin):
    """Does not know what to say of one node."""

    name = "Unsure"

    def filter_node(self, pod: PodInfo, node: NodeView) -> Rejection | str | None:
        if node.name == "b":
            raise PluginError("no answer")
        return None


def test_an_error_is_about_its_node() -> None:
    assert {"a": None, "b": fatal("no answer")} == run_filter(Unsure(), [node("a"), node("b")], pod()).by_node


def test_scores() -> None:
    objects = [node("big", cpu=8), node("small", cpu=2), pod("x", cpu=3, on="big")]

    assert {"big": 5, "small": 2} == run_score(Picky(), objects, pod())


def test_a_node_is_seen_whole() -> None:
    built = cluster(
        node("a", cpu=4, memory="1Gi", extended={GPU: 2}, taints=[taint("t")], images={"web:v1": 7}, labels={"x": "y"}),
        node("other", extended={"x.io/other": 1}),
        pod("x", on="a", cpu="1500m", extended={GPU: 1}),
    )

    first, _ = node_views(built.view().rows)

    assert "a" == first.name
    assert "y" == first.labels["x"]
    assert ["t"] == [t.key for t in first.taints]
    assert {"web:v1": 7} == first.images
    assert ["default/x"] == [p.key for p in first.pods]
    assert {"cpu": 4000, "memory": 2**30, GPU: 2, "pods": 110} == dict(first.allocatable)
    assert {"cpu": 1500, GPU: 1} == dict(first.requested)
    assert 0 == first.allocatable["x.io/none"]
    assert 4 == len(first.allocatable)
    assert "a" == first.record.metadata.name


def test_in_a_world_the_node_is_as_it_would_be() -> None:
    built = cluster(node("a"), pod("x", on="a", cpu=1))
    view = built.view()
    worlds = Worlds(view, view.rows.index)
    worlds.add(0, built.compiler.compile(pod("guest", cpu=2)))

    (seen,) = node_views(worlds)

    assert 3000 == seen.requested["cpu"]
    assert ["default/x", "default/guest"] == [p.key for p in seen.pods]


@settings(max_examples=30)
@given(scenes(), pods(), pods("guest"))
def test_per_node_plugins_keep_the_contract_of_rows(scene: Scene, pod: Pod, guest: Pod) -> None:
    assert_rows_agree(Picky(), scene.cluster(), pod)
    assert_worlds_agree(Picky(), scene.cluster, pod, guest)
