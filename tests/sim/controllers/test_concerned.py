"""Whom a change of a pod concerns, as a table."""

import pytest

from stowplan.sim.cluster.records import SimPod
from stowplan.sim.controllers.concerned import owners_of
from tests.sim.objects import sim_pod

ORPHAN = sim_pod()
OWNED = sim_pod(owner=("Job", "u"))
OTHERS = sim_pod(owner=("ReplicaSet", "u"))


@pytest.mark.parametrize(
    ("old", "new", "want"),
    [
        pytest.param(None, OWNED, {"default/owner"}, id="one that came"),
        pytest.param(OWNED, None, {"default/owner"}, id="one that went"),
        pytest.param(OWNED, OWNED, {"default/owner"}, id="one that changed"),
        pytest.param(OWNED, ORPHAN, {"default/owner"}, id="one that was let go"),
        pytest.param(ORPHAN, OWNED, {"default/owner"}, id="one that was taken on"),
        pytest.param(OTHERS, OWNED, {"default/owner"}, id="one that changed hands"),
        pytest.param(OTHERS, OTHERS, set(), id="one of another kind"),
        pytest.param(None, ORPHAN, set(), id="nobody's"),
    ],
)
def test_the_owner_now_and_before(old: SimPod | None, new: SimPod | None, want: set[str]) -> None:
    assert want == owners_of("Job", old, new)
