"""SchedulingGates: keep a pod out of the queue while it has scheduling gates.

Upstream: pkg/scheduler/framework/plugins/schedulinggates (v1.36.4).
"""

from typing import final

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.plugin import Depends, PreEnqueuePlugin
from stowplan.framework.verdict import Rejection, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake


def is_the_pod(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """The pod itself lost its gates."""
    changed: PodInfo = event.new
    return changed.uid == pod.uid


@final
class SchedulingGates(PreEnqueuePlugin):
    """Holds back pods that have gates."""

    name = "SchedulingGates"
    depends = Depends.NODE
    wakes = (Wake(Kind.POD, Change.POD_GATES_GONE, is_the_pod),)

    def pre_enqueue(self, view: View, pod: PodInfo) -> Rejection | None:
        """Name the gates."""
        gates = pod.cls.spec.scheduling_gates
        if not gates:
            return None
        return unresolvable(f"waiting for scheduling gates: [{' '.join(gate.name for gate in gates)}]")
