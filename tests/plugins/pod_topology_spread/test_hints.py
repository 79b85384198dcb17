"""Which events let a pod try again that spread constraints kept out."""

from collections.abc import Mapping

import pytest

from stowplan.api.affinity import TopologySpreadConstraint
from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.framework.plugin import PluginContext
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread
from stowplan.testing.builders import HOSTNAME, cluster, node, pod, select, spread, taint, tolerate

HONORING = spread(select(app="web"), node_taints_policy="Honor")
WAITING = pod("waiting", labels={"app": "web"}, spread=[spread(select(app="web")), spread(select(app="db"), HOSTNAME)])


def event(kind: Kind, old: KubeObject | None, new: KubeObject | None) -> ObjectEvent:
    compiler = cluster().compiler

    def seen(obj: KubeObject | None) -> KubeObject | PodInfo | None:
        return compiler.compile(obj) if isinstance(obj, Pod) else obj

    return ObjectEvent(kind, Change.ALL, seen(old), seen(new))


def wakes(waiting: Pod, kind: Kind, old: KubeObject | None, new: KubeObject | None) -> bool:
    built = cluster()
    plugin = PodTopologySpread.create(None, PluginContext())
    (hint,) = [wake.when for wake in plugin.wakes if wake.kind is kind]
    assert hint is not None
    return hint(built.compiler.compile(waiting), event(kind, old, new), built.view())


def placed(name: str = "p", namespace: str = "default", on: str = "n", nominated: str = "", **labels: str) -> Pod:
    return pod(name, namespace=namespace, on=on, nominated=nominated, labels=labels)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, placed(app="web"), True, id="a pod that one constraint matches was placed"),
        pytest.param(None, placed(app="db"), True, id="a pod that another constraint matches was placed"),
        pytest.param(None, placed(app="other"), False, id="a pod that none matches was placed"),
        pytest.param(None, placed(app="web", namespace="other"), False, id="a pod of another namespace was placed"),
        pytest.param(None, placed(app="web", on=""), False, id="a pod that is not placed came"),
        pytest.param(None, placed(app="web", on="", nominated="n"), True, id="a matching pod was nominated"),
        pytest.param(placed(app="web"), None, True, id="a matching pod went"),
        pytest.param(placed(app="other"), None, False, id="a pod that none matches went"),
        pytest.param(placed(app="web", on=""), None, False, id="a pod went that was nowhere"),
        pytest.param(placed(app="other"), placed(app="web"), True, id="a pod began to match"),
        pytest.param(placed(app="web"), placed(app="other"), True, id="a pod ceased to match"),
        pytest.param(placed(app="web"), placed(app="db"), True, id="a pod matches another constraint now"),
        pytest.param(placed(app="web"), placed(app="web", rev="1"), False, id="a label that nobody asks for changed"),
        pytest.param(placed(app="web"), placed(app="web"), False, id="no label changed"),
        pytest.param(
            WAITING, pod("waiting", labels={"app": "db"}, spread=[]), True, id="the pod itself has other labels"
        ),
    ],
)
def test_pod_changes(old: Pod | None, new: Pod | None, want: bool) -> None:
    assert want == wakes(WAITING, Kind.POD, old, new)


@pytest.mark.parametrize(
    ("constraint", "want"),
    [
        pytest.param(HONORING, True, id="tolerating more helps where taints are honoured"),
        pytest.param(spread(select(app="web")), False, id="and nowhere else"),
    ],
)
def test_own_tolerations(constraint: TopologySpreadConstraint, want: bool) -> None:
    before = pod("waiting", labels={"app": "web"}, spread=[constraint])
    after = pod("waiting", labels={"app": "web"}, spread=[constraint], tolerations=[tolerate("own")])

    assert want == wakes(before, Kind.POD, before, after)


def zoned(zone: str | None = "a", *, tainted: bool = False, labels: Mapping[str, str] | None = None) -> Node:
    return node("n", zone=zone, taints=[taint("own")] if tainted else (), labels=labels)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, zoned(), True, id="a node with all keys came"),
        pytest.param(None, zoned(None), False, id="a node that lacks a key came"),
        pytest.param(zoned(), None, True, id="a node with all keys went"),
        pytest.param(zoned(None), None, False, id="a node that lacks a key went"),
        pytest.param(zoned(None), zoned(), True, id="a node got the key it lacked"),
        pytest.param(zoned(), zoned(None), True, id="a node lost a key"),
        pytest.param(zoned(), zoned("b"), True, id="a node moved to another zone"),
        pytest.param(zoned(), zoned(tainted=True), True, id="the taints of a node with all keys changed"),
        pytest.param(zoned(None), zoned(None, tainted=True), False, id="the taints of a node that lacks a key changed"),
        pytest.param(zoned(), zoned(labels={"disk": "ssd"}), False, id="a label that no constraint names changed"),
    ],
)
def test_node_changes(old: Node | None, new: Node | None, want: bool) -> None:
    assert want == wakes(WAITING, Kind.NODE, old, new)
