"""What must hold of a scheduler at any moment, and what must hold when it rests."""

from collections import Counter

from stowplan.api.pod import Pod
from stowplan.client.transport import ApiClient
from stowplan.daemon.scheduler import Scheduler


def check_places(scheduler: Scheduler) -> None:
    """Every pod of ours that waits is in exactly one place, and nothing else is in any."""
    live = scheduler.live
    if live._held:
        return  # the watch is ahead of the queue until the attempt in the other thread ends
    pods = {pod.metadata.uid: pod for pod in scheduler.following.pods.store}
    places = Counter(queued.uid for waiting in live.queue.waiting().values() for queued in waiting)
    for uid, pod in pods.items():
        if not _waits(pod) or not live.handles(pod):
            continue
        under_way = uid in live.queue.in_flight or live.cluster.is_assumed(uid)
        assert places[uid] + under_way >= 1, f"pod {pod.key} is forgotten"
        assert places[uid] + under_way == 1, f"pod {pod.key} is in {places[uid]} places, under way: {under_way}"
    for uid in places:
        assert uid in pods, f"a pod that is gone waits: {live.queue.get(uid)}"
        assert not pods[uid].spec.node_name, f"pod {pods[uid].key} is bound and waits"


async def check_at_rest(scheduler: Scheduler, client: ApiClient) -> None:
    """Nothing is assumed, held or in flight, and each node's columns hold the pods that the API has bound to it."""
    check_places(scheduler)
    live = scheduler.live
    assert not list(live.cluster.assumed())
    assert not len(live.queue.in_flight)
    assert not live.queue.in_flight.events
    assert not len(scheduler.permits)
    want: dict[str, set[str]] = {
        node["metadata"]["name"]: set() for node in (await client.get_json("/api/v1/nodes"))["items"]
    }
    cpu: Counter[str] = Counter()
    for pod in (await client.get_json("/api/v1/pods"))["items"]:
        node = pod["spec"].get("nodeName")
        if node in want and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            want[node].add(pod["metadata"]["uid"])
            cpu[node] += sum(_milli(one) for one in pod["spec"]["containers"])
    table = live.cluster.view().nodes
    got = {name: {pod.uid for pod in table.pods_on[row]} for name, row in table.row_of.items()}
    assert want == got
    for name, row in table.row_of.items():
        assert len(want[name]) == table.pod_count.data[row]
        assert cpu[name] == table.requested("cpu").data[row], f"capacity of {name} leaked"
        assert cpu[name] <= table.allocatable("cpu").data[row], f"{name} is overcommitted"


def _waits(pod: Pod) -> bool:
    return not pod.spec.node_name and pod.metadata.deletion_timestamp is None


def _milli(container: dict[str, dict[str, dict[str, str]]]) -> int:
    text = container.get("resources", {}).get("requests", {}).get("cpu", "0")
    return int(text[:-1]) if text.endswith("m") else int(text) * 1000
