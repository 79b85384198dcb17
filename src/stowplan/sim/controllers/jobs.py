"""Jobs: pods that run to their end, a number of times.

Each pod is held by a finalizer until it is counted, so that none is counted twice or lost. Not supported, and said so
by an event: podFailurePolicy, backoffLimitPerIndex, successPolicy. Upstream: pkg/controller/job (v1.36.4).
"""

from collections.abc import Container, Sequence
from typing import Any, final

from stowplan.api.meta import time_seconds, time_text
from stowplan.client.paths import JOBS
from stowplan.clock import Clock
from stowplan.sim.cluster.inventory import BY_OWNER, Inventory
from stowplan.sim.cluster.objects import (
    find_condition,
    is_deleting,
    key_of,
    name_of,
    namespace_of,
    selector_of,
    spec_of,
    status_of,
    uid_of,
)
from stowplan.sim.cluster.pace import Pace
from stowplan.sim.cluster.records import SimPod
from stowplan.sim.cluster.work import WorkQueue
from stowplan.sim.controllers.batches import all_at_once, slow_start
from stowplan.sim.controllers.concerned import owners_of
from stowplan.sim.controllers.indexes import read_indexes, write_indexes
from stowplan.sim.controllers.job_orphans import release
from stowplan.sim.controllers.job_plan import (
    INDEX,
    TRACKING,
    End,
    Tally,
    Wish,
    backoff,
    counts_as_failed,
    end_of,
    index_of,
    step_of,
    wish_of,
)
from stowplan.sim.controllers.ownership import claim_pods, pod_of_template
from stowplan.sim.controllers.told import Told

Json = dict[str, Any]

GATHER = 0.02
NOT_SUPPORTED = ("podFailurePolicy", "backoffLimitPerIndex", "successPolicy")


@final
class Jobs:
    """Looks at one Job at a time."""

    name = "jobs"
    workers = 8

    def __init__(self, inventory: Inventory, told: Told, pace: Pace, *, clock: Clock) -> None:
        self.queue = WorkQueue()
        self._jobs = inventory.jobs
        self._pods = inventory.pods
        self._told = told
        self._pace = pace
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}  # job uid -> failures in a row, time of the last
        inventory.jobs.listen(self._job_changed)
        inventory.pods.listen(self._pod_changed)

    async def reconcile(self, key: str) -> float | None:
        """Count what has ended, start what is missing, end what is done."""
        job = self._jobs.get(key)
        if job is None or spec_of(job).get("managedBy") not in (None, "kubernetes.io/job-controller"):
            return None
        pods = await claim_pods(self._pods, job, JOBS, selector_of(spec_of(job).get("selector")))
        if is_deleting(job) or is_finished(job):
            await self._let_go([pod for pod in pods if TRACKING in pod.metadata.finalizers])
            return None if is_deleting(job) else await self._expire(job)
        job, counted = await self._count(job, pods)
        if counted:
            # The pods are let go only after their end is on record.
            await self._let_go(counted)
        return await self._go_on(job)

    async def _count(self, job: Json, pods: Sequence[SimPod]) -> tuple[Json, list[SimPod]]:
        """Record the pods that have ended; the Job after that, and the pods to let go."""
        wish = wish_of(job)
        status = dict(status_of(job))
        if status.get("startTime") is None and not wish.suspended:
            status["startTime"] = time_text(self._clock.now())
        uncounted = status.get("uncountedTerminatedPods") or {}
        tracked = {pod.uid: pod for pod in pods if TRACKING in pod.metadata.finalizers}
        status = _absorb(status, uncounted, tracked)
        pending = status.get("uncountedTerminatedPods") or {}
        noted = {*(pending.get("succeeded") or ()), *(pending.get("failed") or ())}
        succeeded = [pod for uid, pod in tracked.items() if uid not in noted and pod.status.phase == "Succeeded"]
        failed = [pod for uid, pod in tracked.items() if uid not in noted and counts_as_failed(pod, wish)]
        if succeeded or failed:
            self._note_failures(job, succeeded, failed)
            status["uncountedTerminatedPods"] = {
                "succeeded": [*(pending.get("succeeded") or ()), *(pod.uid for pod in succeeded)],
                "failed": [*(pending.get("failed") or ()), *(pod.uid for pod in failed)],
            }
            if wish.indexed:
                done = read_indexes(status.get("completedIndexes") or "")
                status["completedIndexes"] = write_indexes(done | {index_of(pod) for pod in succeeded})
        if status != status_of(job):
            job = await self._write(job, status)
        noted |= {pod.uid for pod in (*succeeded, *failed)}
        return job, [pod for uid, pod in tracked.items() if uid in noted]

    async def _go_on(self, job: Json) -> float | None:
        wish, now = wish_of(job), self._clock.now()
        tally = self._tally(job, now)
        end = _decided(job) or end_of(wish, tally)
        wait: float | None = None
        if end is not None:
            await all_at_once(tally.active, self._pods.delete)
        else:
            wait = await self._step(job, wish, tally)
        # The pods as they are after our own writes.
        await self._report(job, self._tally(job, now), end)
        if wish.deadline is not None and not wish.suspended:
            left = max(wish.deadline - tally.seconds, 0.0)
            wait = left if wait is None else min(wait, left)
        return wait

    async def _step(self, job: Json, wish: Wish, tally: Tally) -> float | None:
        step = step_of(wish, tally)
        error = await all_at_once(step.delete, self._pods.delete)
        failures, last = self._failures.get(uid_of(job), (0, 0.0))
        wait = last + backoff(failures, self._pace.retrying) - self._clock.now()
        if step.create and wait > 0:
            return wait

        async def create(index: int) -> None:
            await self._pods.create(namespace_of(job), job_pod(job, index))

        error = error or await slow_start(step.create, create)
        if error is not None:
            raise error
        return None

    async def _report(self, job: Json, tally: Tally, end: End | None) -> None:
        wish, known = wish_of(job), status_of(job)
        status = {
            **known,
            "active": len(tally.active),
            "ready": sum(pod.ready for pod in tally.active),
            "terminating": tally.terminating,
        }
        conditions = list(known.get("conditions") or [])
        if end is None:
            conditions = _suspension(conditions, self._clock.now(), suspended=wish.suspended)
            if wish.suspended:
                status.pop("startTime", None)
        else:
            conditions = _heading_for(conditions, end, self._clock.now())
        if end is not None and self._all_counted(job):
            conditions = _ended(conditions, end, self._clock.now())
            if end.complete:
                status["completionTime"] = time_text(self._clock.now())
            self._failures.pop(uid_of(job), None)
        if conditions:
            status["conditions"] = conditions
        kept = ("ready", "terminating", "uncountedTerminatedPods")
        status = {name: value for name, value in status.items() if value or name in kept}
        if status != known:
            await self._write(job, status)
            if end is not None and is_finished({**job, "status": status}):
                self._say_end(job, end)

    def _say_end(self, job: Json, end: End) -> None:
        if end.complete:
            self._told.normal(job, JOBS, "Completed", "Job completed")
        else:
            self._told.warning(job, JOBS, end.reason, end.message)

    def _tally(self, job: Json, now: float) -> Tally:
        status = status_of(job)
        pods = self._pods.indexed(BY_OWNER, uid_of(job))
        pending = status.get("uncountedTerminatedPods") or {}
        started = status.get("startTime")
        completed = frozenset(read_indexes(status.get("completedIndexes") or ""))
        indexed = wish_of(job).indexed
        succeeded = (status.get("succeeded") or 0) + len(pending.get("succeeded") or ())
        return Tally(
            active=[pod for pod in pods if pod.active],
            terminating=sum(pod.deleting and not pod.finished for pod in pods),
            succeeded=len(completed) if indexed else succeeded,
            failed=(status.get("failed") or 0) + len(pending.get("failed") or ()),
            completed=completed,
            seconds=now - time_seconds(started) if started else 0.0,
        )

    def _all_counted(self, job: Json) -> bool:
        pending = status_of(job).get("uncountedTerminatedPods") or {}
        pods = self._pods.indexed(BY_OWNER, uid_of(job))
        return not any(pending.values()) and not any(TRACKING in pod.metadata.finalizers for pod in pods)

    def _note_failures(self, job: Json, succeeded: Sequence[SimPod], failed: Sequence[SimPod]) -> None:
        count = 0 if succeeded else self._failures.get(uid_of(job), (0, 0.0))[0]
        self._failures[uid_of(job)] = (count + len(failed), self._clock.now())

    async def _let_go(self, pods: Sequence[SimPod]) -> None:
        async def let_go(pod: SimPod) -> None:
            await release(self._pods, pod)

        error = await all_at_once(pods, let_go)
        if error is not None:
            raise error

    async def _expire(self, job: Json) -> float | None:
        """Delete a Job some time after its end, if it wants that."""
        seconds = spec_of(job).get("ttlSecondsAfterFinished")
        ended = _ended_at(job)
        if seconds is None or ended is None:
            return None
        left: float = ended + seconds - self._clock.now()
        if left > 0:
            return left
        await self._jobs.delete(job, policy="Foreground")
        return None

    async def _write(self, job: Json, status: Json) -> Json:
        body = {**job, "status": status}
        return await self._jobs.update(namespace_of(job), name_of(job), body, subresource="status")

    def _job_changed(self, old: Json | None, new: Json | None) -> None:
        if new is None:
            if old is not None:
                self._failures.pop(uid_of(old), None)
            return
        self.queue.add(key_of(new))
        for member in NOT_SUPPORTED:
            if old is None and spec_of(new).get(member):
                self._told.warning(new, JOBS, "NotSupported", f"{member} is not simulated and has no effect")

    def _pod_changed(self, old: SimPod | None, new: SimPod | None) -> None:
        for key in owners_of("Job", old, new):
            self.queue.add_after(key, GATHER)


def job_pod(job: Json, index: int) -> Json:
    """A pod of a Job; -1 is no index."""
    pod = pod_of_template(spec_of(job).get("template") or {}, job, JOBS)
    meta, spec = pod["metadata"], pod["spec"]
    meta["finalizers"] = [*(meta.get("finalizers") or ()), TRACKING]
    if index < 0:
        meta["generateName"] = f"{name_of(job)}-"
        return pod
    meta["generateName"] = f"{name_of(job)}-{index}-"
    meta["annotations"] = {**(meta.get("annotations") or {}), INDEX: str(index)}
    meta["labels"] = {**(meta.get("labels") or {}), INDEX: str(index)}
    spec["hostname"] = f"{name_of(job)}-{index}"
    variable = {"name": "JOB_COMPLETION_INDEX", "value": str(index)}
    for part in ("containers", "initContainers"):
        if spec.get(part):
            spec[part] = [{**one, "env": [*(one.get("env") or ()), variable]} for one in spec[part]]
    return pod


def is_finished(job: Json) -> bool:
    """Whether the Job is complete or failed."""
    return _ended_at(job) is not None


def _ended_at(job: Json) -> float | None:
    for type_ in ("Complete", "Failed"):
        condition = find_condition(status_of(job).get("conditions"), type_)
        if condition is not None and condition.get("status") == "True":
            return time_seconds(condition["lastTransitionTime"])
    return None


def _absorb(status: Json, uncounted: Json, tracked: Container[str]) -> Json:
    """Move those that are let go already from the list of uncounted pods into the counters."""
    changed = dict(status)
    left: Json = {}
    for kind in ("succeeded", "failed"):
        uids = uncounted.get(kind) or []
        waiting = [uid for uid in uids if uid in tracked]
        if len(waiting) != len(uids):
            changed[kind] = (status.get(kind) or 0) + len(uids) - len(waiting)
        if waiting:
            left[kind] = waiting
    changed["uncountedTerminatedPods"] = left
    return changed


def _suspension(conditions: list[Json], now: float, *, suspended: bool) -> list[Json]:
    known = find_condition(conditions, "Suspended")
    status = "True" if suspended else "False"
    if (known is None and not suspended) or (known is not None and known["status"] == status):
        return conditions
    why = End(False, *(("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")))
    others = [condition for condition in conditions if condition["type"] != "Suspended"]
    return [*others, _condition("Suspended", why, now, status=status)]


def _decided(job: Json) -> End | None:
    """The end that a Job is heading for already."""
    for type_, complete in (("SuccessCriteriaMet", True), ("FailureTarget", False)):
        condition = find_condition(status_of(job).get("conditions"), type_)
        if condition is not None and condition.get("status") == "True":
            return End(complete, condition.get("reason", ""), condition.get("message", ""))
    return None


def _heading_for(conditions: list[Json], end: End, now: float) -> list[Json]:
    type_ = "SuccessCriteriaMet" if end.complete else "FailureTarget"
    if find_condition(conditions, type_) is not None:
        return conditions
    return [*conditions, _condition(type_, end, now)]


def _ended(conditions: list[Json], end: End, now: float) -> list[Json]:
    return [*conditions, _condition("Complete" if end.complete else "Failed", end, now)]


def _condition(type_: str, end: End, now: float, *, status: str = "True") -> Json:
    at = time_text(now)
    return {
        "type": type_,
        "status": status,
        "reason": end.reason,
        "message": end.message,
        "lastProbeTime": at,
        "lastTransitionTime": at,
    }
