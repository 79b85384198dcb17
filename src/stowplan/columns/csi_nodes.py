"""CSINodes as columns of their nodes: drivers, how many volumes they attach, in-tree plugins they took over.

Upstream: getVolumeLimits in pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36.4).
"""

from typing import Any, Final, final

import numpy as np

from stowplan.api.csi_migration import MIGRATED_PLUGINS
from stowplan.api.storage import CSINode
from stowplan.columns.column import Column, S
from stowplan.columns.journal import Changed
from stowplan.columns.nodes import NodeTable
from stowplan.columns.view import View

NO_LIMIT: Final = -1


@final
class CSINodeColumns:
    """Per row what the CSINode of the node's name says; `catch_up` before reading."""

    def __init__(self) -> None:
        self._nodes: NodeTable | None = None
        self._columns: list[Column[Any]] = []
        self._generation = 0
        self._csi_generation = 0

    def catch_up(self, view: View) -> None:
        """Take over what changed since the last time."""
        nodes, objects = view.nodes, view.objects
        rows: set[int] | None = None
        if nodes is self._nodes:
            rows = self._stale_rows(view)
        if rows is None:
            self._start_over(nodes)
            rows = set(nodes.row_of.values())
        for row in rows:
            name = nodes.names[row]
            self._set(row, objects.get(CSINode, name) if name else None)
        self._generation = view.generation
        self._csi_generation = objects.generation(CSINode)

    @property
    def present(self) -> Column[np.bool_]:
        """Which nodes have a CSINode."""
        return self._present

    @property
    def limited(self) -> Column[np.bool_]:
        """Which nodes limit the volumes of some driver."""
        return self._limited

    def limit(self, driver: str) -> Column[np.int64] | None:
        """How many volumes of a driver each node takes, NO_LIMIT where nothing is said; None for an unknown driver."""
        return self._limits.get(driver)

    def installed(self, driver: str) -> Column[np.bool_] | None:
        """Which nodes have a driver; None for one that no node has."""
        return self._installed.get(driver)

    def migrated(self, plugin: str) -> Column[np.bool_] | None:
        """Which nodes say that a CSI driver took over an in-tree plugin; None when no node does."""
        return self._migrated.get(plugin)

    def _start_over(self, nodes: NodeTable) -> None:
        if self._nodes is not None:
            for column in self._columns:
                self._nodes.table.drop(column)
        self._nodes = nodes
        self._columns = []
        self._present = self._column(np.bool_, False)
        self._limited = self._column(np.bool_, False)
        self._limits: dict[str, Column[np.int64]] = {}
        self._installed: dict[str, Column[np.bool_]] = {}
        self._migrated: dict[str, Column[np.bool_]] = {}

    def _stale_rows(self, view: View) -> set[int] | None:
        if view.generation == self._generation:
            return set()
        changes = view.changes_since(self._generation)
        keys = view.objects.changed_since(CSINode, self._csi_generation)
        if changes is None or keys is None:
            return None
        rows = {row for row, changed in changes.items() if changed & Changed.MEMBERS}
        rows.update(row for key in keys if (row := view.nodes.row_of.get(key)) is not None)
        return rows

    def _set(self, row: int, csi_node: CSINode | None) -> None:
        self._present.data[row] = csi_node is not None
        self._limited.data[row] = False
        for limits in self._limits.values():
            limits.data[row] = NO_LIMIT
        for flags in (self._installed, self._migrated):
            for column in flags.values():
                column.data[row] = False
        if csi_node is None:
            return
        for driver in csi_node.spec.drivers:
            self._flag(self._installed, driver.name, row)
            if driver.allocatable is not None and driver.allocatable.count is not None:
                self._limited.data[row] = True
                self._limit_column(driver.name).data[row] = driver.allocatable.count
        for plugin in csi_node.metadata.annotations.get(MIGRATED_PLUGINS, "").split(","):
            if plugin:
                self._flag(self._migrated, plugin, row)

    def _flag(self, flags: dict[str, Column[np.bool_]], name: str, row: int) -> None:
        if name not in flags:
            flags[name] = self._column(np.bool_, False)
        flags[name].data[row] = True

    def _limit_column(self, driver: str) -> Column[np.int64]:
        if driver not in self._limits:
            self._limits[driver] = self._column(np.int64, NO_LIMIT)
        return self._limits[driver]

    def _column(self, dtype: type[S], fill: float) -> Column[S]:
        assert self._nodes is not None
        column = self._nodes.table.column(dtype, fill)
        self._columns.append(column)
        return column
