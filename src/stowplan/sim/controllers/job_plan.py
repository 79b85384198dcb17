"""What a Job does next: pure, from its wish and its pods.

Upstream: pkg/controller/job/job_controller.go syncJob, manageJob (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

from stowplan.sim.cluster.objects import spec_of
from stowplan.sim.cluster.records import SimPod

Json = dict[str, Any]

INDEX = "batch.kubernetes.io/job-completion-index"
TRACKING = "batch.kubernetes.io/job-tracking"
LONGEST_BACKOFF = 600.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a Job asks for."""

    parallelism: int
    completions: int | None
    backoff_limit: int
    deadline: int | None
    indexed: bool
    suspended: bool
    only_failed_are_replaced: bool
    counts_restarts: bool


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Where a Job stands, with everything that has happened."""

    active: Sequence[SimPod] = ()
    terminating: int = 0
    succeeded: int = 0
    failed: int = 0
    completed: frozenset[int] = frozenset()
    """Indexes, of an indexed Job."""
    seconds: float = 0.0
    """Since the start."""


@final
@dataclass(frozen=True, slots=True)
class End:
    """How a Job ends."""

    complete: bool
    reason: str
    message: str


@final
@dataclass(frozen=True, slots=True)
class Step:
    """Pods to delete and to create; an index of -1 is none."""

    delete: list[SimPod] = field(default_factory=list)
    create: list[int] = field(default_factory=list)


def wish_of(job: Json) -> Wish:
    """What a Job asks for."""
    spec = spec_of(job)
    template = (spec.get("template") or {}).get("spec") or {}
    return Wish(
        parallelism=spec.get("parallelism", 1),
        completions=spec.get("completions"),
        backoff_limit=spec.get("backoffLimit", 6),
        deadline=spec.get("activeDeadlineSeconds"),
        indexed=spec.get("completionMode") == "Indexed",
        suspended=bool(spec.get("suspend")),
        only_failed_are_replaced=spec.get("podReplacementPolicy") == "Failed",
        counts_restarts=template.get("restartPolicy") == "OnFailure",
    )


def index_of(pod: SimPod) -> int:
    """The completion index of a pod; -1 when it has none."""
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 9 else -1


def counts_as_failed(pod: SimPod, wish: Wish) -> bool:
    """Whether a pod is a failure: one that is being deleted counts before its end, unless the Job wants to wait."""
    if pod.status.phase == "Failed":
        return True
    return not wish.only_failed_are_replaced and pod.deleting and pod.status.phase != "Succeeded"


def end_of(wish: Wish, tally: Tally) -> End | None:
    """How the Job ends now, if it does."""
    restarts = sum(pod.restarts for pod in tally.active) if wish.counts_restarts else 0
    past_restarts = wish.counts_restarts and restarts > 0 and restarts >= wish.backoff_limit
    if tally.failed > wish.backoff_limit or past_restarts:
        return End(False, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if not wish.suspended and wish.deadline is not None and tally.seconds >= wish.deadline:
        return End(False, "DeadlineExceeded", "Job was active longer than specified deadline")
    enough = 1 if wish.completions is None else wish.completions
    done = tally.succeeded >= enough and (wish.completions is not None or not tally.active)
    return End(True, "CompletionsReached", "Reached expected number of succeeded pods") if done else None


def step_of(wish: Wish, tally: Tally) -> Step:
    """How many pods more or fewer."""
    active = sorted(tally.active, key=lambda pod: (pod.ready, pod.status.phase == "Running", bool(pod.spec.node_name)))
    if wish.suspended:
        return Step(delete=list(active))
    if wish.indexed:
        return _indexed_step(wish, tally)
    if wish.completions is None:
        wanted = len(active) if tally.succeeded > 0 else wish.parallelism
        wanted = min(wanted, wish.parallelism)
    else:
        wanted = min(wish.parallelism, max(wish.completions - tally.succeeded, 0))
    if len(active) > wanted:
        return Step(delete=active[: len(active) - wanted])
    missing = wanted - len(active)
    if wish.only_failed_are_replaced:
        missing -= tally.terminating
    return Step(create=[-1] * max(missing, 0))


def _indexed_step(wish: Wish, tally: Tally) -> Step:
    """One pod per index that is not completed, the lowest indexes first."""
    step = Step()
    taken: set[int] = set()
    for pod in sorted(tally.active, key=lambda pod: (index_of(pod), pod.metadata.creation_timestamp or "", pod.name)):
        index = index_of(pod)
        known = 0 <= index < (wish.completions or 0) and index not in tally.completed and index not in taken
        if known and len(taken) < wish.parallelism:
            taken.add(index)
        else:
            step.delete.append(pod)
    room = wish.parallelism - len(taken)
    if wish.only_failed_are_replaced:
        room -= tally.terminating
    for index in range(wish.completions or 0):
        if room <= 0:
            break
        if index not in tally.completed and index not in taken:
            step.create.append(index)
            room -= 1
    return step


def backoff(failures: int, first: float) -> float:
    """Seconds between the last of so many failures in a row and the next pod."""
    return min(first * 2.0 ** min(failures - 1, 20), LONGEST_BACKOFF) if failures > 0 else 0.0
