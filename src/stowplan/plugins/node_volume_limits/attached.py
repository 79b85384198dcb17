"""How many volumes of each driver are on each node, counted again only where something changed.

Upstream: Filter and getNodeVolumeAttachmentInfo in
pkg/scheduler/framework/plugins/nodevolumelimits/csi.go (v1.36.4).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from stowplan.api.csi_migration import CSIVolume
from stowplan.api.meta import KubeObject
from stowplan.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass, VolumeAttachment
from stowplan.columns.column import Column
from stowplan.columns.journal import Changed
from stowplan.columns.nodes import NodeTable
from stowplan.columns.objects import ObjectStore
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.plugins.node_volume_limits.volumes import VolumeError, VolumeReader, Volumes, countable, unique_name

READ: Final = (PersistentVolumeClaim, PersistentVolume, StorageClass)

Thing = tuple[type[KubeObject], str]


@final
@dataclass(frozen=True, slots=True)
class Load:
    """What is on one node."""

    volumes: Volumes
    """Of its pods."""
    counts: Counter[str]
    """Volumes per driver, those attached for nobody's pod among them."""
    error: str | None = None
    """Why the volumes of its pods cannot be counted."""


NOTHING: Final = Load({}, Counter())


@final
class AttachedVolumes:
    """The loads of all nodes, one book for all profiles; `catch_up` before reading."""

    def __init__(self) -> None:
        self._nodes: NodeTable | None = None
        self._counts: dict[str, Column[np.int64]] = {}
        self._generation = 0
        self._generations: dict[type[KubeObject], int] = {}

    def catch_up(self, view: View) -> None:
        """Count the nodes again where pods came or went, or whose volumes changed."""
        if view.nodes is self._nodes and view.generation == self._generation:
            return
        rows = self._stale_rows(view) if view.nodes is self._nodes else None
        if rows is None:
            self._start_over(view)
            rows = set(view.nodes.row_of.values())
        for row in rows:
            self._set(row, self._count_row(view, row))
        self._generation = view.generation
        self._generations = {kind: view.objects.generation(kind) for kind in (*READ, VolumeAttachment)}

    def count(self, driver: str) -> Column[np.int64] | None:
        """Volumes of a driver on each node; None when there are none."""
        return self._counts.get(driver)

    def rows_with(self, volume: str) -> Iterable[int]:
        """Where a volume is used by a pod already."""
        return self._holders.get(volume, ())

    def errors(self) -> dict[int, str]:
        """Rows whose pods have volumes that cannot be counted."""
        return self._errors

    def load(self, view: View, row: int, pods: Iterable[PodInfo], heard: set[Thing] | None = None) -> Load:
        """What would be on a node with these pods."""
        reader = VolumeReader(view.objects, None if heard is None else lambda kind, key: heard.add((kind, key)))
        volumes: Volumes = {}
        for pod in pods:
            if not pod.cls.spec.volumes or not (mounted := countable(pod.cls)):
                continue
            try:
                volumes.update(reader.placed_volumes(pod.pod, mounted))
            except VolumeError as error:
                return Load({}, Counter(), str(error))
        counts = Counter(volumes.values())
        attached = self._attached(view.objects, reader, view.nodes.names[row])
        counts.update(driver for name, driver in attached.items() if name not in volumes)
        return Load(volumes, counts) if counts else NOTHING

    def _start_over(self, view: View) -> None:
        if self._nodes is not None:
            for column in self._counts.values():
                self._nodes.table.drop(column)
        self._nodes = view.nodes
        self._counts = {}
        self._holders: dict[str, set[int]] = {}
        self._errors: dict[int, str] = {}
        self._loads: dict[int, Load] = {}
        self._reads: dict[int, set[Thing]] = {}
        self._readers: dict[Thing, set[int]] = {}
        self._node_of: dict[str, str] = {}
        self._attachments: dict[str, set[str]] = {}
        for key in view.objects.all(VolumeAttachment):
            self._put_attachment(view.objects, key)

    def _stale_rows(self, view: View) -> set[int] | None:
        changes = view.changes_since(self._generation)
        if changes is None:
            return None
        rows = {row for row, changed in changes.items() if changed & (Changed.LOAD | Changed.MEMBERS)}
        for kind in READ:
            keys = view.objects.changed_since(kind, self._generations[kind])
            if keys is None:
                return None
            for key in keys:
                rows |= self._readers.get((kind, key), set())
        keys = view.objects.changed_since(VolumeAttachment, self._generations[VolumeAttachment])
        if keys is None:
            return None
        touched = {name for key in keys for name in self._put_attachment(view.objects, key)}
        rows.update(row for name in touched if (row := view.nodes.row_of.get(name)) is not None)
        return rows

    def _put_attachment(self, objects: ObjectStore, key: str) -> list[str]:
        """File an attachment under its node; returns the nodes it left and came to."""
        before = self._node_of.pop(key, None)
        if before is not None:
            self._attachments[before].discard(key)
        attachment = objects.get(VolumeAttachment, key)
        if attachment is None:
            return [] if before is None else [before]
        after = self._node_of[key] = attachment.spec.node_name
        self._attachments.setdefault(after, set()).add(key)
        return [after] if before is None else [before, after]

    def _attached(self, objects: ObjectStore, reader: VolumeReader, node_name: str) -> Volumes:
        found: Volumes = {}
        for key in self._attachments.get(node_name, ()):
            attachment = objects.get(VolumeAttachment, key)
            assert attachment is not None, "attachments are filed as long as they exist"
            spec = attachment.spec
            if not spec.attacher or spec.source.persistent_volume_name is None:
                continue
            volume = reader.attached_volume(spec.source.persistent_volume_name)
            if volume is not None and volume.spec.csi is not None:
                name = unique_name(CSIVolume(spec.attacher, volume.spec.csi.volume_handle))
                found[name] = spec.attacher
        return found

    def _count_row(self, view: View, row: int) -> Load:
        heard: set[Thing] = set()
        load = self.load(view, row, view.nodes.pods_on[row], heard)
        for thing in self._reads.pop(row, set()) - heard:
            self._readers[thing].discard(row)
            if not self._readers[thing]:
                del self._readers[thing]
        for thing in heard:
            self._readers.setdefault(thing, set()).add(row)
        if heard:
            self._reads[row] = heard
        return load

    def _set(self, row: int, load: Load) -> None:
        before = self._loads.pop(row, NOTHING)
        if load is not NOTHING:
            self._loads[row] = load
        self._errors.pop(row, None)
        if load.error is not None:
            self._errors[row] = load.error
        for name in before.volumes.keys() - load.volumes.keys():
            self._holders[name].discard(row)
            if not self._holders[name]:
                del self._holders[name]
        for name in load.volumes.keys() - before.volumes.keys():
            self._holders.setdefault(name, set()).add(row)
        for driver in before.counts.keys() | load.counts.keys():
            self._column(driver).data[row] = load.counts[driver]

    def _column(self, driver: str) -> Column[np.int64]:
        assert self._nodes is not None
        if driver not in self._counts:
            self._counts[driver] = self._nodes.table.column(np.int64, 0)
        return self._counts[driver]
