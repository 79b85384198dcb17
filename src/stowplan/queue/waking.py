"""Which parked pods an event wakes: those one of whose rejecting plugins asked for it, and whose hint agrees.

Upstream: buildQueueingHintMap in pkg/scheduler/scheduler.go, isPodWorthRequeuing in backend/queue (v1.36.4).
"""

from collections.abc import Callable, Collection
from typing import Final, final

from stowplan.columns.pods import PodInfo
from stowplan.columns.view import View
from stowplan.framework.extender import EXTENDER_PLUGIN
from stowplan.framework.plugin import (
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    ReservePlugin,
)
from stowplan.framework.profile import Profile
from stowplan.framework.wake import EVERY_EVENT, Change, Kind, ObjectEvent, Wake

REJECTING: Final = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)
"""Only plugins of these points can park a pod, so only they are asked."""

HintFailed = Callable[[str, PodInfo, ObjectEvent, Exception], None]
"""Hears of a hint that raised, with the plugin's name."""


def ignore_failure(_plugin: str, _pod: PodInfo, _event: ObjectEvent, _error: Exception) -> None:
    """For those who have nobody to tell."""


@final
class WakeTable:
    """The wakes of all plugins of a profile."""

    __slots__ = ("_by_plugin", "_heard", "_hint_failed")

    def __init__(self, profile: Profile, hint_failed: HintFailed = ignore_failure) -> None:
        self._by_plugin: dict[str, tuple[Wake, ...]] = {
            plugin.name: wakes_of(plugin) for plugin in profile.plugins.values() if isinstance(plugin, REJECTING)
        }
        self._by_plugin[EXTENDER_PLUGIN] = EVERY_EVENT
        self._hint_failed = hint_failed
        self._heard: dict[tuple[Kind, Change], bool] = {}

    def heard(self, event: ObjectEvent) -> bool:
        """Whether any plugin asked for such an event."""
        key = (event.kind, event.change)
        heard = self._heard.get(key)
        if heard is None:
            heard = any(wake.hears(event) for wakes in self._by_plugin.values() for wake in wakes)
            self._heard[key] = heard
        return heard

    def waking_plugins(self, pod: PodInfo, rejected_by: Collection[str], event: ObjectEvent, view: View) -> set[str]:
        """The rejecting plugins that take the event for a reason to try the pod again."""
        return {name for name in rejected_by if self._wakes(name, pod, event, view)}

    def wakes(self, pod: PodInfo, rejected_by: Collection[str], event: ObjectEvent, view: View) -> bool:
        """Whether the pod should be tried again; one that no plugin rejected always should."""
        return not rejected_by or any(self._wakes(name, pod, event, view) for name in rejected_by)

    def _wakes(self, name: str, pod: PodInfo, event: ObjectEvent, view: View) -> bool:
        for wake in self._by_plugin.get(name, ()):
            if not wake.hears(event):
                continue
            if wake.when is None:
                return True
            try:
                if wake.when(pod, event, view):
                    return True
            except Exception as error:  # noqa: BLE001 - a hint that fails, whoever wrote it, must not strand the pod
                self._hint_failed(name, pod, event, error)
                return True
        return False


def wakes_of(plugin: Plugin) -> tuple[Wake, ...]:
    """A plugin's wakes, and one that upstream adds for plugins that hear of new nodes."""
    wakes = tuple(plugin.wakes)
    of_nodes = Change(0)
    for wake in wakes:
        if wake.kind is Kind.NODE:
            of_nodes |= wake.change
    # parity: who hears of new nodes but not of their taints is woken by every change of taints (issue 109437 upstream)
    if Change.ADDED in of_nodes and Change.NODE_TAINTS not in of_nodes:
        return (*wakes, Wake(Kind.NODE, Change.NODE_TAINTS))
    return wakes
