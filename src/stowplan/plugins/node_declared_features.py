"""NodeDeclaredFeatures: a pod that needs a feature of the kubelet goes only where the node declares it.

Upstream: pkg/scheduler/framework/plugins/nodedeclaredfeatures,
staging/src/k8s.io/component-helpers/nodedeclaredfeatures (v1.36.4).
"""

from typing import Any, Final, final

import numpy as np

from stowplan.api.node import Node
from stowplan.api.pod import PodSpec
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.plugin import SKIP, Depends, FilterPlugin, PluginContext, PreFilterPlugin, Skip
from stowplan.framework.verdict import Verdict, unresolvable
from stowplan.framework.wake import Change, Kind, ObjectEvent, Wake

UNDECLARED: Final = unresolvable("node(s) didn't match Pod's required features")

RESTART_ALL: Final = "RestartAllContainersOnContainerExits"
USER_NAMESPACES_ON_HOST_NETWORK: Final = "UserNamespacesHostNetworkSupport"

Features = frozenset[str]


@final
class NodeDeclaredFeatures(PreFilterPlugin[Features], FilterPlugin[Features]):
    """Rejects nodes that do not declare what the pod needs."""

    name = "NodeDeclaredFeatures"
    depends = Depends.NODE

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self.wakes = WAKES if enabled else ()

    @classmethod
    def create(cls, args: Any, context: PluginContext) -> "NodeDeclaredFeatures":
        """Without its gate it does nothing."""
        return cls(enabled=context.gates.on("NodeDeclaredFeatures"))

    def prepare(self, view: View, pod: PodInfo) -> Features | Skip:
        """The features that the pod needs."""
        return (self._enabled and needed(pod.cls.spec)) or SKIP

    def filter(self, pod: PodInfo, rows: Rows, plan: Features) -> Verdict:
        """Nodes that lack one of them fail."""
        nodes = rows.view.nodes
        lacking = nodes.feature_sets.answers(plan, lambda declared: not plan <= declared, np.bool_)
        return Verdict.reject_where(lacking[rows.take(nodes.features)], UNDECLARED)


def needed(spec: PodSpec) -> Features:
    """The features without which a pod cannot run as it is written."""
    found = set()
    for container in (*spec.containers, *spec.init_containers):
        if any(rule.action == "RestartAllContainers" for rule in container.restart_policy_rules):
            found.add(RESTART_ALL)
    if spec.host_network and spec.host_users is False:
        found.add(USER_NAMESPACES_ON_HOST_NETWORK)
    return frozenset(found)


def declares_otherwise(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """A node came, or declares other features than before."""
    old: Node | None = event.old
    new: Node = event.new
    return old is None or old.status.declared_features != new.status.declared_features


def needs_otherwise(pod: PodInfo, event: ObjectEvent, _: View) -> bool:
    """The pod itself needs other features than before."""
    old: PodInfo = event.old
    new: PodInfo = event.new
    return new.uid == pod.uid and needed(new.cls.spec) != needed(old.cls.spec)


WAKES: Final = (
    Wake(Kind.NODE, Change.ADDED | Change.NODE_FEATURES, declares_otherwise),
    Wake(Kind.POD, Change.UPDATED, needs_otherwise),
)
