"""Pods: first status, quality of service, gates, and what may change later.

Upstream: pkg/registry/core/pod/strategy.go, pkg/apis/core/helper/qos (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import Api
from stowplan.apiserver.quantities import amount

Json = dict[str, Any]

COMPUTE = ("cpu", "memory")
GATED = "Scheduling is blocked due to non-empty scheduling gates"


def prepare_pod(api: Api, pod: Json) -> None:
    """Give a new pod its first status."""
    spec = pod["spec"]
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        # parity: kubelets take a negative period for one second
        spec["terminationGracePeriodSeconds"] = 1
    pod["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
    if spec.get("schedulingGates"):
        pod["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": api.now(),
                "reason": "SchedulingGated",
                "message": GATED,
            }
        ]
    labels = pod["metadata"].get("labels") or {}
    for constraint in spec.get("topologySpreadConstraints", ()):
        _extend_selector(constraint.get("labelSelector"), constraint.get("matchLabelKeys"), labels, "In")
    affinity = spec.get("affinity")
    if affinity:
        for term in _terms(affinity):
            _extend_selector(term.get("labelSelector"), term.get("matchLabelKeys"), labels, "In")
            _extend_selector(term.get("labelSelector"), term.get("mismatchLabelKeys"), labels, "NotIn")


def keep_pod(_api: Api, pod: Json, old: Json) -> None:
    """Carry over what admission decided when the pod was new."""
    spec, known = pod.setdefault("spec", {}), old["spec"]
    for name in ("priority", "preemptionPolicy", "serviceAccount", "serviceAccountName"):
        if name in known:
            spec.setdefault(name, known[name])


def keep_pod_status(_api: Api, pod: Json, old: Json) -> None:
    """What a writer of the status cannot take away."""
    status = pod.setdefault("status", {})
    if "qosClass" in old.get("status", {}):
        status.setdefault("qosClass", old["status"]["qosClass"])
    owners = old["metadata"].get("ownerReferences")
    if owners is None:
        pod["metadata"].pop("ownerReferences", None)
    else:
        pod["metadata"]["ownerReferences"] = owners


def quality_of_service(spec: Json) -> str:
    """BestEffort, Burstable or Guaranteed."""
    whole = spec.get("resources") or {}
    resources = (
        [whole]
        if whole.get("requests") or whole.get("limits")
        else [
            container.get("resources") or {}
            for name in ("containers", "initContainers")
            for container in spec.get(name) or ()
        ]
    )
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    guaranteed = True
    for part in resources:
        for name in COMPUTE:
            asked = (part.get("requests") or {}).get(name)
            if asked is not None and asked != "0":
                requests[name] = requests.get(name, 0) + amount(asked)
            bound = (part.get("limits") or {}).get(name)
            if bound is not None and bound != "0":
                limits[name] = limits.get(name, 0) + amount(bound)
            else:
                guaranteed = False
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and len(limits) == len(COMPUTE) and requests == limits:
        return "Guaranteed"
    return "Burstable"


def _terms(affinity: Json) -> list[Json]:
    terms: list[Json] = []
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side) or {}
        terms += rules.get("requiredDuringSchedulingIgnoredDuringExecution", ())
        terms += [
            weighted["podAffinityTerm"]
            for weighted in rules.get("preferredDuringSchedulingIgnoredDuringExecution", ())
            if weighted.get("podAffinityTerm")
        ]
    return terms


def _extend_selector(selector: Json | None, keys: list[str] | None, labels: dict[str, str], operator: str) -> None:
    if selector is None or not keys:
        return
    for key in keys:
        if key in labels:
            selector.setdefault("matchExpressions", []).append(
                {"key": key, "operator": operator, "values": [labels[key]]}
            )
