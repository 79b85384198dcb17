"""DaemonSets: one pod on every node that fits.

Upstream: pkg/controller/daemon/daemon_controller.go, update.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from typing import Any, final

import msgspec

from stowplan.api.affinity import Taint
from stowplan.api.codec import decode_as
from stowplan.api.node_selectors import required_nodes
from stowplan.api.pod import Pod
from stowplan.client.paths import DAEMON_SETS
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import Inventory
from stowplan.sim.cluster.objects import (
    generation_of,
    is_deleting,
    key_of,
    labels_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
)
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.availability import available_after, count_available
from stowplan.sim.controllers.batches import all_at_once, slow_start
from stowplan.sim.controllers.concerned import owners_of, takers_of
from stowplan.sim.controllers.daemons import Changes, Demand, Site, daemon_tolerations, manage, roll
from stowplan.sim.controllers.history import REVISION_LABEL, History, mark_of
from stowplan.sim.controllers.numbers import scaled
from stowplan.sim.controllers.ownership import claim_pods, pod_of_template

Json = dict[str, Any]

GATHER = 0.05


@final
class DaemonSets:
    """Looks at one set and all nodes at a time."""

    name = "daemonsets"
    workers = 2

    def __init__(self, inventory: Inventory, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._sets = inventory.daemon_sets
        self._pods = inventory.pods
        self._nodes = inventory.nodes
        self._history = History(inventory.revisions, DAEMON_SETS)
        self._clock = clock
        inventory.daemon_sets.listen(self._set_changed)
        inventory.pods.listen(self._pod_changed)
        inventory.nodes.listen(self._node_changed)

    async def reconcile(self, key: str) -> float | None:
        """Make and delete pods, roll to the newest template, count."""
        found = self._sets.get(key)
        if found is None or is_deleting(found):
            return None
        selector = selector_of(spec_of(found).get("selector"))
        if selector.is_nothing or selector.is_everything:
            return None
        newest = await self._history.current(found)
        mark = mark_of(newest)
        sites = [_site(node) for node in self._nodes]
        demand = demand_of(spec_of(found).get("template") or {})
        pods = by_node(await claim_pods(self._pods, found, DAEMON_SETS, selector))
        changes = manage(sites, pods, demand)
        if not changes.create and not changes.delete and not _on_delete(found):
            changes = self._roll(found, sites, pods, demand, mark)
        await self._carry_out(found, changes, mark)
        pods = by_node(await claim_pods(self._pods, found, DAEMON_SETS, selector))
        again = await self._report(found, sites, pods, demand, mark)
        live = {pod.metadata.labels.get(REVISION_LABEL, "") for here in pods.values() for pod in here}
        used = [name_of(one) for one in self._history.of(found) if mark_of(one) in live]
        await self._history.trim(found, [*used, name_of(newest)])
        return again

    def _roll(
        self, found: Json, sites: Sequence[Site], pods: Mapping[str, list[SimPod]], demand: Demand, mark: str
    ) -> Changes:
        rolling = (spec_of(found).get("updateStrategy") or {}).get("rollingUpdate") or {}
        wanted = [site.name for site in sites if demand.wants(site)]
        surge = scaled(rolling.get("maxSurge"), len(wanted), up=True)
        unavailable = scaled(rolling.get("maxUnavailable"), len(wanted), up=True, default=1)
        min_ready, now = spec_of(found).get("minReadySeconds") or 0, self._clock.now()
        return roll(
            {name: pods.get(name, []) for name in wanted},
            mark,
            lambda pod: available_after(pod, min_ready, now) == 0,
            max_unavailable=unavailable,
            max_surge=surge,
        )

    async def _carry_out(self, found: Json, changes: Changes, mark: str) -> None:
        async def create(node: str) -> None:
            await self._pods.create(namespace_of(found), daemon_pod(found, node, mark))

        error = await all_at_once(changes.delete, self._pods.delete) or await slow_start(changes.create, create)
        if error is not None:
            raise error

    async def _report(
        self,
        found: Json,
        sites: Sequence[Site],
        pods: Mapping[str, list[SimPod]],
        demand: Demand,
        mark: str,
    ) -> float | None:
        wanted = {site.name for site in sites if demand.wants(site)}
        # parity: the oldest pod of a node stands for it (daemon_controller.go updateDaemonSetStatus)
        oldest = {
            name: min(here, key=lambda pod: (pod.metadata.creation_timestamp or "", pod.name))
            for name, here in pods.items()
            if here
        }
        standing = [pod for name, pod in oldest.items() if name in wanted]
        min_ready = spec_of(found).get("minReadySeconds") or 0
        available, again = count_available(standing, min_ready, self._clock.now())
        status = {
            "observedGeneration": generation_of(found),
            "desiredNumberScheduled": len(wanted),
            "currentNumberScheduled": len(standing),
            "numberMisscheduled": sum(name not in wanted for name in oldest),
            "numberReady": sum(pod.ready for pod in standing),
            "updatedNumberScheduled": sum(pod.metadata.labels.get(REVISION_LABEL) == mark for pod in standing),
            "numberAvailable": available,
            "numberUnavailable": len(wanted) - available,
        }
        kept = ("currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady")
        status = {name: number for name, number in status.items() if number or name in kept}
        known = {
            name: value for name, value in status_of(found).items() if name not in ("conditions", "collisionCount")
        }
        if status != known:
            body = {**found, "status": {**status_of(found), **dict.fromkeys(known, None), **status}}
            body["status"] = {name: value for name, value in body["status"].items() if value is not None}
            await self._sets.update(namespace_of(found), name_of(found), body, subresource="status")
        return again

    def _set_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        for key in owners_of("DaemonSet", old, new):
            self.queue.add_after(key, GATHER)
        for key in takers_of(new, self._sets):
            self.queue.add(key)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if old is not None and new is not None:
            same_taints = spec_of(old).get("taints") == spec_of(new).get("taints")
            if same_taints and labels_of(old) == labels_of(new):
                return
        for found in self._sets:
            self.queue.add_after(key_of(found), GATHER)


def daemon_pod(found: Json, node: str, mark: str) -> Json:
    """The pod for one node: only there may it be scheduled."""
    pod = pod_of_template(spec_of(found).get("template") or {}, found, DAEMON_SETS)
    meta, spec = pod["metadata"], pod["spec"]
    meta["generateName"] = f"{name_of(found)}-"
    meta["labels"] = {**(meta.get("labels") or {}), REVISION_LABEL: mark}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = dict(spec.get("affinity") or {})
    affinity["nodeAffinity"] = {
        **(affinity.get("nodeAffinity") or {}),
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]},
    }
    spec["affinity"] = affinity
    spec["tolerations"] = with_daemon_tolerations(spec)
    return pod


def with_daemon_tolerations(spec: Json) -> list[Json]:
    """The tolerations of a template and those of all daemons."""
    known = spec.get("tolerations") or []
    ours = daemon_tolerations(host_network=bool(spec.get("hostNetwork")))
    return [*known, *(toleration for toleration in ours if toleration not in known)]


def demand_of(template: Json) -> Demand:
    """Where pods of a template may run."""
    spec = template.get("spec") or {}
    pod = decode_as(Pod, {"metadata": {}, "spec": {**spec, "tolerations": with_daemon_tolerations(spec)}})
    return Demand(required_nodes(pod), pod.spec.tolerations, pod.spec.node_name)


def by_node(pods: Sequence[SimPod]) -> dict[str, list[SimPod]]:
    """Pods by the node that they are on or meant for."""
    found: dict[str, list[SimPod]] = {}
    for pod in pods:
        found.setdefault(pod.spec.node_name or _target(pod), []).append(pod)
    return found


def _target(pod: SimPod) -> str:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for field in term.match_fields:
            if field.key == "metadata.name" and len(field.values) == 1:
                return field.values[0]
    return ""


def _site(node: Json) -> Site:
    taints = [msgspec.convert(taint, Taint) for taint in spec_of(node).get("taints") or ()]
    return Site(name=name_of(node), labels=labels_of(node), taints=taints)


def _on_delete(found: Json) -> bool:
    return (spec_of(found).get("updateStrategy") or {}).get("type") == "OnDelete"
