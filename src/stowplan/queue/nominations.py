"""Nominations: which pods are expected on which node, because room is being made or somebody asked for it.

Upstream: pkg/scheduler/backend/queue/nominator.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import final

from stowplan.columns.pods import PodInfo


@final
class Nominations:
    """Node name to nominated pods, and back."""

    __slots__ = ("_by_node", "_node_of")

    def __init__(self) -> None:
        self._by_node: dict[str, list[PodInfo]] = {}
        self._node_of: dict[str, str] = {}

    @property
    def by_node(self) -> Mapping[str, Sequence[PodInfo]]:
        """All nominations, for the filters."""
        return self._by_node

    def add(self, pod: PodInfo, node_name: str) -> None:
        """Nominate a pod; an earlier nomination of it is void."""
        self.remove(pod.uid)
        self._node_of[pod.uid] = node_name
        self._by_node.setdefault(node_name, []).append(pod)

    def remove(self, uid: str) -> None:
        """Forget a pod's nomination, if it has one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = [pod for pod in self._by_node[node_name] if pod.uid != uid]
        if pods:
            self._by_node[node_name] = pods
        else:
            del self._by_node[node_name]

    def node_of(self, uid: str) -> str:
        """The node a pod is nominated to, empty when it is not."""
        return self._node_of.get(uid, "")
