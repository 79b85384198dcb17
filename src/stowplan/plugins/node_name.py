"""NodeName: a pod that names its node goes nowhere else.

Upstream: pkg/scheduler/framework/plugins/nodename (v1.36.4).
"""

from typing import Final, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.plugin import Depends, FilterPlugin
from stowplan.framework.verdict import Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, Wake

OTHER_NODE: Final = unresolvable("node(s) didn't match the requested node name")


@final
class NodeName(FilterPlugin[None]):
    """Rejects every node but the one that the pod names."""

    name = "NodeName"
    depends = Depends.NODE
    wakes = (Wake(Kind.NODE, Change.ADDED),)

    def filter(self, pod: PodInfo, rows: Rows, plan: None) -> Verdict:
        """Other nodes fail."""
        wanted = pod.pod.spec.node_name  # the class is shared with pods on other nodes
        if not wanted:
            return Verdict.pass_all()
        row = rows.view.row_of(wanted)
        if row is None:
            return Verdict.reject_all(rows, OTHER_NODE)
        return Verdict.reject_where(rows.index != row, OTHER_NODE)
