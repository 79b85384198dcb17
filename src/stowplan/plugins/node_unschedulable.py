"""NodeUnschedulable: keep pods off cordoned nodes unless they tolerate the cordon taint.

Upstream: pkg/scheduler/framework/plugins/nodeunschedulable (v1.36.4).
"""

from typing import Final, final

from stowplan.api.affinity import Taint
from stowplan.api.node import Node
from stowplan.api.tolerations import tolerated
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import Depends, FilterPlugin
from stowplan.framework.verdict import Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake

CORDON_TAINT: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")

CORDONED: Final = unresolvable("node(s) were unschedulable")


def became_open(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A node that can be scheduled to came, or was opened."""
    old: Node | None = event.old
    new: Node = event.new
    if old is None:
        return not new.spec.unschedulable
    return old.spec.unschedulable and not new.spec.unschedulable


def now_tolerates(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """The pod itself was given the toleration."""
    changed: PodInfo = event.new
    return changed.uid == pod.uid and tolerated(changed.cls.spec.tolerations, CORDON_TAINT)


@final
class NodeUnschedulable(FilterPlugin[None]):
    """Rejects cordoned nodes."""

    name = "NodeUnschedulable"
    depends = Depends.NODE
    wakes = (
        Wake(Kind.NODE, Change.ADDED | Change.NODE_TAINTS, became_open),
        Wake(Kind.POD, Change.POD_TOLERATIONS, now_tolerates),
    )

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        """Cordoned nodes fail."""
        cordoned_n = rows.take(rows.view.nodes.cordoned)
        if not cordoned_n.any() or tolerated(pod.cls.spec.tolerations, CORDON_TAINT):
            return Verdict.pass_all()
        return Verdict.reject_where(cordoned_n, CORDONED)
