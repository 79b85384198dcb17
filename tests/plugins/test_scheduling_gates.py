"""Pods with gates wait outside."""

import pytest
from msgspec.structs import replace

from stowplan.api.pod import Pod
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.plugins.scheduling_gates import SchedulingGates
from stowplan.testing.builders import cluster, pod
from stowplan.testing.running import run_wakes


@pytest.mark.parametrize(
    ("gates", "want"),
    [
        pytest.param([], None, id="a pod without gates may come in"),
        pytest.param(["a"], unresolvable("waiting for scheduling gates: [a]"), id="one gate is named"),
        pytest.param(
            ["b.io/x", "a"],
            unresolvable("waiting for scheduling gates: [b.io/x a]"),
            id="all gates, in the order written",
        ),
    ],
)
def test_pre_enqueue(gates: list[str], want: Rejection | None) -> None:
    built = cluster()

    assert want == SchedulingGates().pre_enqueue(built.view(), built.compiler.compile(pod(gates=gates)))


@pytest.mark.parametrize(
    ("changed", "want"),
    [
        pytest.param(pod("gated"), True, id="its own gates are gone"),
        pytest.param(pod("other"), False, id="those of another pod"),
        pytest.param(pod("gated", gates=["b"]), False, id="some of its gates are left"),
    ],
)
def test_wakes(changed: Pod, want: bool) -> None:
    before = replace(changed, spec=pod(gates=["a", "b"]).spec)

    assert want == run_wakes(SchedulingGates(), pod("gated", gates=["a", "b"]), old=before, new=changed)
