"""What is added to every pod: priority, tolerations of failing nodes, the service account's name.

Upstream: plugin/pkg/admission/{priority,defaulttolerationseconds,serviceaccount} (v1.36.4).
"""

from typing import Any

from stowplan.apiserver.context import PRIORITY_CLASSES, Api
from stowplan.apiserver.errors import forbidden
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
    _tolerate_failing_nodes(spec)
    spec.setdefault("serviceAccountName", "default")
    spec.setdefault("serviceAccount", spec["serviceAccountName"])


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


def _tolerate_failing_nodes(spec: Json) -> None:
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
