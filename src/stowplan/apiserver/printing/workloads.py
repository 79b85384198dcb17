"""The tables of the kinds that own pods.

Upstream: pkg/printers/internalversion/printers.go (v1.36.4).
"""

from stowplan.apiserver.printing.columns import (
    NONE,
    UNSET,
    Cells,
    Json,
    Printer,
    age,
    columns,
    containers_text,
    human_duration,
    joined,
    name_of,
    seconds_of,
    selector_text,
    since,
)


def _template(value: Json) -> Json:
    return ((value.get("spec") or {}).get("template") or {}).get("spec") or {}


def deployment_row(value: Json, now: float) -> Cells:
    """Ready of wanted, up to date, available."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        name_of(value), f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0), status.get("availableReplicas", 0), age(value, now),
        *containers_text(_template(value)), selector_text(spec.get("selector")),
    ]  # fmt: skip


def replica_set_row(value: Json, now: float) -> Cells:
    """Desired, current, ready."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    selector = spec.get("selector")
    plain = selector is not None and not ({"matchLabels", "matchExpressions"} & selector.keys())
    return [
        name_of(value), spec.get("replicas", 0), status.get("replicas", 0), status.get("readyReplicas", 0),
        age(value, now), *containers_text(_template(value)), joined(selector) if plain else selector_text(selector),
    ]  # fmt: skip


def stateful_set_row(value: Json, now: float) -> Cells:
    """Ready of wanted."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [name_of(value), ready, age(value, now), *containers_text(_template(value))]


def daemon_set_row(value: Json, now: float) -> Cells:
    """Desired, current, ready, up to date, available."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    return [
        name_of(value), status.get("desiredNumberScheduled", 0), status.get("currentNumberScheduled", 0),
        status.get("numberReady", 0), status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0),
        joined(_template(value).get("nodeSelector")), age(value, now), *containers_text(_template(value)),
        selector_text(spec.get("selector")),
    ]  # fmt: skip


def job_row(value: Json, now: float) -> Cells:
    """Status, completions, duration."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    done = status.get("succeeded", 0)
    parallel = spec.get("parallelism") or 0
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    else:
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    duration = ""
    started = seconds_of(status.get("startTime"))
    if started is not None:
        ended = seconds_of(status.get("completionTime"))
        duration = human_duration((now if ended is None else ended) - started)
    return [
        name_of(value), job_state(value), completions, duration, age(value, now), *containers_text(_template(value)),
        selector_text(spec.get("selector")),
    ]  # fmt: skip


def job_state(value: Json) -> str:
    """A job's condition in a word."""
    true = {
        found.get("type")
        for found in (value.get("status") or {}).get("conditions") or ()
        if found.get("status") == "True"
    }
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if "deletionTimestamp" in value["metadata"]:
        return "Terminating"
    if "Suspended" in true:
        return "Suspended"
    if "FailureTarget" in true:
        return "FailureTarget"
    return "SuccessCriteriaMet" if "SuccessCriteriaMet" in true else "Running"


def cron_job_row(value: Json, now: float) -> Cells:
    """Schedule, and when it last ran."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    last = status.get("lastScheduleTime")
    template = ((spec.get("jobTemplate") or {}).get("spec") or {}).get("template") or {}
    return [
        name_of(value), spec.get("schedule", ""), spec.get("timeZone") or NONE,
        "True" if spec.get("suspend") else "False", len(status.get("active") or ()),
        since(last, now) if last else NONE, age(value, now), *containers_text(template.get("spec")),
        selector_text(((spec.get("jobTemplate") or {}).get("spec") or {}).get("selector")),
    ]  # fmt: skip


def autoscaler_row(value: Json, now: float) -> Cells:
    """What is scaled, between which bounds."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    target = spec.get("scaleTargetRef") or {}
    lowest = spec.get("minReplicas", UNSET)
    return [
        name_of(value), f"{target.get('kind', '')}/{target.get('name', '')}", "<unknown>", str(lowest),
        spec.get("maxReplicas", 0), status.get("currentReplicas", 0), age(value, now),
    ]  # fmt: skip


CONTAINERS = ("Containers", "Images")
WITH_SELECTOR = (*CONTAINERS, "Selector")
COUNTS = ("Desired", "Current", "Ready", "Up-to-date", "Available", "Active", "MaxPods", "Replicas")

DEPLOYMENTS = Printer(
    columns("Ready", "Up-to-date", "Available", "Age", wide=WITH_SELECTOR, numbers=("Up-to-date", "Available")),
    deployment_row,
)
REPLICA_SETS = Printer(
    columns("Desired", "Current", "Ready", "Age", wide=WITH_SELECTOR, numbers=COUNTS), replica_set_row
)
STATEFUL_SETS = Printer(columns("Ready", "Age", wide=CONTAINERS), stateful_set_row)
DAEMON_SETS = Printer(
    columns(
        "Desired",
        "Current",
        "Ready",
        "Up-to-date",
        "Available",
        "Node Selector",
        "Age",
        wide=WITH_SELECTOR,
        numbers=COUNTS,
    ),
    daemon_set_row,
)
JOBS = Printer(columns("Status", "Completions", "Duration", "Age", wide=WITH_SELECTOR), job_row)
CRON_JOBS = Printer(
    columns(
        "Schedule", "Timezone", "Suspend", "Active", "Last Schedule", "Age", wide=WITH_SELECTOR, numbers=("Active",)
    ),
    cron_job_row,
)
AUTOSCALERS = Printer(
    columns("Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age", numbers=("MaxPods", "Replicas")),
    autoscaler_row,
)
