"""Defaults of the kinds that own pods.

Upstream: pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go, pkg/apis/core/v1/defaults.go (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.defaulting.pods import default_pod_spec

Json = dict[str, Any]


def default_template(spec: Json) -> None:
    """Fill in the pod template below a specification."""
    template = spec.get("template")
    if template is None:
        return
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def default_deployment(value: Json) -> None:
    """Fill in a Deployment."""
    spec = value.setdefault("spec", {})
    default_template(spec)
    spec.setdefault("replicas", 1)
    strategy = spec.setdefault("strategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)


def default_replica_set(value: Json) -> None:
    """Fill in a ReplicaSet."""
    spec = value.setdefault("spec", {})
    default_template(spec)
    spec.setdefault("replicas", 1)
    value.setdefault("status", {}).setdefault("replicas", 0)


def default_replication_controller(value: Json) -> None:
    """Fill in a ReplicationController: labels and selector come from the template."""
    default_replica_set(value)
    labels = ((value["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        value["spec"].setdefault("selector", dict(labels))
        value["metadata"].setdefault("labels", dict(labels))


def default_stateful_set(value: Json) -> None:
    """Fill in a StatefulSet."""
    spec = value.setdefault("spec", {})
    default_template(spec)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        strategy.setdefault("rollingUpdate", {}).setdefault("partition", 0)
    spec.setdefault("serviceName", "")
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    for claim in spec.get("volumeClaimTemplates", ()):
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {}).setdefault("phase", "Pending")
    status = value.setdefault("status", {})
    status.setdefault("replicas", 0)
    status.setdefault("availableReplicas", 0)


def default_daemon_set(value: Json) -> None:
    """Fill in a DaemonSet."""
    spec = value.setdefault("spec", {})
    default_template(spec)
    strategy = spec.setdefault("updateStrategy", {})
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    status = value.setdefault("status", {})
    for name in ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"):
        status.setdefault(name, 0)


def default_job(value: Json) -> None:
    """Fill in a Job, without its generated selector."""
    spec = value.setdefault("spec", {})
    default_job_spec(spec)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        value["metadata"].setdefault("labels", dict(labels))


def default_job_spec(spec: Json) -> None:
    """Fill in what a Job is to do."""
    default_template(spec)
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
        spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    if "backoffLimit" not in spec:
        spec["backoffLimit"] = 2**31 - 1 if "backoffLimitPerIndex" in spec else 6
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    if "podReplacementPolicy" not in spec:
        spec["podReplacementPolicy"] = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("manualSelector", False)
    for rule in (spec.get("podFailurePolicy") or {}).get("rules", ()):
        for pattern in rule.get("onPodConditions", ()):
            pattern.setdefault("status", "True")


def default_cron_job(value: Json) -> None:
    """Fill in a CronJob; its Jobs are filled in when they are made, their pod templates already now."""
    spec = value.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    job = spec.get("jobTemplate")
    if job is not None:
        job.setdefault("metadata", {})
        default_template(job.setdefault("spec", {}))


def default_pod_template(value: Json) -> None:
    """Fill in a PodTemplate."""
    default_template(value)
    value["metadata"].setdefault("generation", 1)


def default_horizontal_autoscaler(value: Json) -> None:
    """Fill in a HorizontalPodAutoscaler."""
    spec = value.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
