"""What SIGUSR2 tells the log: whether the columns hold what the watches showed, then all nodes and the queue.

Upstream: pkg/scheduler/backend/cache/debugger (v1.36.4).
"""

import logging
from collections.abc import Iterable
from typing import Any, Final

from stowplan.api.pod import Pod
from stowplan.columns.nodes import NodeTable
from stowplan.daemon.live import Live
from stowplan.daemon.scheduler import Scheduler

_LOG = logging.getLogger(__name__)

_QUEUES: Final = {
    "active": "activeQ",
    "backoff": "backoffQ",
    "unschedulable": "unschedulablePods",
    "gated": "gated",
    "in-flight": "in flight",
}


def tell_state(scheduler: Scheduler) -> None:
    """Compare and dump; for whoever debugs, so nothing of it may end the process."""
    try:
        _compare(scheduler)
        _dump_nodes(scheduler.live)
        _dump_queue(scheduler.live)
    except Exception:  # noqa: BLE001 - a look inside must not harm
        _LOG.exception("The state could not be dumped")


def _compare(scheduler: Scheduler) -> None:
    live, following = scheduler.live, scheduler.following
    table = live.cluster.view().nodes
    _differ("Nodes", following.nodes.store.objects, _known(table))
    shown = [pod.metadata.uid for pod in following.pods.store if pod.spec.node_name or live.handles(pod)]
    placed = [pod.uid for row in table.row_of.values() for pod in table.pods_on[row]]
    waiting = [queued.uid for pods in live.queue.waiting().values() for queued in pods]
    in_flight = [uid for uid in shown if uid in live.queue.in_flight]
    _differ("Pods", shown, {*placed, *waiting, *in_flight})


def _differ(what: str, shown: Iterable[str], cached: Iterable[str]) -> None:
    missed, redundant = sorted({*shown} - {*cached}), sorted({*cached} - {*shown})
    if missed or redundant:
        _tell("Cache mismatch", **{f"missed{what}": missed, f"redundant{what}": redundant})


def _known(table: NodeTable) -> list[str]:
    return [name for name, row in table.row_of.items() if table.records[row] is not None]


def _dump_nodes(live: Live) -> None:
    table = live.cluster.view().nodes
    _tell("Dump of cached NodeInfo", nodes="\n\n".join(_node(live, table, name) for name in sorted(table.row_of)))


def _node(live: Live, table: NodeTable, name: str) -> str:
    row = table.row_of[name]
    requested = {resource: int(table.requested(resource).data[row]) for resource in table.resources}
    allocatable = {resource: int(table.allocatable(resource).data[row]) for resource in table.resources}
    pods = table.pods_on[row]
    lines = [
        f"Node name: {name}",
        f"Deleted: {str(table.records[row] is None).lower()}",
        f"Requested Resources: {requested}",
        f"Allocatable Resources: {allocatable}",
        f"Scheduled Pods(number: {len(pods)}):",
        *(_pod(pod.pod) for pod in pods),
    ]
    nominated = live.queue.nominations.by_node.get(name, ())
    if nominated:
        lines += [f"Nominated Pods(number: {len(nominated)}):", *(_pod(pod.pod) for pod in nominated)]
    return "\n".join(lines)


def _dump_queue(live: Live) -> None:
    counts = live.queue.counts()
    summary = "; ".join(f"{name}:{counts[place]}" for place, name in _QUEUES.items())
    pods = [_pod(queued.info.pod) for waiting in live.queue.waiting().values() for queued in waiting]
    _tell("Dump of scheduling queue", summary=summary, pods="\n".join(pods))


def _pod(pod: Pod) -> str:
    meta, status = pod.metadata, pod.status
    return (
        f"name: {meta.name}, namespace: {meta.namespace}, uid: {meta.uid}, phase: {status.phase}, "
        f"nominated node: {status.nominated_node_name}"
    )


def _tell(message: str, **fields: Any) -> None:
    _LOG.info(message, extra={"fields": fields})
