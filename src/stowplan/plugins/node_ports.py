"""NodePorts: a host port is used by one pod of a node only.

Upstream: pkg/scheduler/framework/plugins/nodeports (v1.36.4).
"""

from typing import Final, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.ports import HostPort, ports_clash
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import SKIP, Depends, FilterPlugin, PreFilterPlugin, Skip
from stowplan.framework.verdict import Verdict, rejection
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake
from stowplan.goarith import BoolN

PORT_TAKEN: Final = rejection("node(s) didn't have free ports for the requested pod ports")

Ports = tuple[HostPort, ...]


def frees_a_port(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A pod that had, or was to have, a node went and its ports clash with the pod's."""
    gone: PodInfo = event.old
    if not gone.pod.spec.node_name and not gone.pod.status.nominated_node_name:
        return False
    return any(ports_clash(wanted, used) for wanted in pod.cls.host_ports for used in gone.cls.host_ports)


@final
class NodePorts(PreFilterPlugin[Ports], FilterPlugin[Ports]):
    """Rejects nodes on which a host port of the pod is taken."""

    name = "NodePorts"
    depends = Depends.LOAD
    wakes = (
        Wake(Kind.POD, Change.DELETED, frees_a_port),
        Wake(Kind.NODE, Change.ADDED),
    )

    def prepare(self, view: View, pod: PodInfo) -> Ports | Skip:
        """The pod's host ports."""
        return pod.cls.host_ports or SKIP

    def filter(self, pod: PodInfo, rows: Rows, plan: Ports) -> Verdict:
        """Nodes where one of them is taken fail."""
        taken_n: BoolN | None = None
        for port in plan:
            clash_n = rows.port_clash(port)
            if clash_n is not None:
                taken_n = clash_n if taken_n is None else taken_n | clash_n
        return Verdict.pass_all() if taken_n is None else Verdict.reject_where(taken_n, PORT_TAKEN)
