"""All callable functions by name, and the choice of the overload that takes the arguments at hand.

Upstream: vendor/github.com/google/cel-go/interpreter/planner.go and common/decls/decls.go (v1.36.4).
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from stowplan.plugins.dynamic_resources.cel.extensions import EXTENSIONS
from stowplan.plugins.dynamic_resources.cel.library import KUBERNETES
from stowplan.plugins.dynamic_resources.cel.standard import NO_OVERLOAD, OPERATORS, Function
from stowplan.plugins.dynamic_resources.cel.values import CelError, Value, type_name

Matcher = Callable[[str, str], bool]
# what RE2 says in C++, and what it says in Go
REGEX_TEXTS: Final = (
    (re.compile(r"missing \): "), "missing closing ): `{}`"),
    (re.compile(r"missing \]: (.*)"), "missing closing ]: `{}`"),
    (re.compile(r"unexpected \): "), "unexpected ): `{}`"),
    (re.compile(r"no argument for repetition operator: (.*)"), "missing argument to repetition operator: `{}`"),
    (re.compile(r"invalid perl operator: (.*)"), "invalid or unsupported Perl syntax: `{}`"),
    (re.compile(r"trailing \\"), "trailing backslash at end of expression: ``"),
    (re.compile(r"bad repetition operator: (.*)"), "invalid nested repetition operator: `{}`"),
    (re.compile(r"invalid repetition size: (.*)"), "invalid repeat count: `{}`"),
    (re.compile(r"invalid escape sequence: (.*)"), "invalid escape sequence: `{}`"),
    (re.compile(r"invalid character class range: (.*)"), "invalid character class range: `{}`"),
)


def regex_error(text: str, pattern: str) -> str:
    """Turn the complaint of RE2 in C++ into that of Go's regexp."""
    for known, told in REGEX_TEXTS:
        if found := known.search(text):
            return "error parsing regexp: " + told.format(found[1] if found.re.groups else pattern)
    return f"error parsing regexp: {text}"


class Functions:
    """The functions that evaluated expressions call."""

    def __init__(self, matches: Matcher) -> None:
        self._matches = matches
        self._overloads: dict[str, list[tuple[tuple[str, ...], Function]]] = {}
        for overload in KUBERNETES:
            kinds = tuple(_runtime_kind(kind) for kind in overload.params)
            self._overloads.setdefault(overload.function, []).append((kinds, overload.run))
        for name, kinds, run in EXTENSIONS:
            self._overloads.setdefault(name, []).append((kinds, run))
        self._plain: dict[str, Function] = {**OPERATORS, "matches": self._match}
        for name, run in (("find", self._find), ("findAll", self._find_all)):
            self._overloads[name] = [(("string", "string"), run)]
        self._overloads["findAll"].append((("string", "string", "int"), self._find_all))

    def known(self, name: str) -> bool:
        """Whether there is a function of this name."""
        return name in self._plain or name in self._overloads

    def call(self, name: str, args: Sequence[Value]) -> Value:
        """Call the overload that takes these arguments."""
        if name in self._overloads:
            kinds = [type_name(arg) for arg in args]
            for params, run in self._overloads[name]:
                if len(params) == len(kinds) and all(
                    want in ("*", kind) for want, kind in zip(params, kinds, strict=True)
                ):
                    return run(*args)
            if name not in self._plain:
                raise CelError(f"no such overload: {name}({', '.join(kinds)})")
        return self._plain[name](*args)

    def _match(self, text: Value, pattern: Value) -> bool:
        if not (isinstance(text, str) and isinstance(pattern, str)):
            raise CelError(NO_OVERLOAD)
        try:
            return self._matches(text, pattern)
        except ValueError as error:
            raise CelError(regex_error(str(error), pattern)) from error

    def _compiled(self, pattern: str) -> re.Pattern[str]:
        try:
            self._matches("", pattern)
            return re.compile(pattern)
        except (ValueError, re.error) as error:
            raise CelError(f"Illegal regex: {regex_error(str(error), pattern)}") from error

    def _find(self, text: str, pattern: str) -> str:
        found = self._compiled(pattern).search(text)
        return found[0] if found else ""

    def _find_all(self, text: str, pattern: str, limit: int = -1) -> list[str]:
        found = [match[0] for match in self._compiled(pattern).finditer(text)]
        return found if limit < 0 else found[:limit]


def _runtime_kind(kind: str) -> str:
    return "*" if kind == "dyn" else kind.partition("(")[0]
