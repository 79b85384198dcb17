"""Which nodes a DaemonSet lacks pods on, and which of its pods go: pure, from nodes and pods.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go (v1.36.4).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from stowplan.api.affinity import Taint, Toleration
from stowplan.api.node_selectors import RequiredNodes
from stowplan.api.tolerations import NO_EXECUTE, first_untolerated
from stowplan.sim.cluster.records import SimPod

Json = dict[str, Any]

_PREFIX = "node.kubernetes.io"


def daemon_tolerations(*, host_network: bool) -> list[Json]:
    """What every pod of a DaemonSet tolerates: nodes in trouble are where it is needed."""
    effects = [
        ("not-ready", NO_EXECUTE),
        ("unreachable", NO_EXECUTE),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    ]
    if host_network:
        effects.append(("network-unavailable", "NoSchedule"))
    return [{"key": f"{_PREFIX}/{key}", "operator": "Exists", "effect": effect} for key, effect in effects]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A node, as far as a DaemonSet looks at it."""

    name: str
    labels: Mapping[str, str]
    taints: Sequence[Taint]


@final
@dataclass(frozen=True, slots=True)
class Demand:
    """Where pods of a template may run."""

    nodes: RequiredNodes
    tolerations: Sequence[Toleration]
    node_name: str = ""

    def fits(self, site: Site) -> bool:
        """Whether the node's name and labels are right."""
        return self.node_name in ("", site.name) and self.nodes.matches(site.labels, site.name)

    def wants(self, site: Site) -> bool:
        """Whether there should be a pod on this node."""
        return self.fits(site) and first_untolerated(site.taints, self.tolerations) is None

    def bears(self, site: Site) -> bool:
        """Whether a pod that is on this node may stay."""
        return self.fits(site) and first_untolerated(site.taints, self.tolerations, (NO_EXECUTE,)) is None


@final
@dataclass(frozen=True, slots=True)
class Changes:
    """Nodes to make pods for, and pods to delete."""

    create: list[str] = field(default_factory=list)
    delete: list[SimPod] = field(default_factory=list)


def manage(sites: Sequence[Site], pods: Mapping[str, Sequence[SimPod]], demand: Demand) -> Changes:
    """Pods where there should be some, none where there should not, one of each where there are more."""
    changes = Changes()
    known = {site.name for site in sites}
    for site in sites:
        here = [pod for pod in pods.get(site.name, ()) if not pod.deleting]
        failed = [pod for pod in here if pod.finished]
        alive = [pod for pod in here if not pod.finished]
        if demand.wants(site):
            changes.delete.extend(failed)
            if not pods.get(site.name):
                changes.create.append(site.name)
            changes.delete.extend(_surplus(alive))
        elif not demand.bears(site):
            changes.delete.extend(here)
        else:
            changes.delete.extend([*failed, *_surplus(alive)])
    for name in pods.keys() - known:
        changes.delete.extend(pod for pod in pods[name] if not pod.deleting)
    return changes


def _surplus(alive: Sequence[SimPod]) -> list[SimPod]:
    """All but the oldest, one per revision: two may stand beside each other during a surge."""
    oldest_first = sorted(alive, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
    revisions: set[str] = set()
    surplus = []
    for pod in oldest_first:
        revision = pod.metadata.labels.get("controller-revision-hash", "")
        if revision in revisions:
            surplus.append(pod)
        revisions.add(revision)
    return surplus


def roll(
    pods: Mapping[str, Sequence[SimPod]],
    mark: str,
    available: Callable[[SimPod], bool],
    *,
    max_unavailable: int,
    max_surge: int,
) -> Changes:
    """The next step of a rolling update over nodes that all should have a pod."""
    changes = Changes()
    unavailable = surging = 0
    replaceable: list[tuple[str, SimPod]] = []
    for name in sorted(pods):
        alive = [pod for pod in pods[name] if pod.active]
        new = next((pod for pod in alive if _is_new(pod, mark)), None)
        old = next((pod for pod in alive if not _is_new(pod, mark)), None)
        if old is None:
            unavailable += new is None or not available(new)
        elif max_surge:
            if new is None:
                replaceable.append((name, old))
            elif available(new):
                changes.delete.append(old)
            else:
                surging += 1
        elif not available(old):
            changes.delete.append(old)
            unavailable += 1
        else:
            replaceable.append((name, old))
    if max_surge:
        urgent = [name for name, old in replaceable if not available(old)]
        others = [name for name, old in replaceable if available(old)]
        changes.create.extend([*urgent, *others[: max(max_surge - surging, 0)]])
    else:
        changes.delete.extend(old for _, old in replaceable[: max(max_unavailable - unavailable, 0)])
    return changes


def _is_new(pod: SimPod, mark: str) -> bool:
    return pod.metadata.labels.get("controller-revision-hash") == mark
