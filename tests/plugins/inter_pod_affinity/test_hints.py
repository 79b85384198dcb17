"""Which events let a pod try again that required terms kept out."""

import pytest

from stowplan.api.meta import KubeObject
from stowplan.api.node import Node
from stowplan.api.pod import Pod
from stowplan.framework.plugin import PluginContext
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.inter_pod_affinity.plugin import InterPodAffinity
from stowplan.testing.builders import HOSTNAME, ZONE, cluster, company, namespace, node, pod, select, term

WEB, DB, TIER = select(app="web"), select(app="db"), select(tier="1")
NEEDS_WEB = pod("waiting", labels={"app": "own"}, affinity=company(near=[term(WEB, ZONE)]))
NEEDS_BOTH = pod("waiting", affinity=company(near=[term(WEB, ZONE), term(TIER, HOSTNAME)]))
SHUNS_DB = pod("waiting", labels={"app": "own"}, affinity=company(far=[term(DB, ZONE)]))
SHUNS_TWO = pod("waiting", affinity=company(far=[term(DB, ZONE), term(TIER, ZONE)]))
MALFORMED = pod("waiting", affinity=company(near=[term(select(("app", "Near", [])))]))
LIKES_BADLY = pod("waiting", affinity=company(prefer_near=[(1, term(select(("app", "Near", []))))]))


def wakes(waiting: Pod, kind: Kind, old: KubeObject | None, new: KubeObject | None) -> bool:
    built = cluster(namespace("other", team="t"))
    (hint,) = [wake.when for wake in InterPodAffinity.create(None, PluginContext()).wakes if wake.kind is kind]
    assert hint is not None

    def seen(obj: KubeObject | None) -> object:
        return built.compiler.compile(obj) if isinstance(obj, Pod) else obj

    event = ObjectEvent(kind, Change.ALL, seen(old), seen(new))
    return hint(built.compiler.compile(waiting), event, built.view())


def placed(namespace: str = "default", *, on: str = "n", nominated: str = "", **labels: str) -> Pod:
    return pod("p", namespace=namespace, on=on, nominated=nominated, labels=labels)


SHUNS_OWN = pod("p", on="n", affinity=company(far=[term(select(app="own"), ZONE)]))


@pytest.mark.parametrize(
    ("waiting", "old", "new", "want"),
    [
        pytest.param(NEEDS_WEB, None, placed(app="web"), True, id="company came"),
        pytest.param(NEEDS_WEB, None, placed(app="db"), False, id="somebody else came"),
        pytest.param(NEEDS_WEB, None, placed(app="web", on=""), False, id="company came but is not placed"),
        pytest.param(NEEDS_WEB, None, placed(app="web", on="", nominated="n"), True, id="company was nominated"),
        pytest.param(NEEDS_WEB, None, placed("other", app="web"), False, id="company came to another namespace"),
        pytest.param(NEEDS_BOTH, None, placed(app="web"), False, id="who came meets one of two terms"),
        pytest.param(NEEDS_BOTH, None, placed(app="web", tier="1"), True, id="who came meets both terms"),
        pytest.param(NEEDS_WEB, placed(app="db"), placed(app="web"), True, id="a pod became company"),
        pytest.param(NEEDS_WEB, placed(app="web"), placed(app="db"), False, id="a pod ceased to be company"),
        pytest.param(NEEDS_WEB, placed(app="web"), placed(app="web", rev="2"), False, id="company stays company"),
        pytest.param(NEEDS_WEB, placed(app="web"), None, False, id="company went"),
        pytest.param(SHUNS_DB, placed(app="db"), None, True, id="whom the pod shuns went"),
        pytest.param(SHUNS_DB, placed(app="web"), None, False, id="whom the pod does not shun went"),
        pytest.param(SHUNS_DB, None, placed(app="db"), False, id="whom the pod shuns came"),
        pytest.param(SHUNS_DB, placed(app="db"), placed(app="web"), True, id="a pod is no longer shunned"),
        pytest.param(SHUNS_TWO, placed(app="db"), None, False, id="one of two whom the pod shuns went"),
        pytest.param(SHUNS_TWO, placed(app="db", tier="1"), None, True, id="who meets both anti-affinity terms went"),
        pytest.param(NEEDS_WEB, SHUNS_OWN, None, True, id="who shuns the pod went"),
        pytest.param(NEEDS_BOTH, SHUNS_OWN, None, False, id="who shuns others went"),
        pytest.param(
            NEEDS_WEB, NEEDS_WEB, pod("waiting", labels={"app": "x"}), True, id="the pod itself has other labels"
        ),
        pytest.param(MALFORMED, None, placed(app="db"), True, id="a required term cannot be read"),
        pytest.param(LIKES_BADLY, None, placed(app="db"), False, id="a preferred term cannot be read"),
        pytest.param(
            SHUNS_DB,
            pod("p", on="n", affinity=company(far=[term(select(("app", "Near", [])))])),
            None,
            True,
            id="the anti-affinity of who went cannot be read",
        ),
        pytest.param(
            pod("waiting", affinity=company(near=[term(WEB, ZONE, namespace_selector=select(team="t"))])),
            None,
            placed("other", app="web"),
            False,
            id="namespace selectors are not looked up: no namespace has labels here",
        ),
        pytest.param(
            pod("waiting", affinity=company(near=[term(WEB, ZONE, namespace_selector=select())])),
            None,
            placed("other", app="web"),
            True,
            id="but the empty one means all",
        ),
    ],
)
def test_pod_changes(waiting: Pod, old: Pod | None, new: Pod | None, want: bool) -> None:
    assert want == wakes(waiting, Kind.POD, old, new)


A, B, BARE = node("n", zone="a"), node("n", zone="b"), node("n")


@pytest.mark.parametrize(
    ("waiting", "old", "new", "want"),
    [
        pytest.param(NEEDS_WEB, None, A, True, id="a node with the key came"),
        pytest.param(NEEDS_WEB, None, BARE, False, id="a node without the key came"),
        pytest.param(NEEDS_WEB, BARE, A, True, id="a node got the key"),
        pytest.param(NEEDS_WEB, A, B, True, id="a node moved to another domain"),
        pytest.param(NEEDS_WEB, A, BARE, False, id="a node lost the key of an affinity term"),
        pytest.param(NEEDS_WEB, A, A, False, id="a node stays in its domain"),
        pytest.param(SHUNS_DB, None, BARE, True, id="for anti-affinity any new node will do"),
        pytest.param(SHUNS_DB, A, BARE, True, id="a node lost the key of an anti-affinity term"),
        pytest.param(SHUNS_DB, A, B, True, id="a node moved away from the shunned"),
        pytest.param(SHUNS_DB, BARE, A, False, id="a node got the key of an anti-affinity term"),
        pytest.param(pod("waiting"), None, A, False, id="a pod without terms waits for others to change"),
        pytest.param(MALFORMED, A, A, True, id="a required term cannot be read"),
    ],
)
def test_node_changes(waiting: Pod, old: Node | None, new: Node, want: bool) -> None:
    assert want == wakes(waiting, Kind.NODE, old, new)
