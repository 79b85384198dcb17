"""Where a pod may run: tolerations, affinity, spread, and the selectors in them.

Upstream: pkg/apis/core/validation/validation.go, staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation (v1.36.4).
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stowplan.apiserver.errors import Cause
from stowplan.apiserver.names import (
    invalid_value,
    label_faults,
    qualified_faults,
    required,
    unsupported,
)

Json = dict[str, Any]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
SKEW_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
INCLUSION = ("Honor", "Ignore")
NODE_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def selector_faults(selector: Json | None, path: str) -> Iterator[Cause]:
    """A label selector of an object."""
    if selector is None:
        return
    yield from label_faults(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, rule in enumerate(selector.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{index}]"
        operator, values = rule.get("operator", ""), rule.get("values") or ()
        if operator in ("In", "NotIn"):
            if not values:
                yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                text = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield Cause("FieldValueForbidden", text, f"{where}.values")
        else:
            yield invalid_value(f"{where}.operator", operator, "not a valid selector operator")
        for why in qualified_faults(rule.get("key", "")):
            yield invalid_value(f"{where}.key", rule.get("key", ""), why)


def taint_faults(taints: Iterable[Json], path: str) -> Iterator[Cause]:
    """The taints of a node."""
    seen = set()
    for index, taint in enumerate(taints):
        where = f"{path}[{index}]"
        for why in qualified_faults(taint.get("key", "")):
            yield invalid_value(f"{where}.key", taint.get("key", ""), why)
        if not taint.get("effect"):
            yield required(f"{where}.effect")
        elif taint["effect"] not in EFFECTS:
            yield unsupported(f"{where}.effect", taint["effect"], EFFECTS)
        pair = (taint.get("key"), taint.get("effect"))
        if pair in seen:
            shown = json.dumps(
                {
                    "Key": taint.get("key", ""),
                    "Value": taint.get("value", ""),
                    "Effect": taint.get("effect", ""),
                    "TimeAdded": taint.get("timeAdded"),
                },
                separators=(",", ":"),
            )
            text = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            yield Cause("FieldValueDuplicate", text, where)
        seen.add(pair)


def toleration_faults(tolerations: Iterable[Json], path: str) -> Iterator[Cause]:
    """The tolerations of a pod."""
    for index, toleration in enumerate(tolerations):
        where = f"{path}[{index}]"
        operator, key = toleration.get("operator") or "Equal", toleration.get("key", "")
        if key:
            for why in qualified_faults(key):
                yield invalid_value(f"{where}.key", key, why)
        elif operator != "Exists":
            yield invalid_value(
                f"{where}.operator", operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            )  # fmt: skip
        if operator not in ("Equal", "Exists", "Lt", "Gt"):
            yield unsupported(f"{where}.operator", operator, ("Equal", "Exists"))
        if operator == "Exists" and toleration.get("value"):
            yield invalid_value(
                f"{where}.operator", toleration["value"], "value must be empty when `operator` is 'Exists'"
            )
        effect = toleration.get("effect")
        if effect and effect not in EFFECTS:
            yield unsupported(f"{where}.effect", effect, EFFECTS)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid_value(
                f"{where}.effect", effect or "", "effect must be 'NoExecute' when `tolerationSeconds` is set"
            )


def spread_faults(constraints: Sequence[Json], path: str) -> Iterator[Cause]:
    """Topology spread constraints."""
    kinds = [(constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")) for constraint in constraints]
    for index, constraint in enumerate(constraints):
        where = f"{path}[{index}]"
        if constraint.get("maxSkew", 0) <= 0:
            yield invalid_value(f"{where}.maxSkew", constraint.get("maxSkew", 0), "must be greater than zero")
        if not constraint.get("topologyKey"):
            yield required(f"{where}.topologyKey", "can not be empty")
        action = constraint.get("whenUnsatisfiable", "")
        if action not in SKEW_ACTIONS:
            yield unsupported(f"{where}.whenUnsatisfiable", action, SKEW_ACTIONS)
        kind = (constraint.get("topologyKey", ""), action)
        if kind in kinds[index + 1 :]:
            field = f"{where}.{{topologyKey, whenUnsatisfiable}}"
            yield Cause("FieldValueDuplicate", f'Duplicate value: "{{{kind[0]}, {kind[1]}}}"', field)
        least = constraint.get("minDomains")
        if least is not None and least <= 0:
            yield invalid_value(f"{where}.minDomains", least, "must be greater than 0")
        if least is not None and action != "DoNotSchedule":
            text = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway"
            yield invalid_value(f"{where}.minDomains", least, text)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name) is not None and constraint[name] not in INCLUSION:
                yield unsupported(f"{where}.{name}", constraint[name], INCLUSION)
        yield from selector_faults(constraint.get("labelSelector"), f"{where}.labelSelector")


def affinity_faults(affinity: Json, path: str) -> Iterator[Cause]:
    """Node and pod affinity."""
    node = affinity.get("nodeAffinity") or {}
    needed = node.get("requiredDuringSchedulingIgnoredDuringExecution")
    if needed is not None:
        yield from node_selector_faults(needed, f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution")
    for index, wish in enumerate(node.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
        where = f"{path}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
        yield from _weight_faults(wish, where)
        yield from _node_term_faults(wish.get("preference") or {}, f"{where}.preference")
    for side in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(side) or {}
        for index, term in enumerate(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()):
            yield from _pod_term_faults(term, f"{path}.{side}.requiredDuringSchedulingIgnoredDuringExecution[{index}]")
        for index, wish in enumerate(rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()):
            where = f"{path}.{side}.preferredDuringSchedulingIgnoredDuringExecution[{index}]"
            yield from _weight_faults(wish, where)
            yield from _pod_term_faults(wish.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _weight_faults(wish: Json, where: str) -> Iterator[Cause]:
    weight = wish.get("weight", 0)
    if not 1 <= weight <= 100:
        yield invalid_value(f"{where}.weight", weight, "must be in the range 1-100")


def node_selector_faults(selector: Json, path: str) -> Iterator[Cause]:
    """A node selector."""
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term_faults(term, f"{path}.nodeSelectorTerms[{index}]")


def _node_term_faults(term: Json, path: str) -> Iterator[Cause]:
    for name in ("matchExpressions", "matchFields"):
        for index, rule in enumerate(term.get(name) or ()):
            where = f"{path}.{name}[{index}]"
            operator, values = rule.get("operator", ""), rule.get("values") or ()
            if operator in ("In", "NotIn") and not values:
                yield required(f"{where}.values", "must be specified when `operator` is 'In' or 'NotIn'")
            elif operator in ("Exists", "DoesNotExist") and values:
                text = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield Cause("FieldValueForbidden", text, f"{where}.values")
            elif operator in ("Gt", "Lt") and len(values) != 1:
                yield required(f"{where}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
            elif operator not in NODE_OPERATORS:
                yield invalid_value(f"{where}.operator", operator, "not a valid selector operator")
            if name == "matchExpressions":
                for why in qualified_faults(rule.get("key", "")):
                    yield invalid_value(f"{where}.key", rule.get("key", ""), why)
            elif rule.get("key") != "metadata.name":
                yield invalid_value(f"{where}.key", rule.get("key", ""), "not a valid field selector key")


def _pod_term_faults(term: Json, path: str) -> Iterator[Cause]:
    yield from selector_faults(term.get("labelSelector"), f"{path}.labelSelector")
    yield from selector_faults(term.get("namespaceSelector"), f"{path}.namespaceSelector")
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{path}.topologyKey", "can not be empty")
    for why in qualified_faults(key):
        yield invalid_value(f"{path}.topologyKey", key, why)
