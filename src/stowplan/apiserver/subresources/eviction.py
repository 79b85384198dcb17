"""POST pods/NAME/eviction: a pod is deleted if its disruption budget allows it.

Upstream: pkg/registry/core/pod/storage/eviction.go (v1.36.4).
"""

from typing import Any

import msgspec

from stowplan.apiserver.body import read_object
from stowplan.apiserver.context import DISRUPTION_BUDGETS, PODS, Api
from stowplan.apiserver.errors import ApiError, Cause, Subject, bad_request, forbidden, not_found, success
from stowplan.apiserver.request import Call, Reply, reply_json
from stowplan.apiserver.storage.entry import Entry
from stowplan.apiserver.subresources.binding import with_condition
from stowplan.apiserver.validation.workloads import selects
from stowplan.apiserver.verbs.delete import DeleteOptions, check_options, delete_entry

Json = dict[str, Any]

MAX_DISRUPTED = 2000
VIOLATES = "Cannot evict pod as it would violate the pod's disruption budget."
CAUSE = "DisruptionBudget"
DISRUPTION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


def evict(api: Api, call: Call) -> Reply:
    """Delete a pod as its budget allows."""
    eviction = read_object(api, call)
    if eviction.get("kind", "Eviction") != "Eviction" or eviction.get("apiVersion", "policy/v1") not in (
        "policy/v1", "policy/v1beta1",
    ):  # fmt: skip
        raise bad_request("not an Eviction object: expected policy/v1 Eviction")
    meta = eviction.get("metadata")
    if isinstance(meta, dict) and meta.get("name") not in (None, "", call.name):
        raise bad_request("name in URL does not match name in Eviction object")
    options = _options(eviction)
    entry = api.store.table(PODS).get(call.namespace, call.name)
    if entry is None:
        raise not_found(Subject("", "pods", call.name))
    dry = call.dry_run or bool(options.dryRun)
    pod = entry.decoded()
    if not _ignores_budgets(pod):
        many = _spend(api, call, entry, pod, dry=dry)
        if many is not None:
            return many
    if not dry and not _has_disruption(pod):
        old_status = pod.get("status") or {}
        pod["status"] = {
            **old_status,
            "conditions": with_condition(old_status.get("conditions") or [], DISRUPTION, api.now()),
        }
        entry = api.store.write(PODS, pod, previous=entry)
    delete_entry(api, call, entry, options)
    return Reply(code=201, body=reply_json(success()).body, name=call.name)


def _options(eviction: Json) -> DeleteOptions:
    try:
        options = msgspec.convert(eviction.get("deleteOptions") or {}, DeleteOptions)
    except msgspec.ValidationError as error:
        raise bad_request(f"deleteOptions: {error}") from None
    check_options(options)
    return options


def _ignores_budgets(pod: Json) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _has_disruption(pod: Json) -> bool:
    return any(
        known.get("type") == "DisruptionTarget" and known.get("status") == "True"
        for known in (pod.get("status") or {}).get("conditions") or ()
    )


def _spend(api: Api, call: Call, entry: Entry, pod: Json, *, dry: bool) -> Reply | None:
    """Take one disruption from the pod's budget; an answer when there is more than one budget."""
    budgets = []
    for found in api.store.table(DISRUPTION_BUDGETS).slice(call.namespace):
        value = found.decoded()
        selector = (value.get("spec") or {}).get("selector")
        if selector is not None and selects(selector, entry.labels):
            budgets.append((found, value))
    if not budgets:
        return None
    if len(budgets) > 1:
        message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        return reply_json(ApiError(500, message, reason="").status(), 500)
    found, budget = budgets[0]
    status = budget.get("status") or {}
    if not _is_ready(pod):
        policy = (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy")
        healthy, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
        if policy == "AlwaysAllow" or (healthy >= desired > 0):
            return None
    _check(budget, status)
    if dry:
        return None
    left = status.get("disruptionsAllowed", 0) - 1
    changed = {
        **status,
        "disruptionsAllowed": left,
        "disruptedPods": {**(status.get("disruptedPods") or {}), entry.name: api.now()},
    }
    if left == 0:
        changed["conditions"] = _no_more(status.get("conditions") or [], budget, api.now())
    api.store.write(DISRUPTION_BUDGETS, {**budget, "status": changed}, previous=found)
    return None


def _no_more(conditions: list[Json], budget: Json, now: str) -> list[Json]:
    made = {
        "type": "DisruptionAllowed",
        "status": "False",
        "reason": "InsufficientPods",
        "message": "",
        "lastTransitionTime": now,
        "observedGeneration": budget["metadata"].get("generation", 0),
    }
    return [known for known in conditions if known.get("type") != "DisruptionAllowed"] + [made]


def _check(budget: Json, status: Json) -> None:
    name = budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        cause = Cause(CAUSE, f"The disruption budget {name} is still being processed by the server.")
        raise ApiError(429, VIOLATES, causes=[cause], retry_after=10)
    allowed = status.get("disruptionsAllowed", 0)
    subject = Subject("policy", "poddisruptionbudget", name)
    if allowed < 0:
        raise forbidden(subject, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or ()) > MAX_DISRUPTED:
        raise forbidden(subject, "DisruptedPods map too big - too many evictions not confirmed by PDB controller")
    if allowed == 0:
        raise ApiError(429, VIOLATES, causes=[Cause(CAUSE, _why_not(name, status))])


def _why_not(name: str, status: Json) -> str:
    condition: Json = next(
        (known for known in status.get("conditions") or () if known.get("type") == "DisruptionAllowed"), {}
    )
    told = condition.get("status") == "False" and condition.get("message")
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if told and condition.get("reason") == "SyncFailed":
        return (
            f"The disruption budget {name} does not allow evicting pods currently because it failed sync: "
            f"{condition['message']}"
        )
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    if told:
        return (
            f"The disruption budget {name} does not allow evicting pods currently ({condition.get('reason', '')}): "
            f"{condition['message']}"
        )
    return f"The disruption budget {name} does not allow evicting pods currently"


def _is_ready(pod: Json) -> bool:
    return any(
        known.get("type") == "Ready" and known.get("status") == "True"
        for known in (pod.get("status") or {}).get("conditions") or ()
    )
