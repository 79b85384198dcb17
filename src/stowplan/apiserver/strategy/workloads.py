"""Jobs and their generated selectors; what other workloads reset when they are new.

Upstream: pkg/registry/batch/job/strategy.go, pkg/registry/apps/*/strategy.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import Api

Json = dict[str, Any]

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def prepare_job(_api: Api, job: Json) -> None:
    """Give a new job a selector of its own, unless its author takes care."""
    job["status"] = {}
    spec, meta = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec.setdefault("template", {})
    labels = template.setdefault("metadata", {}).setdefault("labels", {})
    for prefix in ("", "batch.kubernetes.io/"):
        labels[f"{prefix}controller-uid"] = meta["uid"]
        labels[f"{prefix}job-name"] = meta["name"]
    meta.setdefault("labels", dict(labels))
    selector = spec.setdefault("selector", {})
    selector.setdefault("matchLabels", {})["batch.kubernetes.io/controller-uid"] = meta["uid"]


def keep_job(_api: Api, job: Json, old: Json) -> None:
    """A job keeps its selector; writers may leave it out."""
    spec, known = job["spec"], old["spec"]
    if "selector" in known:
        spec.setdefault("selector", known["selector"])


def prepare_stateful_set(_api: Api, value: Json) -> None:
    """A new StatefulSet has no replicas yet."""
    value["status"] = {"replicas": 0, "availableReplicas": 0}


def prepare_replica_set(_api: Api, value: Json) -> None:
    """A new ReplicaSet has no replicas yet."""
    value["status"] = {"replicas": 0}


def prepare_daemon_set(_api: Api, value: Json) -> None:
    """A new DaemonSet runs nowhere yet."""
    names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    value["status"] = dict.fromkeys(names, 0)
    meta = value["metadata"]
    # parity: a generation that a writer gives is kept, as that of a set whose older form is restored
    given = (meta.get("annotations") or {}).get(TEMPLATE_GENERATION, "")
    known = given if given.isascii() and given.isdecimal() and int(given[:18]) > 0 else "1"
    meta.setdefault("annotations", {})[TEMPLATE_GENERATION] = known


def keep_daemon_set(_api: Api, value: Json, old: Json) -> None:
    """A changed template has a new number."""
    known = int((old["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION, "1"))
    if value["spec"].get("template") != old["spec"].get("template"):
        known += 1
    value["metadata"].setdefault("annotations", {})[TEMPLATE_GENERATION] = str(known)


def prepare_autoscaler(_api: Api, value: Json) -> None:
    """A new autoscaler has measured nothing yet."""
    value["status"] = {"currentMetrics": None, "desiredReplicas": 0}


def prepare_budget(_api: Api, value: Json) -> None:
    """A new disruption budget has counted nothing yet."""
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    value["status"] = dict.fromkeys(names, 0)
