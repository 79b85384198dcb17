"""The kubelets of all simulated nodes, as one: pods that are bound to their nodes start, run, end and go."""

from itertools import count
from typing import Any, final

from stowplan.client.errors import Conflict, NotFound
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_ADDRESS, BY_CLAIM, BY_NODE, Inventory, claims_of
from stowplan.sim.cluster.names import FAILURE, KUBELET, NO_KUBELET, UNREACHABLE
from stowplan.sim.cluster.node_objects import host_address
from stowplan.sim.cluster.objects import annotations_of, key_of, name_of, status_of
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.pod_life import Act, Home, Step, entered_of, next_step, stage_of
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue

Json = dict[str, Any]

_FIRST_ADDRESS = (10 << 24) + (1 << 16) + 1
_ADDRESSES = (1 << 24) - (1 << 17)


@final
class Kubelets:
    """Looks after every pod whose node is simulated."""

    name = "kubelet"
    workers = 32

    def __init__(self, inventory: Inventory, pace: Pace, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._inventory = inventory
        self._pace = pace
        self._clock = clock
        self._stages: dict[str, tuple[str, float]] = {}
        self._addresses = count()
        self._homes: dict[str, str] = {}  # pod uid -> address
        inventory.pods.listen(self._pod_changed)
        inventory.nodes.listen(self._node_changed)
        inventory.claims.listen(self._claim_changed)

    async def reconcile(self, key: str) -> float | None:
        """Take the next step of a pod, or say when it is due."""
        pod = self._inventory.pods.get(key)
        if pod is None or not self._is_ours(pod):
            return None
        now = self._clock.now()
        entered = self._entered(pod, now)
        step = next_step(pod, self._home(pod), self._pace, entered=entered, now=now)
        if step is None:
            return None
        if step.due > now:
            return step.due - now
        if pod.status.phase == "Pending" and not pod.deleting and not self._claims_bound(pod):
            return None  # the claims wake it
        await self._take(pod, step)
        return None

    async def _take(self, pod: SimPod, step: Step) -> None:
        pods = self._inventory.pods
        try:
            if step.status is not None:
                change = {"metadata": {"uid": pod.uid}, "status": step.status}
                await pods.patch(pod.namespace, pod.name, change, subresource="status")
            if step.act is Act.REMOVE:
                await pods.delete(pod, grace=0)
        except (NotFound, Conflict):
            # The pod is gone, or its name belongs to another: the watch will tell.
            return

    def _is_ours(self, pod: SimPod) -> bool:
        node = self._inventory.nodes.get(pod.spec.node_name) if pod.spec.node_name else None
        return node is not None and answers(node)

    def _entered(self, pod: SimPod, now: float) -> float:
        """When the stage began: to the millisecond when we saw it begin, to the second when the pod says it."""
        stage = stage_of(pod)
        known = self._stages.get(pod.uid)
        if known is not None and known[0] == stage:
            return known[1]
        told = entered_of(pod)
        # Times are cut to seconds: what began within the last one began now.
        entered = told if 0 < told < now - 1 else now
        self._stages[pod.uid] = (stage, entered)
        return entered

    def _home(self, pod: SimPod) -> Home:
        host = self._host(pod.spec.node_name)
        if pod.spec.host_network:
            return Home(host_address=host, pod_address=host)
        address = pod.status.pod_ip or self._homes.get(pod.uid)
        if address is None:
            address = self._homes[pod.uid] = self._free_address()
        return Home(host_address=host, pod_address=address)

    def _host(self, node_name: str) -> str:
        node = self._inventory.nodes.get(node_name)
        for address in status_of(node).get("addresses") or () if node is not None else ():
            if address.get("type") == "InternalIP":
                found: str = address["address"]
                return found
        return host_address(node_name)

    def _free_address(self) -> str:
        while True:
            number = _FIRST_ADDRESS + next(self._addresses) % _ADDRESSES
            address = ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
            if not self._inventory.pods.indexed(BY_ADDRESS, address):
                return address

    def _claims_bound(self, pod: SimPod) -> bool:
        for key in claims_of(pod):
            claim = self._inventory.claims.get(key)
            if claim is None or status_of(claim).get("phase") != "Bound":
                return False
        return True

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        if new is not None:
            if new.spec.node_name:
                self.queue.add(new.key)
        elif old is not None:
            self._stages.pop(old.uid, None)
            self._homes.pop(old.uid, None)

    def _node_changed(self, old: Json | None, new: Json | None) -> None:
        if new is not None and (old is None or answers(old) != answers(new)):
            for pod in self._inventory.pods.indexed(BY_NODE, name_of(new)):
                self.queue.add(pod.key)

    def _claim_changed(self, _old: Json | None, new: Json | None) -> None:
        if new is not None:
            for pod in self._inventory.pods.indexed(BY_CLAIM, key_of(new)):
                self.queue.add(pod.key)


def answers(node: Json) -> bool:
    """Whether the simulated kubelet of a node is there and alive."""
    annotations = annotations_of(node)
    return annotations.get(KUBELET) != NO_KUBELET and annotations.get(FAILURE) != UNREACHABLE
