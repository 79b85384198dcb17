"""Where daemons are missing, where they are too many, and how they are replaced."""

from typing import Any

import pytest

from stowplan.api.affinity import Taint
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.controllers.daemon_sets import by_node, daemon_pod, demand_of
from stowplan.sim.controllers.daemons import Site, manage, roll
from tests.sim.objects import NOW, sim_pod, template, workload

NEW, OLD = {"controller-revision-hash": "new"}, {"controller-revision-hash": "old"}


def site(name: str, *taints: Taint, **labels: str) -> Site:
    return Site(name=name, labels=labels, taints=taints)


def daemon(name: str, node: str, labels: dict[str, str] = NEW, **more: Any) -> SimPod:
    return sim_pod(name, **{"on": node, "labels": labels, "phase": "Running", "ready": True, **more})


def changed(sites: list[Site], pods: list[SimPod], **spec: Any) -> tuple[list[str], list[str]]:
    changes = manage(sites, by_node(pods), demand_of(template("agent", **spec)))
    return changes.create, [pod.name for pod in changes.delete]


GPU = Taint(key="gpu", effect="NoSchedule")
OUT = Taint(key="out", effect="NoExecute")
CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


@pytest.mark.parametrize(
    ("sites", "pods", "spec", "want"),
    [
        pytest.param([site("a"), site("b")], [], {}, (["a", "b"], []), id="one on every node"),
        pytest.param([site("a"), site("b")], [daemon("p", "a")], {}, (["b"], []), id="where there is none"),
        pytest.param([site("a", disk="ssd"), site("b")], [], {"nodeSelector": {"disk": "ssd"}}, (["a"], []),
                     id="only where it fits"),
        pytest.param([site("a", GPU)], [], {}, ([], []), id="not on a node with a taint"),
        pytest.param([site("a", GPU)], [], {"tolerations": [{"key": "gpu", "operator": "Exists"}]}, (["a"], []),
                     id="unless it is tolerated"),
        pytest.param([site("a", CORDON)], [], {}, (["a"], []), id="a cordon does not keep daemons away"),
        pytest.param([site("a", GPU)], [daemon("p", "a")], {}, ([], []), id="one that is there may stay"),
        pytest.param([site("a", OUT)], [daemon("p", "a")], {}, ([], ["p"]), id="unless it is driven away"),
        pytest.param([site("a")], [daemon("p", "a", phase="Failed")], {}, ([], ["p"]), id="a failed one goes first"),
        pytest.param([site("a")], [daemon("p", "a", deleted=NOW)], {}, ([], []), id="one that goes is waited for"),
        pytest.param([site("a")], [daemon("p", "a"), daemon("q", "a", created=NOW + 1)], {}, ([], ["q"]),
                     id="the younger of two goes"),
        pytest.param([site("a")], [daemon("p", "a"), daemon("q", "a", OLD)], {}, ([], []),
                     id="an old and a new one may be side by side"),
        pytest.param([], [daemon("p", "gone")], {}, ([], ["p"]), id="no pod for a node that is gone"),
    ],
)  # fmt: skip
def test_manage(sites: list[Site], pods: list[SimPod], spec: Any, want: tuple[list[str], list[str]]) -> None:
    assert want == changed(sites, pods, **spec)


def rolled(pods: list[SimPod], *, unavailable: int = 1, surge: int = 0) -> tuple[list[str], list[str]]:
    changes = roll(by_node(pods), "new", lambda pod: pod.ready, max_unavailable=unavailable, max_surge=surge)
    return changes.create, [pod.name for pod in changes.delete]


@pytest.mark.parametrize(
    ("pods", "limits", "want"),
    [
        pytest.param([daemon("p", "a", OLD), daemon("q", "b", OLD)], {}, ([], ["p"]), id="one at a time"),
        pytest.param([daemon("p", "a", OLD), daemon("q", "b", OLD)], {"unavailable": 2}, ([], ["p", "q"]), id="or two"),
        pytest.param([daemon("p", "a", ready=False), daemon("q", "b", OLD)], {}, ([], []), id="after the one before"),
        pytest.param([daemon("p", "a", OLD, ready=False), daemon("q", "b", OLD)], {}, ([], ["p"]),
                     id="one that is missed already costs nothing"),
        pytest.param([daemon("p", "a"), daemon("q", "b")], {}, ([], []), id="nothing to do"),
        pytest.param([daemon("p", "a", OLD), daemon("q", "b", OLD)], {"surge": 1}, (["a"], []), id="a new one beside"),
        pytest.param([daemon("p", "a", OLD), daemon("n", "a", ready=False), daemon("q", "b", OLD)], {"surge": 1},
                     ([], []), id="until it is ready"),
        pytest.param([daemon("p", "a", OLD), daemon("n", "a"), daemon("q", "b", OLD)], {"surge": 1}, (["b"], ["p"]),
                     id="then the old one goes"),
    ],
)  # fmt: skip
def test_roll(pods: list[SimPod], limits: dict[str, int], want: tuple[list[str], list[str]]) -> None:
    assert want == rolled(pods, **limits)


def test_a_daemon_is_made_for_its_node() -> None:
    found = {**workload("DaemonSet", "agent"), "metadata": {"name": "agent", "namespace": "x", "uid": "u"}}

    pod = daemon_pod(found, "node-7", "mark")

    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert [{"key": "metadata.name", "operator": "In", "values": ["node-7"]}] == term["matchFields"]
    assert "mark" == pod["metadata"]["labels"]["controller-revision-hash"]
    assert "unschedulable" in [one["key"].rpartition("/")[2] for one in pod["spec"]["tolerations"]]
