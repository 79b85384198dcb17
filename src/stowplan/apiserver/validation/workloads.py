"""What the kinds that own pods may say, and what of it may change.

Upstream: pkg/apis/apps/validation, pkg/apis/batch/validation (v1.36.4).
"""

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import immutable, invalid_value, label_faults, required, unsupported
from stowplan.apiserver.validation.placement import selector_faults
from stowplan.apiserver.validation.pods import spec_faults

Json = dict[str, Any]

SET_FREE = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip
SET_FROZEN = (
    "Forbidden: updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are "
    "forbidden"
)
SHARE_LENGTH = 10
"""Longer shares are too large, whatever they say."""

PERCENT = re.compile(r"^[0-9]+%$")
SCHEDULE = re.compile(
    r"^(?:TZ=\S+ |CRON_TZ=\S+ )?"
    r"(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly|every \S+)|(?:\S+\s+){4}\S+)$"
)
UPDATES = ("RollingUpdate", "OnDelete")
CONCURRENCY = ("Allow", "Forbid", "Replace")


def selects(selector: Json, labels: dict[str, str]) -> bool:
    """True when a label selector of an object matches labels."""
    for key, value in (selector.get("matchLabels") or {}).items():
        if labels.get(key) != value:
            return False
    for rule in selector.get("matchExpressions") or ():
        value, operator, values = labels.get(rule.get("key", "")), rule.get("operator"), rule.get("values") or ()
        if operator == "In" and value not in values:
            return False
        if operator == "NotIn" and value is not None and value in values:
            return False
        if operator == "Exists" and value is None:
            return False
        if operator == "DoesNotExist" and value is not None:
            return False
    return True


def template_faults(spec: Json, path: str, policies: tuple[str, ...]) -> Iterator[Cause]:
    """The pod template of a workload."""
    template = spec.get("template") or {}
    pod = template.get("spec") or {}
    yield from label_faults((template.get("metadata") or {}).get("labels") or {}, f"{path}.template.metadata.labels")
    yield from spec_faults(pod, f"{path}.template.spec")
    policy = pod.get("restartPolicy", "Always")
    if policy in policies:
        return
    where = f"{path}.template.spec.restartPolicy"
    if policy == "Always":
        yield required(where, "valid values: " + ", ".join(f'"{choice}"' for choice in policies))
    else:
        yield unsupported(where, policy, policies)


def validate_set(value: Json) -> Iterator[Cause]:
    """A Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    spec = value.get("spec") or {}
    selector = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    yield from _not_negative(spec, ("replicas", "minReadySeconds", "revisionHistoryLimit"))
    if selector is None:
        yield required("spec.selector")
        selects_nothing = True
    else:
        yield from selector_faults(selector, "spec.selector")
        selects_nothing = not selects(selector, labels)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            # parity: a ReplicaSet is called a deployment here
            kind = str(value.get("kind", "")).lower().replace("replicaset", "deployment")
            text = f"Invalid value: {{}}: empty selector is invalid for {kind}"
            yield Cause("FieldValueInvalid", text, "spec.selector")
    if selects_nothing:
        shown = msgspec.json.encode(labels or None, order="sorted").decode()
        yield Cause("FieldValueInvalid", f"Invalid value: {shown}: `selector` does not match template `labels`",
                    "spec.template.metadata.labels")  # fmt: skip
    yield from template_faults(spec, "spec", ("Always",))


def _strategy(kind: object) -> str:
    """An unknown strategy, as it is shown."""
    return f'{{"Type":"{kind}","RollingUpdate":null}}'


def validate_daemon_set(value: Json) -> Iterator[Cause]:
    """A DaemonSet."""
    yield from validate_set(value)
    kind = ((value.get("spec") or {}).get("updateStrategy") or {}).get("type")
    if kind not in UPDATES:
        text = f'Unsupported value: {_strategy(kind)}: supported values: "RollingUpdate", "OnDelete"'
        yield Cause("FieldValueNotSupported", text, "spec.updateStrategy")


def validate_deployment(value: Json) -> Iterator[Cause]:
    """A Deployment."""
    yield from validate_set(value)
    strategy = (value.get("spec") or {}).get("strategy") or {}
    kind = strategy.get("type")
    if kind not in ("Recreate", "RollingUpdate"):
        text = f'Unsupported value: {_strategy(kind)}: supported values: "Recreate", "RollingUpdate"'
        yield Cause("FieldValueNotSupported", text, "spec.strategy")
    rolling = strategy.get("rollingUpdate")
    if kind == "Recreate" and rolling is not None:
        text = "Forbidden: may not be specified when strategy `type` is 'Recreate'"
        yield Cause("FieldValueForbidden", text, "spec.strategy.rollingUpdate")
    if rolling is not None:
        for name in ("maxUnavailable", "maxSurge"):
            yield from int_or_percent_faults(rolling.get(name, 0), f"spec.strategy.rollingUpdate.{name}")
        if rolling.get("maxUnavailable") in (0, "0%") and rolling.get("maxSurge") in (0, "0%"):
            yield invalid_value("spec.strategy.rollingUpdate.maxUnavailable", 0, "may not be 0 when `maxSurge` is 0")


def int_or_percent_faults(value: Any, path: str, *, most: int = 0) -> Iterator[Cause]:
    """A count or a share; `most` bounds a share."""
    if isinstance(value, int) and value < 0:
        yield invalid_value(path, value, "must be greater than or equal to 0")
    if isinstance(value, str) and not PERCENT.match(value):
        text = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"  # noqa: E501
        yield invalid_value(path, value, text)
    elif isinstance(value, str) and most and (len(value) > SHARE_LENGTH or int(value[:-1]) > most):
        yield invalid_value(path, value, f"must not be greater than {most}%")


def validate_stateful_set(value: Json) -> Iterator[Cause]:
    """A StatefulSet."""
    yield from validate_set(value)
    policy = (value.get("spec") or {}).get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        yield invalid_value("spec.podManagementPolicy", policy, text)
    kind = ((value.get("spec") or {}).get("updateStrategy") or {}).get("type")
    if kind not in UPDATES:
        text = f"Invalid value: {_strategy(kind)}: must be 'RollingUpdate' or 'OnDelete'"
        yield Cause("FieldValueInvalid", text, "spec.updateStrategy")


def validate_controller(value: Json) -> Iterator[Cause]:
    """A ReplicationController."""
    spec = value.get("spec") or {}
    yield from _not_negative(spec, ("replicas", "minReadySeconds"))
    if not spec.get("selector"):
        yield required("spec.selector")
    if spec.get("template") is None:
        yield required("spec.template")
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    if spec.get("selector") and not selects({"matchLabels": spec["selector"]}, labels):
        yield invalid_value("spec.template.metadata.labels", "{}", "`selector` does not match template `labels`")
    yield from template_faults(spec, "spec", ("Always",))


def validate_job(value: Json) -> Iterator[Cause]:
    """A Job."""
    spec = value.get("spec") or {}
    yield from job_spec_faults(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    elif not selects(selector, ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}):
        yield invalid_value("spec.template.metadata.labels", "{}", "`selector` does not match template `labels`")


def job_spec_faults(spec: Json, path: str) -> Iterator[Cause]:
    """What a job is to do."""
    names = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished")
    for cause in _not_negative(spec, names):
        yield Cause(cause.reason, cause.message, cause.field.replace("spec", path, 1))
    mode = spec.get("completionMode", "NonIndexed")
    if mode not in ("NonIndexed", "Indexed"):
        yield unsupported(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed" and spec.get("completions") is None:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    yield from template_faults(spec, path, ("OnFailure", "Never"))


def validate_cron_job(value: Json) -> Iterator[Cause]:
    """A CronJob."""
    spec = value.get("spec") or {}
    schedule = spec.get("schedule", "")
    if not schedule:
        yield required("spec.schedule")
    elif not SCHEDULE.match(schedule.strip()):
        fields = len(schedule.split())
        yield invalid_value("spec.schedule", schedule, f"expected exactly 5 fields, found {fields}: [{schedule}]")
    if spec.get("concurrencyPolicy") not in CONCURRENCY:
        yield unsupported("spec.concurrencyPolicy", spec.get("concurrencyPolicy"), CONCURRENCY)
    yield from job_spec_faults((spec.get("jobTemplate") or {}).get("spec") or {}, "spec.jobTemplate.spec")


def keep_selector(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """The selector of a workload stands."""
    if not subresource and value["spec"].get("selector") != old["spec"].get("selector"):
        yield immutable("spec.selector", value["spec"].get("selector"))


def keep_job_parts(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """A job's selector, template and mode stand, once it is started."""
    if subresource:
        return
    spec, known = value["spec"], old["spec"]
    yield from keep_selector(value, old, subresource)
    suspended = known.get("suspend") and not (old.get("status") or {}).get("startTime")
    names = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"]
    if not suspended:
        names.append("template")
    if known.get("completionMode") != "Indexed":
        names.append("completions")
    for name in names:
        if spec.get(name) != known.get(name):
            yield immutable(f"spec.{name}", spec.get(name))


def keep_set_parts(value: Json, old: Json, subresource: str) -> Iterator[Cause]:
    """Most of a StatefulSet stands."""
    if subresource:
        return
    rest = {name: part for name, part in value["spec"].items() if name not in SET_FREE}
    known = {name: part for name, part in old["spec"].items() if name not in SET_FREE}
    if rest != known:
        yield Cause("FieldValueForbidden", SET_FROZEN, "spec")


def _not_negative(spec: Json, names: tuple[str, ...]) -> Iterator[Cause]:
    for name in names:
        number = spec.get(name)
        if isinstance(number, int) and number < 0:
            yield invalid_value(f"spec.{name}", number, "must be greater than or equal to 0")
