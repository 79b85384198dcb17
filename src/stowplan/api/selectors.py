"""Label selectors, compiled: hashable, comparable by meaning, matchable.

Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go and apis/meta/v1/helpers.go (v1.36.4).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import final

from stowplan.api.errors import SelectorError
from stowplan.api.gotext import aggregate, invalid, label_key_errors, label_value_errors, quote
from stowplan.api.meta import LabelSelector


class Operator(StrEnum):
    """What a requirement asks of a label; equality is In with one value."""

    IN = "in"
    NOT_IN = "notin"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"
    GREATER_THAN = "gt"
    LESS_THAN = "lt"


EXACT = "exact-match compatibility requires one single value"
_LABEL_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


@final
@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One condition on one label; values are sorted and distinct, so equal conditions are equal objects."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels meets the condition."""
        value = labels.get(self.key)
        return self.holds(value)

    def holds(self, value: str | None) -> bool:
        """Whether the label may have this value, None for not having the label."""
        match self.operator:
            case Operator.IN:
                return value is not None and value in self.values
            case Operator.NOT_IN:
                return value is None or value not in self.values
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        have = None if value is None else go_int64(value)
        want = go_int64(self.values[0])
        if have is None or want is None:
            return False
        return have > want if self.operator is Operator.GREATER_THAN else have < want

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.DOES_NOT_EXIST:
                return f"!{self.key}"
            case Operator.GREATER_THAN:
                return f"{self.key}>{self.values[0]}"
            case Operator.LESS_THAN:
                return f"{self.key}<{self.values[0]}"
            case Operator.IN if len(self.values) == 1:
                return f"{self.key}={self.values[0]}"
            case Operator.NOT_IN if len(self.values) == 1:
                return f"{self.key}!={self.values[0]}"
            case _:
                return f"{self.key} {self.operator} ({','.join(self.values)})"


@final
@dataclass(frozen=True)
class Selector:
    """All requirements must hold; None selects nothing, an empty tuple everything."""

    requirements: tuple[Requirement, ...] | None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        if self.requirements is None:
            return False
        if self._exact is not None:
            return self._exact.items() <= labels.items()
        return all(requirement.matches(labels) for requirement in self.requirements)

    @property
    def is_everything(self) -> bool:
        """Whether every object is selected."""
        return self.requirements == ()

    @property
    def is_nothing(self) -> bool:
        """Whether no object is selected, whatever its labels."""
        return self.requirements is None

    def exact_value(self, key: str) -> str | None:
        """The one value that the label must have, if the selector asks for exactly one."""
        for requirement in self.requirements or ():
            if requirement.key == key:
                only = requirement.operator is Operator.IN and len(requirement.values) == 1
                return requirement.values[0] if only else None
        return None

    # perf: most selectors are plain equalities; one subset test of dict items is a third of the loop
    @cached_property
    def _exact(self) -> dict[str, str] | None:
        wanted: dict[str, str] = {}
        for requirement in self.requirements or ():
            if requirement.operator is not Operator.IN or len(requirement.values) != 1 or requirement.key in wanted:
                return None
            wanted[requirement.key] = requirement.values[0]
        return wanted

    def __str__(self) -> str:
        return ",".join(str(requirement) for requirement in self.requirements or ())


NOTHING = Selector(None)
EVERYTHING = Selector(())


def selector_of(requirements: Iterable[Requirement]) -> Selector:
    """The selector of these requirements, in canonical order."""
    return Selector(tuple(sorted(set(requirements))))


def selector_from_labels(labels: Mapping[str, str]) -> Selector:
    """The selector of exactly these labels, not validated; no labels select everything."""
    return selector_of(Requirement(key, Operator.IN, (value,)) for key, value in labels.items())


def compile_label_selector(selector: LabelSelector | None) -> Selector:
    """Compile a label selector: None selects nothing, an empty one everything; SelectorError with upstream's text."""
    if selector is None:
        return NOTHING
    found = [requirement(key, Operator.IN, (value,), shown="=") for key, value in selector.match_labels.items()]
    for expression in selector.match_expressions:
        operator = _LABEL_OPERATORS.get(expression.operator)
        if operator is None:
            raise SelectorError(f"{quote(expression.operator)} is not a valid label selector operator")
        found.append(requirement(expression.key, operator, expression.values))
    return selector_of(found)


def requirement(
    key: str, operator: Operator, values: Sequence[str] = (), *, shown: str = "", path: str = ""
) -> Requirement:
    """One validated requirement; SelectorError with upstream's text, naming fields under `path`."""
    errors = requirement_errors(key, operator, values, exact=shown in {"=", "==", "!="}, path=path)
    if errors:
        raise SelectorError(aggregate(errors))
    return Requirement(key, operator, tuple(sorted(set(values))))


def requirement_errors(
    key: str, operator: Operator, values: Sequence[str], *, exact: bool = False, path: str = ""
) -> list[str]:
    """What is wrong with a requirement, as upstream's NewRequirement lists it."""
    prefix = f"{path}." if path else ""
    errors: list[str] = []
    key_errors = label_key_errors(key)
    if key_errors:
        errors.append(invalid(f"{prefix}key", key, "; ".join(key_errors)))
    where = f"{prefix}values"
    if exact and len(values) != 1:
        errors.append(invalid(where, values, EXACT))
    elif operator in {Operator.IN, Operator.NOT_IN} and not values:
        errors.append(invalid(where, values, "for 'in', 'notin' operators, values set can't be empty"))
    elif operator in {Operator.EXISTS, Operator.DOES_NOT_EXIST} and values:
        errors.append(invalid(where, values, "values set must be empty for exists and does not exist"))
    elif operator in {Operator.GREATER_THAN, Operator.LESS_THAN}:
        if len(values) != 1:
            errors.append(invalid(where, values, "for 'Gt', 'Lt' operators, exactly one value is required"))
        errors.extend(
            invalid(f"{where}[{index}]", value, "for 'Gt', 'Lt' operators, the value must be an integer")
            for index, value in enumerate(values)
            if go_int64(value) is None
        )
    for index, value in enumerate(values):
        value_errors = label_value_errors(value)
        if value_errors:
            errors.append(invalid(f"{where}[{index}][{key}]", value, "; ".join(value_errors)))
    return list(dict.fromkeys(errors))


def go_int64(text: str) -> int | None:
    """The number that Go's ParseInt(text, 10, 64) reads, None when it refuses."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not digits or not digits.isascii() or not digits.isdigit():
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
