"""What is added to every pod: priority, tolerations of failing nodes, the service account's name, its runtime's costs.

Upstream: plugin/pkg/admission/{priority,defaulttolerationseconds,serviceaccount,runtimeclass} (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import PRIORITY_CLASSES, RUNTIME_CLASSES, Api
from stowplan.apiserver.errors import forbidden
from stowplan.apiserver.quantities import amount
from stowplan.apiserver.request import Call

Json = dict[str, Any]

NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
TOLERATION_SECONDS = 300
SYSTEM_PREFIX = "system-"


def admit_pod(api: Api, call: Call, pod: Json) -> None:
    """Complete a new pod."""
    spec = pod["spec"]
    _set_priority(api, call, pod["metadata"].get("name", ""), spec)
    tolerate_failing_nodes(spec)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])
    if spec.get("runtimeClassName") or spec.get("overhead"):
        _add_runtime(api, call, pod["metadata"].get("name", ""), spec)


def _set_priority(api: Api, call: Call, name: str, spec: Json) -> None:
    named = spec.get("priorityClassName")
    found = _named_class(api, call, name, named) if named else _global_default(api)
    value, policy = 0, "PreemptLowerPriority"
    if found is not None:
        value, policy = found.get("value", 0), found.get("preemptionPolicy", policy)
        spec["priorityClassName"] = found["metadata"]["name"]
    given = spec.get("priority")
    if given is not None and given != value:
        raise forbidden(
            call.resource.subject(name),
            f"the integer value of priority ({given}) must not be provided in pod spec; priority admission controller "
            f"computed {value} from the given PriorityClass name",
        )
    spec["priority"] = value
    given_policy = spec.get("preemptionPolicy")
    if given_policy is not None and given_policy != policy:
        raise forbidden(
            call.resource.subject(name),
            f"the string value of PreemptionPolicy ({given_policy}) must not be provided in pod spec; priority "
            f"admission controller computed {policy} from the given PriorityClass name",
        )
    spec["preemptionPolicy"] = policy


def _named_class(api: Api, call: Call, name: str, named: str) -> Json:
    entry = api.store.table(PRIORITY_CLASSES).get("", named)
    if entry is None:
        raise forbidden(call.resource.subject(name), f"no PriorityClass with name {named} was found")
    return entry.decoded()


def _global_default(api: Api) -> Json | None:
    # perf: there are few classes; only one that says globalDefault is decoded
    best: Json | None = None
    for entry in api.store.table(PRIORITY_CLASSES).entries.values():
        if b'"globalDefault":true' in entry.body:
            found = entry.decoded()
            if found.get("globalDefault") and (best is None or found.get("value", 0) < best.get("value", 0)):
                best = found
    return best


def tolerate_failing_nodes(spec: Json) -> None:
    """Let a pod stay for a while on a node that fails, unless it says otherwise; also when it changes."""
    tolerations = spec.get("tolerations", [])
    added = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATION_SECONDS}
        for key in (NOT_READY, UNREACHABLE)
        if not any(
            toleration.get("key", key) == key and toleration.get("effect", "NoExecute") in ("NoExecute", "")
            for toleration in tolerations
        )
    ]
    if added:
        spec["tolerations"] = [*tolerations, *added]


def _add_runtime(api: Api, call: Call, name: str, spec: Json) -> None:
    """What the runtime class costs and where it runs."""
    subject, named = call.resource.subject(name), spec.get("runtimeClassName")
    found: Json = {}
    if named:
        entry = api.store.table(RUNTIME_CLASSES).get("", named)
        if entry is None:
            raise forbidden(subject, f'pod rejected: RuntimeClass "{named}" not found')
        found = entry.decoded()
    given, fixed = spec.get("overhead"), (found.get("overhead") or {}).get("podFixed")
    if fixed is None and given:
        raise forbidden(subject, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if fixed is not None:
        if given and not _same_amounts(given, fixed):
            raise forbidden(subject, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        spec["overhead"] = dict(fixed)
    scheduling = found.get("scheduling") or {}
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        own = spec.setdefault("nodeSelector", {}).setdefault(key, value)
        if own != value:
            raise forbidden(
                subject,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = "
                f"{own}",
            )
    if scheduling.get("tolerations"):
        spec["tolerations"] = merged_tolerations([*spec.get("tolerations", ()), *scheduling["tolerations"]])


def _same_amounts(one: Json, other: Json) -> bool:
    return one.keys() == other.keys() and all(amount(one[name]) == amount(other[name]) for name in one)


def merged_tolerations(tolerations: list[Json]) -> list[Json]:
    """Tolerations without those that others cover; of equal ones the first stays."""
    kept: list[Json] = []
    for index, one in enumerate(tolerations):
        covered = any(_covers(other, one) for other in kept) or any(
            other != one and _covers(other, one) for other in tolerations[index + 1 :]
        )
        if not covered:
            kept.append(one)
    return kept


def _covers(wide: Json, narrow: Json) -> bool:
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    if wide.get("effect") and narrow.get("effect") != wide["effect"]:
        return False
    if wide.get("effect") == "NoExecute" and wide.get("tolerationSeconds") is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > wide["tolerationSeconds"]:
            return False
    if exists:
        return True
    same_operator = wide.get("operator", "Equal") == narrow.get("operator", "Equal")
    return same_operator and bool(wide.get("value", "") == narrow.get("value", ""))
