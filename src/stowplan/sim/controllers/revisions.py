"""The annotations by which ReplicaSets remember which revision of their Deployment they are.

Upstream: pkg/controller/deployment/util/deployment_util.go (v1.36.4).
"""

from typing import Any

from stowplan.sim.controllers.rollout import Wish

Json = dict[str, Any]

_PREFIX = "deployment.kubernetes.io"
REVISION = f"{_PREFIX}/revision"
HISTORY = f"{_PREFIX}/revision-history"
DESIRED = f"{_PREFIX}/desired-replicas"
MAXIMUM = f"{_PREFIX}/max-replicas"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
NOT_COPIED = frozenset({LAST_APPLIED, REVISION, HISTORY, DESIRED, MAXIMUM, "deprecated.deployment.rollback.to"})

LONGEST_HISTORY = 2000


def number_of(text: str | None) -> int | None:
    """A whole number of an annotation; None when there is none."""
    return int(text) if text is not None and text.isascii() and text.isdecimal() and len(text) <= 10 else None


def revision_of(obj: Json) -> int:
    """The revision that a ReplicaSet is."""
    return number_of((obj["metadata"].get("annotations") or {}).get(REVISION)) or 0


def deployment_annotations(deployment: Json, replica_set: Json, revision: int) -> dict[str, str]:
    """The annotations of the newest set: those of its Deployment, and its revision and former ones."""
    known = replica_set["metadata"].get("annotations") or {}
    ours = deployment["metadata"].get("annotations") or {}
    made = {**known, **{key: value for key, value in ours.items() if key not in NOT_COPIED}}
    before = revision_of(replica_set)
    if before < revision:
        made[REVISION] = str(revision)
        if REVISION in known:
            former = [text for text in known.get(HISTORY, "").split(",") if text]
            former.append(known[REVISION])
            while len(",".join(former)) > LONGEST_HISTORY:
                former.pop(0)
            made[HISTORY] = ",".join(former)
    return made


def size_annotations(wish: Wish) -> dict[str, str]:
    """What a set remembers of the size of its Deployment."""
    return {DESIRED: str(wish.replicas), MAXIMUM: str(wish.replicas + wish.surge)}
