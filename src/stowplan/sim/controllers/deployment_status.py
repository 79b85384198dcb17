"""What a Deployment says of itself: counts, availability, and whether the rollout gets on.

Upstream: pkg/controller/deployment/sync.go calculateStatus, progress.go (v1.36.4).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from stowplan.api.meta import time_seconds, time_text
from stowplan.sim.cluster.objects import find_condition, generation_of, name_of, spec_of, status_of
from stowplan.sim.controllers.rollout import Wish

Json = dict[str, Any]

ENDLESS = 2**31 - 1
PROGRESSING = "Progressing"
AVAILABLE = "Available"
FAILURE = "ReplicaFailure"
DONE = "NewReplicaSetAvailable"
LATE = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where a rollout stands; `created` names the new set when it was made just now."""

    new: Json | None
    olds: Sequence[Json]
    created: str
    wish: Wish
    now: float

    @property
    def sets(self) -> list[Json]:
        """All sets."""
        return [*self.olds, *([self.new] if self.new is not None else [])]

    def count(self, member: str) -> int:
        """A number of all sets' status, together."""
        return sum(status_of(obj).get(member) or 0 for obj in self.sets)


def deployment_status(found: Json, progress: Progress) -> Json:
    """The status after a step."""
    wish, available = progress.wish, progress.count("availableReplicas")
    asked = sum(spec_of(obj).get("replicas", 1) for obj in progress.sets)
    numbers = {
        "observedGeneration": generation_of(found),
        "replicas": progress.count("replicas"),
        "updatedReplicas": (status_of(progress.new).get("replicas") or 0) if progress.new is not None else 0,
        "readyReplicas": progress.count("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(asked - available, 0),
        "collisionCount": status_of(found).get("collisionCount") or 0,
    }
    status: Json = {name: number for name, number in numbers.items() if number}
    status["terminatingReplicas"] = progress.count("terminatingReplicas")
    conditions = list(status_of(found).get("conditions") or [])
    enough = available >= wish.replicas - wish.unavailable
    conditions = _set(
        conditions,
        AVAILABLE,
        "True" if enough else "False",
        "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "Deployment has minimum availability." if enough else "Deployment does not have minimum availability.",
        now=progress.now,
    )
    conditions = _progressing(found, status, conditions, progress)
    failure = _failure(progress)
    if failure is None:
        conditions = _without(conditions, FAILURE)
    else:
        conditions = _set(
            conditions, FAILURE, failure["status"], failure["reason"], failure["message"], now=progress.now
        )
    status["conditions"] = conditions
    return status


def is_complete(found: Json, status: Json) -> bool:
    """Whether all pods are new and available."""
    wanted = spec_of(found).get("replicas", 1)
    counts = ("updatedReplicas", "replicas", "availableReplicas")
    observed = status.get("observedGeneration") or 0
    return all((status.get(name) or 0) == wanted for name in counts) and observed >= generation_of(found)


def progress_check(found: Json, status: Json, now: float) -> float | None:
    """Seconds until it must be asked whether the rollout is late."""
    condition = find_condition(status.get("conditions"), PROGRESSING)
    deadline: int = spec_of(found).get("progressDeadlineSeconds", ENDLESS)
    if condition is None or not _has_deadline(found) or condition["reason"] in (LATE, PAUSED, DONE):
        return None
    if is_complete(found, status):
        return None
    return max(time_seconds(condition["lastUpdateTime"]) + deadline - now, 0) + 1


def with_failed_create(found: Json, message: str, now: float) -> Json:
    """The status when the new set could not be made."""
    status = dict(status_of(found))
    if _has_deadline(found):
        conditions = list(status.get("conditions") or [])
        status["conditions"] = _set(conditions, PROGRESSING, "False", "ReplicaSetCreateError", message, now=now)
    return status


def _progressing(found: Json, status: Json, conditions: list[Json], progress: Progress) -> list[Json]:
    if not _has_deadline(found):
        return _without(conditions, PROGRESSING)
    current = find_condition(conditions, PROGRESSING)
    now = progress.now
    if spec_of(found).get("paused"):
        if current is not None and current["reason"] in (LATE, PAUSED):
            return conditions
        return _set(conditions, PROGRESSING, "Unknown", PAUSED, "Deployment is paused", now=now)
    if current is not None and current["reason"] == PAUSED:
        conditions = _set(conditions, PROGRESSING, "Unknown", "DeploymentResumed", "Deployment is resumed", now=now)
        current = find_condition(conditions, PROGRESSING)
    if progress.created:
        note = f'Created new replica set "{progress.created}"'
        conditions = _set(conditions, PROGRESSING, "True", "NewReplicaSetCreated", note, now=now)
    elif current is None and progress.new is not None:
        note = f'Found new replica set "{name_of(progress.new)}"'
        conditions = _set(conditions, PROGRESSING, "True", "FoundNewReplicaSet", note, now=now)
    return _judged(found, status, conditions, progress)


def _judged(found: Json, status: Json, conditions: list[Json], progress: Progress) -> list[Json]:
    current = find_condition(conditions, PROGRESSING)
    done = current is not None and current["reason"] == DONE
    if done and (status.get("replicas") or 0) == (status.get("updatedReplicas") or 0):
        return conditions
    subject = f'ReplicaSet "{name_of(progress.new)}"' if progress.new else f'Deployment "{name_of(found)}"'
    if is_complete(found, status):
        note = f"{subject} has successfully progressed."
        return _set(conditions, PROGRESSING, "True", DONE, note, now=progress.now)
    if _got_on(status_of(found), status):
        since = time_text(progress.now)
        if current is not None and current["status"] == "True":
            since = current["lastTransitionTime"]
        made = _condition(PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.", progress.now)
        return [*_without(conditions, PROGRESSING), {**made, "lastTransitionTime": since}]
    if _is_late(found, status, current, progress.now):
        note = f"{subject} has timed out progressing."
        return _set(conditions, PROGRESSING, "False", LATE, note, now=progress.now)
    return conditions


def _got_on(before: Json, after: Json) -> bool:
    # parity: deployment_util.go DeploymentProgressing
    def old_of(status: Json) -> int:
        return (status.get("replicas") or 0) - (status.get("updatedReplicas") or 0)

    grown = any(
        (after.get(name) or 0) > (before.get(name) or 0)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or old_of(after) < old_of(before)


def _is_late(found: Json, status: Json, current: Json | None, now: float) -> bool:
    if current is None or current["reason"] == DONE or is_complete(found, status):
        return False
    if current["reason"] == LATE:
        return True
    since = time_seconds(current["lastUpdateTime"])
    return bool(now > since + spec_of(found)["progressDeadlineSeconds"])


def _has_deadline(found: Json) -> bool:
    return spec_of(found).get("progressDeadlineSeconds") not in (None, ENDLESS)


def _failure(progress: Progress) -> Json | None:
    newest_first = [*([progress.new] if progress.new is not None else []), *progress.olds]
    for obj in newest_first:
        condition = find_condition(status_of(obj).get("conditions"), FAILURE)
        if condition is not None:
            return condition
    return None


def _set(conditions: list[Json], type_: str, status: str, reason: str, message: str, *, now: float) -> list[Json]:
    # parity: one that says the same for the same reason stays as it is, message and times included
    known = find_condition(conditions, type_)
    if known is not None and known["status"] == status and known["reason"] == reason:
        return conditions
    made = _condition(type_, status, reason, message, now)
    if known is not None and known["status"] == status:
        made["lastTransitionTime"] = known["lastTransitionTime"]
    return [*_without(conditions, type_), made]


def _without(conditions: list[Json], type_: str) -> list[Json]:
    return [condition for condition in conditions if condition["type"] != type_]


def _condition(type_: str, status: str, reason: str, message: str, now: float) -> Json:
    at = time_text(now)
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": at,
        "lastTransitionTime": at,
    }
