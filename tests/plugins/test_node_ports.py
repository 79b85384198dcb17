"""Host ports."""

import pytest
from hypothesis import given

from stowplan.api.pod import Container, Pod
from stowplan.framework.verdict import Rejection, rejection
from stowplan.plugins.node_ports import NodePorts
from stowplan.testing.builders import cluster, node, pod
from stowplan.testing.running import Answer, run_filter, run_wakes
from tests.plugins.generated import Scene, pods, scenes

TAKEN = rejection("node(s) didn't have free ports for the requested pod ports")

Port = tuple[str, str, int]


@pytest.mark.parametrize(
    ("used", "wanted", "want"),
    [
        pytest.param(("", "TCP", 80), ("", "TCP", 80), TAKEN, id="the same port"),
        pytest.param(("", "TCP", 80), ("", "TCP", 81), None, id="another port"),
        pytest.param(("", "TCP", 80), ("", "UDP", 80), None, id="another protocol"),
        pytest.param(("", "TCP", 80), ("", "", 80), TAKEN, id="no protocol means TCP"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80), None, id="another address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("10.0.0.1", "TCP", 80), TAKEN, id="the same address"),
        pytest.param(("0.0.0.0", "TCP", 80), ("10.0.0.1", "TCP", 80), TAKEN, id="the wildcard covers an address"),
        pytest.param(("10.0.0.1", "TCP", 80), ("", "TCP", 80), TAKEN, id="an address spoils the wildcard"),
    ],
)
def test_filter(used: Port, wanted: Port, want: Rejection | None) -> None:
    objects = [node("a"), node("free"), pod("there", on="a", host_ports=[used])]

    assert {"a": want, "free": None} == run_filter(NodePorts(), objects, pod(host_ports=[wanted])).by_node


def test_one_port_that_is_taken_is_enough() -> None:
    objects = [node("a"), pod("there", on="a", host_ports=[80])]

    assert TAKEN == run_filter(NodePorts(), objects, pod(host_ports=[79, 80, 81])).on("a")


def test_a_pod_without_host_ports_is_skipped() -> None:
    assert Answer(skipped=True) == run_filter(NodePorts(), [node("a")], pod())


def test_the_first_of_two_pods_to_leave_frees_the_port_they_share() -> None:
    built = cluster(node("a"), pod("x", on="a", host_ports=[80]), pod("y", on="a", host_ports=[80]))
    built.remove_pod("uid-default-x")

    assert {"a"} == run_filter(NodePorts(), built, pod(host_ports=[80])).passed()


def host_ports(pod: Pod) -> list[Port]:
    running: list[Container] = [c for c in pod.spec.init_containers if c.restart_policy == "Always"]
    running += pod.spec.containers
    return [
        (port.host_ip or "0.0.0.0", port.protocol or "TCP", port.host_port)
        for container in running
        for port in container.ports
        if port.host_port > 0
    ]


def twin(wanted: list[Port], used: list[Port]) -> Rejection | None:
    for address, protocol, port in wanted:
        for other, other_protocol, other_port in used:
            if (protocol, port) != (other_protocol, other_port):
                continue
            if address == "0.0.0.0" or other in {"0.0.0.0", address}:
                return TAKEN
    return None


@given(scenes(), pods())
def test_kernel_agrees_with_its_twin(scene: Scene, pod: Pod) -> None:
    answer = run_filter(NodePorts(), scene.cluster(), pod)

    assert bool(host_ports(pod)) is not answer.skipped
    for where in scene.nodes:
        used = [port for other in scene.placed[where.name] for port in host_ports(other)]
        assert twin(host_ports(pod), used) == answer.on(where.name)


@pytest.mark.parametrize(
    ("gone", "want"),
    [
        pytest.param(pod("gone", on="a", host_ports=[80]), True, id="a placed pod with the port went"),
        pytest.param(pod("gone", nominated="a", host_ports=[80]), True, id="a nominated one did"),
        pytest.param(pod("gone", host_ports=[80]), False, id="one that was nowhere did"),
        pytest.param(pod("gone", on="a", host_ports=[81]), False, id="one with another port did"),
        pytest.param(pod("gone", on="a"), False, id="one without ports did"),
        pytest.param(pod("gone", on="a", host_ports=[("10.0.0.1", "TCP", 80)]), True, id="one of an address did"),
    ],
)
def test_deletions_that_wake(gone: Pod, want: bool) -> None:
    assert want == run_wakes(NodePorts(), pod(host_ports=[80]), old=gone)


def test_new_nodes_wake_and_changed_ones_do_not() -> None:
    assert run_wakes(NodePorts(), pod(host_ports=[80]), new=node("a"))
    assert not run_wakes(NodePorts(), pod(host_ports=[80]), old=node("a", cpu=1), new=node("a"))
