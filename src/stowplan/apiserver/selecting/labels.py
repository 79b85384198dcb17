"""Label selectors in their text form: `app=web,tier in (a,b),!legacy,weight>3`.

Upstream: staging/src/k8s.io/apimachinery/pkg/labels/selector.go (v1.36.4).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Operator = Literal["=", "!=", "in", "notin", "exists", "!", ">", "<"]

TOKEN = re.compile(r"\s*(?:(==|!=|=|!|>|<|,|\(|\))|([^\s=!<>,()]+))")
KEY = re.compile(r"^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$")
VALUE = re.compile(r"^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$")
MAX_LENGTH = 65_536


class BadSelectorError(ValueError):
    """Raised when a selector cannot be read."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label."""

    key: str
    operator: Operator
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when the labels meet the condition."""
        value = labels.get(self.key)
        if self.operator in ("=", "in"):
            return value is not None and value in self.values
        if self.operator in ("!=", "notin"):
            return value is None or value not in self.values
        if self.operator == "exists":
            return value is not None
        if self.operator == "!":
            return value is None
        if value is None or not value.lstrip("-").isdecimal():
            return False
        bound = int(next(iter(self.values)))
        return int(value) > bound if self.operator == ">" else int(value) < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All conditions must hold; none: everything matches."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """True when all conditions hold."""
        return all(requirement.matches(labels) for requirement in self.requirements)


@lru_cache(maxsize=1024)
def parse_labels(text: str) -> LabelSelector:
    """Read a selector."""
    if len(text) > MAX_LENGTH:
        raise BadSelectorError("the label selector is too long")
    tokens = _tokens(text)
    requirements: list[Requirement] = []
    position = 0
    while position < len(tokens):
        requirement, position = _requirement(tokens, position)
        requirements.append(requirement)
        if position < len(tokens):
            if tokens[position] != ",":
                raise BadSelectorError(f"found '{tokens[position]}', expected: ',' or 'end of string'")
            position += 1
            if position == len(tokens):
                raise BadSelectorError("found '', expected: identifier after ','")
    return LabelSelector(tuple(requirements))


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    position = 0
    stripped = text.rstrip()
    while position < len(stripped):
        match = TOKEN.match(stripped, position)
        if match is None:
            raise BadSelectorError(f"unable to parse requirement: unexpected character in '{text}'")
        tokens.append(match[1] or match[2])
        position = match.end()
    return tokens


def _requirement(tokens: list[str], position: int) -> tuple[Requirement, int]:
    def at(index: int) -> str:
        return tokens[index] if index < len(tokens) else ""

    if at(position) == "!":
        return Requirement(_key(at(position + 1)), "!"), position + 2
    key, operator = _key(at(position)), at(position + 1)
    if operator in ("", ","):
        return Requirement(key, "exists"), position + 1
    if operator in ("in", "notin"):
        values, end = _value_list(tokens, position + 2)
        return Requirement(key, "in" if operator == "in" else "notin", values), end
    if operator not in ("=", "==", "!=", ">", "<"):
        raise BadSelectorError(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
    value = at(position + 2)
    taken = 3
    if value in ("", ","):
        value, taken = "", 2
    if operator in (">", "<"):
        if not value.lstrip("-").isdecimal() or len(value) > 19:
            raise BadSelectorError(f"for 'Gt', 'Lt' operators, the value must be an integer: \"{value}\"")
        return Requirement(key, ">" if operator == ">" else "<", frozenset((value,))), position + taken
    return Requirement(key, "!=" if operator == "!=" else "=", frozenset((_value(value),))), position + taken


def _value_list(tokens: list[str], position: int) -> tuple[frozenset[str], int]:
    if position >= len(tokens) or tokens[position] != "(":
        raise BadSelectorError(f"found '{tokens[position] if position < len(tokens) else ''}', expected: '('")
    position += 1
    values: set[str] = set()
    expecting = True
    while position < len(tokens) and tokens[position] != ")":
        part = tokens[position]
        if part == ",":
            if expecting:
                values.add("")
            expecting = True
        else:
            values.add(_value(part))
            expecting = False
        position += 1
    if position >= len(tokens):
        raise BadSelectorError("found '', expected: ',', ')' or identifier")
    if expecting:
        values.add("")
    return frozenset(values), position + 1


def _key(text: str) -> str:
    if not KEY.match(text):
        raise BadSelectorError(
            f'key: Invalid value: "{text}": name part must consist of alphanumeric characters, "-", "_" or ".", '
            "and must start and end with an alphanumeric character"
        )
    return text


def _value(text: str) -> str:
    if not VALUE.match(text):
        raise BadSelectorError(
            f'values[0][key]: Invalid value: "{text}": a valid label must be an empty string or consist of '
            "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
        )
    return text
