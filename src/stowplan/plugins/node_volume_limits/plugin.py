"""NodeVolumeLimits: no node gets more volumes of a CSI driver than the driver can attach there.

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits (v1.36.4).
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, Self, final

import numpy as np

from stowplan.api.storage import CSIDriver
from stowplan.columns.csi_nodes import CSINodeColumns
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.columns.worlds import Worlds
from stowplan.framework.plugin import SKIP, FilterPlugin, PluginContext, PreFilterPlugin, Skip
from stowplan.framework.verdict import Rejection, Verdict, fatal, rejection
from stowplan.framework.wake import Change, Kind, Wake
from stowplan.goarith import BoolN, IntN
from stowplan.plugins.node_volume_limits.attached import AttachedVolumes, Load
from stowplan.plugins.node_volume_limits.hints import attachment_deleted, claim_came, limit_raised, pod_left
from stowplan.plugins.node_volume_limits.volumes import VolumeError, VolumeReader, Volumes, countable

TOO_MANY: Final = rejection("node(s) exceed max volume count")

Case = tuple[BoolN, Rejection]


@final
@dataclass(frozen=True, slots=True)
class NewVolumes:
    """What the pod would add to a node: its volumes, or why they cannot be counted."""

    volumes: Volumes
    wrong: Rejection | None = None


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """What the pod would add to nodes with a CSINode, and to those without."""

    with_csi_node: NewVolumes
    without: NewVolumes


@final
class NodeVolumeLimits(PreFilterPlugin[Limits], FilterPlugin[Limits]):
    """Rejects nodes to which some driver could not attach all volumes."""

    name = "NodeVolumeLimits"
    wakes = (
        Wake(Kind.CSI_NODE, Change.ADDED),
        Wake(Kind.CSI_NODE, Change.UPDATED, limit_raised),
        Wake(Kind.POD, Change.DELETED, pod_left),
        Wake(Kind.PERSISTENT_VOLUME_CLAIM, Change.ADDED, claim_came),
        Wake(Kind.VOLUME_ATTACHMENT, Change.DELETED, attachment_deleted),
    )

    def __init__(self, context: PluginContext | None = None) -> None:
        context = context or PluginContext()
        self._needs_driver = context.gates.on("VolumeLimitScaling")
        self._csi_nodes = context.books.of(CSINodeColumns)
        self._attached = context.books.of(AttachedVolumes)

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> Self:
        """The gates say whether nodes without the driver are left out."""
        return cls(context)

    def prepare(self, view: View, pod: PodInfo) -> Limits | Skip:
        """The pod's volumes that drivers attach."""
        if not countable(pod.cls):
            return SKIP
        return Limits(_new_volumes(view, pod, csi_node=True), _new_volumes(view, pod, csi_node=False))

    def filter(self, pod: PodInfo, rows: Rows, plan: Limits) -> Verdict:
        """Nodes whose limit for some driver would be exceeded fail."""
        self._csi_nodes.catch_up(rows.view)
        present_n = rows.take(self._csi_nodes.present)
        cases: list[Case] = []
        for new, here_n in ((plan.with_csi_node, present_n), (plan.without, ~present_n)):
            if new.wrong is not None:
                cases.append((here_n, new.wrong))
            elif self._needs_driver:
                cases += self._without_driver(rows, new.volumes, here_n)
        new = plan.with_csi_node
        if new.volumes:
            limited_n = rows.take(self._csi_nodes.limited)
            if limited_n.any():
                cases += self._beyond_limits(rows, new.volumes, limited_n)
        return Verdict.first_of(cases)

    def _without_driver(self, rows: Rows, volumes: Volumes, here_n: BoolN) -> list[Case]:
        cases: list[Case] = []
        for driver in dict.fromkeys(volumes.values()):
            known = rows.view.objects.get(CSIDriver, driver)
            if known is None or not known.spec.prevent_pod_scheduling_if_missing:
                continue
            column = self._csi_nodes.installed(driver)
            lacking_n = here_n if column is None else here_n & ~rows.take(column)
            cases.append((lacking_n, rejection(f"{driver} CSI driver is not installed on the node")))
        return cases

    def _beyond_limits(self, rows: Rows, volumes: Volumes, limited_n: BoolN) -> list[Case]:
        book = self._attached
        book.catch_up(rows.view)
        loads = _changed_loads(book, rows)
        cases = _uncountable(book, rows, loads, limited_n)
        exceeded_n: BoolN = np.zeros(len(rows), np.bool_)
        for driver, mounted in _by_driver(volumes).items():
            limit = self._csi_nodes.limit(driver)
            if limit is None:
                continue
            limit_n = rows.take(limit)
            count = book.count(driver)
            attached_n: IntN = np.zeros(len(rows), np.int64) if count is None else rows.take(count).copy()
            new_n: IntN = np.full(len(rows), len(mounted), np.int64)
            for name in mounted:
                there = np.fromiter(book.rows_with(name), np.int64)
                if len(there):
                    new_n[np.isin(rows.index, there)] -= 1
            for at, load in loads.items():
                attached_n[at] = load.counts[driver]
                new_n[at] = sum(name not in load.volumes for name in mounted)
            exceeded_n |= (limit_n >= 0) & (new_n > 0) & (attached_n + new_n > limit_n)
        cases.append((exceeded_n, TOO_MANY))
        return cases


def _new_volumes(view: View, pod: PodInfo, *, csi_node: bool) -> NewVolumes:
    reader = VolumeReader(view.objects)
    try:
        return NewVolumes(reader.new_volumes(pod.pod, countable(pod.cls), csi_node=csi_node))
    except VolumeError as error:
        return NewVolumes({}, Rejection((str(error),), unresolvable=error.missing, fatal=not error.missing))


def _by_driver(volumes: Volumes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, driver in volumes.items():
        found.setdefault(driver, []).append(name)
    return found


def _changed_loads(book: AttachedVolumes, rows: Rows) -> dict[int, Load]:
    """The loads of worlds in which pods with volumes came or went."""
    if not isinstance(rows, Worlds):
        return {}
    return {
        at: book.load(rows.view, int(rows.index[at]), rows.pods(at))
        for at in range(len(rows))
        if any(countable(other.cls) for other in (*rows.added(at), *rows.removed(at)))
    }


def _uncountable(book: AttachedVolumes, rows: Rows, loads: dict[int, Load], limited_n: BoolN) -> list[Case]:
    errors = book.errors()
    if not errors and not any(load.error for load in loads.values()):
        return []
    texts: dict[int, str] = {at: errors[row] for at, row in enumerate(rows.index.tolist()) if row in errors}
    for at, load in loads.items():
        texts.pop(at, None)
        if load.error is not None:
            texts[at] = load.error
    cases = []
    for text in Counter(texts.values()):
        here_n = np.zeros(len(rows), np.bool_)
        here_n[[at for at, told in texts.items() if told == text]] = True
        cases.append((here_n & limited_n, fatal(text)))
    return cases
