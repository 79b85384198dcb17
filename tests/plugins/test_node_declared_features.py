"""Features of the kubelet that a pod needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stowplan.api.node import Node
from stowplan.api.pod import Container, ContainerRestartRule, Pod
from stowplan.framework.gates import Gates
from stowplan.framework.plugin import PluginContext
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.node_declared_features import NodeDeclaredFeatures
from stowplan.testing.builders import node, pod
from stowplan.testing.running import Answer, run_filter, run_wakes
from tests.plugins.generated import Scene, scenes

UNDECLARED = unresolvable("node(s) didn't match Pod's required features")
RESTART_ALL = "RestartAllContainersOnContainerExits"
USER_NAMESPACES = "UserNamespacesHostNetworkSupport"

RESTARTING = Container(restart_policy_rules=(ContainerRestartRule(action="RestartAllContainers"),))


def changed(**fields: bool | None) -> Pod:
    plain = pod()
    return replace(plain, spec=replace(plain.spec, **fields))


@pytest.mark.parametrize(
    ("needing", "features", "want"),
    [
        pytest.param(pod(containers=[RESTARTING]), [RESTART_ALL], None, id="the node declares it"),
        pytest.param(pod(containers=[RESTARTING]), [], UNDECLARED, id="the node declares nothing"),
        pytest.param(pod(containers=[RESTARTING]), [USER_NAMESPACES], UNDECLARED, id="the node declares another"),
        pytest.param(pod(init_containers=[RESTARTING]), [], UNDECLARED, id="an init container needs it"),
        pytest.param(changed(host_network=True, host_users=False), [], UNDECLARED, id="user namespaces, host network"),
        pytest.param(
            changed(host_network=True, host_users=False), [USER_NAMESPACES, "More"], None, id="more than it needs"
        ),
    ],
)
def test_filter(needing: Pod, features: list[str], want: Rejection | None) -> None:
    assert want == run_filter(NodeDeclaredFeatures(), [node("a", features=features)], needing).on("a")


@pytest.mark.parametrize(
    "needing",
    [
        pytest.param(pod(), id="a plain pod"),
        pytest.param(changed(host_network=True), id="host network alone"),
        pytest.param(changed(host_network=True, host_users=True), id="host network and host users"),
        pytest.param(changed(host_users=False), id="user namespaces alone"),
        pytest.param(
            pod(containers=[Container(restart_policy_rules=(ContainerRestartRule(action="Restart"),))]),
            id="another restart rule",
        ),
    ],
)
def test_pods_that_need_nothing_are_skipped(needing: Pod) -> None:
    assert Answer(skipped=True) == run_filter(NodeDeclaredFeatures(), [node("a")], needing)


def test_without_its_gate_it_does_nothing() -> None:
    off = NodeDeclaredFeatures.create(None, PluginContext(gates=Gates({"NodeDeclaredFeatures": False})))

    assert Answer(skipped=True) == run_filter(off, [node("a")], pod(containers=[RESTARTING]))
    assert not run_wakes(off, pod(containers=[RESTARTING]), new=node("a", features=[RESTART_ALL]))


@given(scenes(), st.booleans(), st.booleans())
def test_kernel_agrees_with_its_twin(scene: Scene, restarts: bool, shares: bool) -> None:
    plain = pod(containers=[RESTARTING if restarts else Container()])
    needing = replace(plain, spec=replace(plain.spec, host_network=shares, host_users=False))
    needed = {name for name, wanted in ((RESTART_ALL, restarts), (USER_NAMESPACES, shares)) if wanted}
    answer = run_filter(NodeDeclaredFeatures(), scene.cluster(), needing)

    assert answer.skipped is not bool(needed)
    for where in scene.nodes:
        declares_all = all(name in where.status.declared_features for name in needed)
        assert (None if declares_all else UNDECLARED) == answer.on(where.name)


NONE, SOME = node("a"), node("a", features=["A"])


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, NONE, True, id="a node came"),
        pytest.param(NONE, SOME, True, id="a node declares more"),
        pytest.param(SOME, NONE, True, id="a node declares less"),
        pytest.param(NONE, node("a", cpu=1), False, id="something else changed"),
    ],
)
def test_nodes_that_wake(old: Node | None, new: Node, want: bool) -> None:
    assert want == run_wakes(NodeDeclaredFeatures(), pod(containers=[RESTARTING]), old=old, new=new)


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(pod(containers=[RESTARTING]), pod(), True, id="it needs less"),
        pytest.param(pod(), pod(labels={"x": "y"}), False, id="something else changed"),
        pytest.param(pod("other", containers=[RESTARTING]), pod("other"), False, id="another pod needs less"),
    ],
)
def test_updates_that_wake(old: Pod, new: Pod, want: bool) -> None:
    assert want == run_wakes(NodeDeclaredFeatures(), pod(containers=[RESTARTING]), old=old, new=new)
