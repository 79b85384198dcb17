"""What an added node affinity may be.

Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go,
apimachinery/pkg/labels/selector.go (v1.36.4).
"""

import re
from collections.abc import Sequence
from typing import Final

from stowplan.config.decode import Values
from stowplan.config.fields import child, index, invalid, not_supported
from stowplan.config.names import label_key_faults, label_value_faults

OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
FIELD_OPERATORS: Final = ("In", "NotIn")

_INTEGER: Final = re.compile(r"[-+]?[0-9]+")


def node_affinity_errors(path: str, affinity: Values) -> list[str]:
    """The faults of an affinity given as its set fields; terms that select nothing are not looked at."""
    errors = []
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms_path = child(path, "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    for position, term in enumerate(required.get("nodeSelectorTerms", ())):
        errors += _term(index(terms_path, position), term)
    terms_path = child(path, "preferredDuringSchedulingIgnoredDuringExecution")
    for position, preferred in enumerate(affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ())):
        if preferred.get("weight", 0) != 0:
            errors += _term(index(terms_path, position), preferred.get("preference", {}))
    return errors


def _term(path: str, term: Values) -> list[str]:
    errors = []
    for position, requirement in enumerate(term.get("matchExpressions", ())):
        errors += _label_requirement(index(child(path, "matchExpressions"), position), requirement)
    for position, requirement in enumerate(term.get("matchFields", ())):
        errors += _field_requirement(index(child(path, "matchFields"), position), requirement)
    return errors


def _label_requirement(path: str, requirement: Values) -> list[str]:
    operator = requirement.get("operator", "")
    if operator not in OPERATORS:
        return [not_supported(child(path, "operator"), operator, OPERATORS)]
    key, values = requirement.get("key", ""), requirement.get("values")
    errors = []
    if faults := label_key_faults(key):
        errors.append(invalid(child(path, "key"), key, "; ".join(faults)))
    errors += _value_count(child(path, "values"), operator, values)
    for position, value in enumerate(values or ()):
        if faults := label_value_faults(value):
            # parity: upstream's path has the key after the position
            value_path = f"{index(child(path, 'values'), position)}[{key}]"
            errors.append(invalid(value_path, value, "; ".join(faults)))
    return errors


def _value_count(path: str, operator: str, values: Sequence[str] | None) -> list[str]:
    given = values or ()
    match operator:
        case "In" | "NotIn":
            if not given:
                return [invalid(path, values, "for 'in', 'notin' operators, values set can't be empty")]
        case "Exists" | "DoesNotExist":
            if given:
                return [invalid(path, values, "values set must be empty for exists and does not exist")]
        case "Gt" | "Lt":
            errors = []
            if len(given) != 1:
                errors.append(invalid(path, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
            detail = "for 'Gt', 'Lt' operators, the value must be an integer"
            errors += [
                invalid(index(path, position), value, detail)
                for position, value in enumerate(given)
                if not _is_int64(value)
            ]
            return errors
    return []


def _field_requirement(path: str, requirement: Values) -> list[str]:
    operator = requirement.get("operator", "")
    if operator not in FIELD_OPERATORS:
        return [not_supported(child(path, "operator"), operator, FIELD_OPERATORS)]
    values = requirement.get("values")
    if len(values or ()) != 1:
        return [invalid(child(path, "values"), values, "must have one element")]
    return []


def _is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63
