"""Which events may bring back a pod that found no room.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go (v1.36.4).
"""

from collections.abc import Mapping
from typing import final

from stowplan.api.node import Node
from stowplan.api.requests import node_amounts
from stowplan.api.resource import DeviceClass
from stowplan.api.resource_names import DEVICE_CLASS_PREFIX, PODS
from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.wake import ObjectEvent
from stowplan.plugins.node_resources_fit.devices import devices_serve


@final
class Hints:
    """The hints; `devices` says whether devices may serve extended resources."""

    __slots__ = ("_devices",)

    def __init__(self, *, devices: bool) -> None:
        self._devices = devices

    def pod_left(self, pod: PodInfo, event: ObjectEvent, _: View) -> bool:
        """A pod that had, or was to have, a node went; or one gave back some of what the pod asks for."""
        old: PodInfo = event.old
        new: PodInfo | None = event.new
        if new is None:
            return bool(old.pod.spec.node_name or old.pod.status.nominated_node_name)
        if new.uid == pod.uid:
            return True
        if not new.pod.spec.node_name:
            return False
        before, after = old.cls.requests, new.cls.requests
        return any(
            max(before.get(name, 0), 0) > max(after.get(name, 0), 0)
            for name, amount in pod.cls.requests.items()
            if amount
        )

    def node_grew(self, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        """A node came that could hold the pod if it were empty, or one came to offer more of what the pod needs."""
        old: Node | None = event.old
        new: Node = event.new
        wanted = {name: amount for name, amount in pod.cls.wanted.items() if amount}
        offered = node_amounts(new.status.allocatable)
        if offered.get(PODS, 0) < 1:
            return False
        served = {name for name in wanted if self._by_devices(view, name, offered)}
        if any(amount > offered.get(name, 0) for name, amount in wanted.items() if name not in served):
            return False
        if old is None:
            return True
        before = node_amounts(old.status.allocatable)
        if offered[PODS] > before.get(PODS, 0) or served:
            return True
        return any(offered.get(name, 0) > before.get(name, 0) for name in wanted)

    def class_serves(self, pod: PodInfo, event: ObjectEvent, _: View) -> bool:
        """A device class came, or was given another resource name, and the pod asks for what it serves."""
        old: DeviceClass | None = event.old
        new: DeviceClass = event.new
        asked = pod.cls.wanted
        if old is None:
            if DEVICE_CLASS_PREFIX + new.name in asked:
                return True
        elif (old.spec.extended_resource_name or "") == (new.spec.extended_resource_name or ""):
            return False
        return new.spec.extended_resource_name in asked

    def _by_devices(self, view: View, name: str, offered: Mapping[str, int]) -> bool:
        return self._devices and offered.get(name, 0) <= 0 and devices_serve(view, name)
