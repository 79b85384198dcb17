"""Explaining a pod of a snapshot: decide about it as the scheduler would, and tell the trace."""

from typing import final

import msgspec

from stowplan.api.errors import QuantityError
from stowplan.api.pod import Pod
from stowplan.columns.pods import PodInfo
from stowplan.composition import set_up
from stowplan.cycle.decision import Trace
from stowplan.cycle.explanation import Exhaustive, Explanation, explain
from stowplan.framework.plugin import PluginError
from stowplan.framework.runner import run_every_filter
from stowplan.sim.replay import ReplayError, Stage
from stowplan.sim.snapshot import Snapshot, SnapshotError


@final
class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about a pod."""

    pod_key: str
    node: str = ""
    """Tell of this node, whatever became of it."""
    exhaustive: bool = False
    """Judge every node by every filter, not only up to the first rejection."""
    best: int = 10
    """How many of the best nodes' scores to tell."""


def explain_in(
    snapshot: Snapshot, question: Question, *, config: bytes | None = None, config_name: str = "configuration"
) -> Explanation:
    """Explain a pod of a snapshot. Raises ConfigError, and SnapshotError for a pod or node that is not there."""
    setup = set_up(snapshot.config if config is None else config, config_name)
    try:
        stage = Stage(setup)
        for obj in snapshot.objects:
            if obj.key != question.pod_key or not isinstance(obj, Pod):
                stage.put(obj)
        for pod in snapshot.pending:
            if pod.key != question.pod_key:
                stage.schedule(pod)
    except ReplayError as error:
        raise SnapshotError(str(error)) from error
    pod = _find(snapshot, question.pod_key)
    if question.node and stage.cluster.view().row_of(question.node) is None:
        raise SnapshotError(f"there is no node {question.node}")
    # a pod that has its node is explained as if it were still to be placed
    waiting = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
    try:
        info = stage.cluster.compiler.compile(waiting)
        trace = stage.trace(info)
    except (QuantityError, PluginError, ReplayError) as error:
        raise SnapshotError(f"Pod {pod.key}: {error}") from error
    return explain(
        trace,
        exhaustive=_judge_exhaustively(stage, trace, info) if question.exhaustive else None,
        node=question.node,
        best=question.best,
    )


def _find(snapshot: Snapshot, key: str) -> Pod:
    pods = [obj for obj in (*snapshot.pending, *snapshot.objects) if isinstance(obj, Pod)]
    for pod in pods:
        if pod.key == key:
            return pod
    namespace, _, name = key.partition("/")
    elsewhere = sorted(pod.namespace for pod in pods if pod.name == name)
    hint = f"; namespace {', '.join(elsewhere)} has one of that name" if elsewhere else ""
    raise SnapshotError(f"there is no pod {name} in namespace {namespace}{hint}")


def _judge_exhaustively(stage: Stage, trace: Trace, info: PodInfo) -> Exhaustive | None:
    if trace.prepared is None:
        return None
    rows = stage.cluster.view().rows
    return Exhaustive(rows, run_every_filter(stage.profile_of(info), trace.prepared, info, rows))
