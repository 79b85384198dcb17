"""A failed attempt: the pod goes back to the queue, and the cluster is told why.

Upstream: handleSchedulingFailure in pkg/scheduler/schedule_one.go (v1.36.4).
"""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, final

from stowplan.api.meta import Condition
from stowplan.api.pod import Pod
from stowplan.client.errors import ClientError, NotFound
from stowplan.client.status_patch import pod_status_patch, with_condition
from stowplan.daemon.live import DEFAULT_SCHEDULER_NAME, Live, reference
from stowplan.queue.queued_pod import QueuedPod

_LOG = logging.getLogger(__name__)

UNSCHEDULABLE: Final = "Unschedulable"
SCHEDULER_ERROR: Final = "SchedulerError"
POD_SCHEDULED: Final = "PodScheduled"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt failed."""

    message: str
    rejected_by: Collection[str] = ()
    error: bool = False
    """It was no rejection: something went wrong, and the pod is tried again after a pause."""
    nominated: str | None = ""
    """The node to nominate from now on, empty for none; None leaves the nomination as it is."""


def pod_failed(live: Live, queued: QueuedPod, failure: Failure) -> None:
    """Queue the pod again, and write the event and the condition."""
    latest = live.latest(queued.info.key)
    if latest is not None and latest.metadata.uid != queued.uid:
        live.queue.done(queued.uid)  # another pod of that name: what failed is no concern of its own
        return
    if latest is None or latest.spec.node_name:
        # parity: one that is gone, or was bound by somebody else, is not tried again, but its failure is told
        latest = queued.info.pod
        live.queue.done(queued.uid)
    else:
        info = live.cluster.compiler.compile(latest)
        live.queue.park(queued, info, () if failure.error else failure.rejected_by, live.clock.now())
        live.work.set()
        nominated = latest.status.nominated_node_name if failure.nominated is None else failure.nominated
        live.queue.nominate(info, nominated)
    live.recorder.tell(
        reference(latest),
        controller=latest.spec.scheduler_name or DEFAULT_SCHEDULER_NAME,
        type_="Warning",
        reason="FailedScheduling",
        action="Scheduling",
        note=failure.message,
    )
    live.in_lane(queued.uid, _write_condition(live, latest, failure))


async def _write_condition(live: Live, pod: Pod, failure: Failure) -> None:
    condition = Condition(
        type=POD_SCHEDULED,
        status="False",
        observed_generation=pod.metadata.generation,
        reason=SCHEDULER_ERROR if failure.error else UNSCHEDULABLE,
        message=failure.message,
    )
    conditions = with_condition(pod.status.conditions, condition, now=live.clock.now())
    await patch_status(
        live,
        pod,
        pod_status_patch(
            pod.status.conditions,
            conditions,
            old_nominated=pod.status.nominated_node_name,
            new_nominated=failure.nominated,
        ),
    )


async def patch_status(live: Live, pod: Pod, patch: dict[str, object] | None) -> bool:
    """Write a change of a pod's status; a failure is logged, the next attempt writes again. False when it failed."""
    if patch is None:
        return True
    try:
        await live.writer.patch_pod_status(namespace=pod.namespace, name=pod.name, patch=patch)
    except NotFound:
        return True
    except ClientError as error:
        _LOG.warning("The status of pod %s could not be written: %s", pod.key, error)
        return False
    return True
