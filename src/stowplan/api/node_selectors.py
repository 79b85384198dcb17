"""Node selectors, compiled: terms over labels and fields, with errors that show only when no term matches.

Upstream: staging/src/k8s.io/component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from stowplan.api.affinity import (
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PreferredSchedulingTerm,
    TopologySelectorTerm,
)
from stowplan.api.errors import SelectorError
from stowplan.api.gotext import aggregate, invalid, not_supported
from stowplan.api.pod import Pod
from stowplan.api.selectors import Operator, Requirement, Selector, requirement_errors, selector_from_labels

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
NODE_NAME_FIELD = "metadata.name"


@final
@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One condition on a field of a node; fields other than metadata.name read as empty."""

    key: str
    value: str
    equal: bool

    def matches(self, node_name: str) -> bool:
        """Whether a node of this name meets the condition."""
        have = node_name if self.key == NODE_NAME_FIELD else ""
        return (have == self.value) is self.equal


@final
@dataclass(frozen=True, slots=True)
class Term:
    """Conditions that must all hold; a term with errors matches nothing and says why."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name meets the term."""
        if self.errors:
            return False
        if not all(requirement.matches(labels) for requirement in self.labels):
            return False
        # parity: fields are not looked at when the node has none, that is, no name
        return not node_name or all(condition.matches(node_name) for condition in self.fields)


@final
@dataclass(frozen=True, slots=True)
class NodeMatcher:
    """A compiled node selector: one term must hold; without terms it matches no node."""

    terms: tuple[Term, ...]

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name is selected."""
        return any(term.matches(labels, node_name) for term in self.terms)

    @property
    def error(self) -> str | None:
        """What upstream reports for a node that no term matches, when some term is malformed; else None."""
        errors = [error for term in self.terms for error in term.errors]
        return aggregate(errors) if errors else None


@final
@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A preferred term and what it adds to the score."""

    weight: int
    term: Term


@final
@dataclass(frozen=True, slots=True)
class RequiredNodes:
    """Both halves of what a pod requires of its node; None is no requirement."""

    selector: Selector | None
    affinity: NodeMatcher | None

    def matches(self, labels: Mapping[str, str], node_name: str) -> bool:
        """Whether a node with these labels and this name satisfies the pod."""
        if self.selector is not None and not self.selector.matches(labels):
            return False
        return self.affinity is None or self.affinity.matches(labels, node_name)

    @property
    def error(self) -> str | None:
        """What is malformed in the affinity, reported for nodes that the selector lets pass and no term matches."""
        return None if self.affinity is None else self.affinity.error


def compile_node_selector(selector: NodeSelector, path: str = "") -> NodeMatcher:
    """Compile a node selector; malformed terms are kept with their errors, empty ones match nothing."""
    where = _child(path, "nodeSelectorTerms")
    return NodeMatcher(
        tuple(
            _compile_term(term, f"{where}[{index}]")
            for index, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


def compile_preferred(terms: Sequence[PreferredSchedulingTerm], path: str = "") -> tuple[WeightedTerm, ...]:
    """Compile preferred terms, leaving out weightless and empty ones; SelectorError with all that is malformed."""
    found = [
        WeightedTerm(term.weight, _compile_term(term.preference, f"{path}[{index}]"))
        for index, term in enumerate(terms)
        if term.weight != 0 and not _is_empty(term.preference)
    ]
    errors = [error for weighted in found for error in weighted.term.errors]
    if errors:
        raise SelectorError(aggregate(errors))
    return tuple(found)


def required_nodes(pod: Pod) -> RequiredNodes:
    """What the pod's node selector and required node affinity ask for."""
    selector = selector_from_labels(pod.spec.node_selector) if pod.spec.node_selector else None
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity.required if affinity else None
    return RequiredNodes(selector, None if required is None else compile_node_selector(required))


def matches_topology(terms: Sequence[TopologySelectorTerm], labels: Mapping[str, str]) -> bool:
    """Whether labels lie within allowed topologies: no terms allow everything, an empty term nothing."""
    if not terms:
        return True
    return any(
        term.match_label_expressions
        and all(labels.get(wanted.key) in wanted.values for wanted in term.match_label_expressions)
        for term in terms
    )


def _compile_term(term: NodeSelectorTerm, path: str) -> Term:
    errors: list[str] = []
    labels = _compile_labels(term.match_expressions, _child(path, "matchExpressions"), errors)
    fields = _compile_fields(term.match_fields, _child(path, "matchFields"), errors)
    return Term(errors=tuple(errors)) if errors else Term(labels, fields)


def _compile_labels(
    expressions: Sequence[NodeSelectorRequirement], path: str, errors: list[str]
) -> tuple[Requirement, ...]:
    found: set[Requirement] = set()
    for index, expression in enumerate(expressions):
        where = f"{path}[{index}]"
        operator = _OPERATORS.get(expression.operator)
        if operator is None:
            errors.append(not_supported(f"{where}.operator", expression.operator, tuple(_OPERATORS)))
            continue
        wrong = requirement_errors(expression.key, operator, expression.values, path=where)
        errors.extend(wrong)
        if not wrong:
            found.add(Requirement(expression.key, operator, tuple(sorted(set(expression.values)))))
    return tuple(sorted(found))


def _compile_fields(
    expressions: Sequence[NodeSelectorRequirement], path: str, errors: list[str]
) -> tuple[FieldRequirement, ...]:
    found: list[FieldRequirement] = []
    for index, expression in enumerate(expressions):
        where = f"{path}[{index}]"
        if expression.operator not in {"In", "NotIn"}:
            errors.append(not_supported(f"{where}.operator", expression.operator, ("In", "NotIn")))
        elif len(expression.values) != 1:
            errors.append(invalid(f"{where}.values", expression.values, "must have one element"))
        else:
            found.append(FieldRequirement(expression.key, expression.values[0], expression.operator == "In"))
    return tuple(found)


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
