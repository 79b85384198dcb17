"""The memo: the standings of the pod classes that were scheduled lately. It never changes an answer."""

from collections import OrderedDict
from typing import Final, final

from stowplan.columns.pods import PodClass, PodInfo
from stowplan.columns.view import View
from stowplan.framework.profile import Profile
from stowplan.framework.standing import Standing

MOST_KEPT: Final = 64
"""Standings kept at once; one with 5000 nodes takes half a megabyte."""


@final
class Memo:
    """Standings by profile and pod class, the least lately used forgotten first."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, PodClass], Standing] = OrderedDict()

    def standing(self, profile: Profile, pod: PodInfo, view: View) -> Standing | None:
        """How the nodes stand with a pod's class, caught up with the View; None for a pod unlike its class."""
        if pod.pod.spec.node_name:
            return None  # a node name is the pod's own, not its class's
        key = (profile.name, pod.cls)
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = Standing(view)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        else:
            self._kept.move_to_end(key)
            kept.catch_up(view)
        return kept
