"""Errors of the plugin, and the events it hears of."""

import pytest

from stowplan.framework.plugin import PluginContext, PluginError
from stowplan.framework.wake import Change, Kind, ObjectEvent
from stowplan.plugins.pod_topology_spread.plugin import PodTopologySpread
from stowplan.testing.builders import node, pod, select, spread
from stowplan.testing.running import run_filter, run_score

BAD = select(("app", "Near", []))


def plugin() -> PodTopologySpread:
    return PodTopologySpread.create(None, PluginContext())


def test_a_malformed_hard_constraint_fails_the_attempt() -> None:
    with pytest.raises(PluginError) as caught:
        run_filter(plugin(), [node()], pod(spread=[spread(BAD)]))

    assert (
        "get constraints from pod: obtaining pod's hard topology spread constraints: "
        '"Near" is not a valid label selector operator' == str(caught.value)
    )


def test_a_malformed_soft_constraint_does_not_disturb_the_filter() -> None:
    assert run_filter(plugin(), [node()], pod(spread=[spread(BAD, soft=True)])).skipped


def test_a_malformed_soft_constraint_fails_scoring() -> None:
    with pytest.raises(PluginError) as caught:
        run_score(plugin(), [node()], pod(spread=[spread(BAD, soft=True)]))

    assert (
        "calculating preScoreState: obtaining pod's soft topology spread constraints: "
        '"Near" is not a valid label selector operator' == str(caught.value)
    )


@pytest.mark.parametrize(
    ("kind", "change", "want"),
    [
        pytest.param(Kind.ASSIGNED_POD, Change.ADDED, True, id="a pod was placed"),
        pytest.param(Kind.ASSIGNED_POD, Change.POD_LABELS, True, id="a placed pod's labels changed"),
        pytest.param(Kind.ASSIGNED_POD, Change.DELETED, True, id="a placed pod went"),
        pytest.param(Kind.UNSCHEDULED_POD, Change.POD_TOLERATIONS, True, id="the pod tolerates more"),
        pytest.param(Kind.ASSIGNED_POD, Change.POD_SCALED_DOWN, False, id="a pod that shrinks frees no domain"),
        pytest.param(Kind.NODE, Change.ADDED, True, id="a node came"),
        pytest.param(Kind.NODE, Change.DELETED, True, id="a node went"),
        pytest.param(Kind.NODE, Change.NODE_LABELS, True, id="a node's labels changed"),
        pytest.param(Kind.NODE, Change.NODE_TAINTS, True, id="a node's taints changed"),
        pytest.param(Kind.NODE, Change.NODE_ALLOCATABLE, False, id="a node grew"),
    ],
)
def test_hears(kind: Kind, change: Change, want: bool) -> None:
    assert want == any(wake.hears(ObjectEvent(kind, change)) for wake in plugin().wakes)
