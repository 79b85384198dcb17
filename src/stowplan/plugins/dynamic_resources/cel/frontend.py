"""Parsing and checking of expressions by the CEL package, with upstream's declarations and upstream's texts.

Upstream: staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go and
staging/src/k8s.io/apiserver/pkg/cel/environment/base.go (v1.36.4).
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from cel_expr_python import cel

from stowplan.plugins.dynamic_resources.cel import wire
from stowplan.plugins.dynamic_resources.cel.library import KUBERNETES, Overload
from stowplan.plugins.dynamic_resources.cel.values import ANY, CIDR, IP, QUANTITY, SEMVER

EXTENSIONS: Final = """
name: "kubernetes"
extensions:
- name: "bindings"
  version: 0
- name: "optional"
- name: "sets"
- name: "lists"
- name: "strings"
  version: 2
- name: "two-var-comprehensions"
"""
DEVICE: Final = "kubernetes.DRADevice"
DEVICE_FIELDS: Final = {
    "driver": "string",
    "allowMultipleAllocations": "bool",
    "attributes": f"map(string, map(string, {ANY}))",
    "capacity": f"map(string, map(string, {QUANTITY}))",
}
NUMBERS: Final = ("int", "uint", "double")
ORDERINGS: Final = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
LANGUAGE: Final = frozenset({*ORDERINGS, "indexOf", "lastIndexOf"})
REGEX: Final = (
    Overload("find", "string_find_string", ("string", "string"), "string", lambda: None),
    Overload("findAll", "string_find_all_string", ("string", "string"), "list(string)", lambda: None),
    Overload("findAll", "string_find_all_string_int", ("string", "string", "int"), "list(string)", lambda: None),
)
STATUS: Final = re.compile(r"^INVALID_ARGUMENT: (.*) \[INVALID_ARGUMENT\]$", re.DOTALL)
SELECTION: Final = re.compile(r"expression of type '([^']*)' cannot be the operand of a select operation")
OVERLOAD: Final = re.compile(r"found no matching overload for '([^']*)' applied to '\((.*)\)'$")
UNDECLARED: Final = re.compile(r"undeclared reference to '([^']*\.[^']*)' \(in container ''\)")
MACRO_TEXTS: Final = (
    (re.compile(r"has\(\) argument must be a field selection"), "invalid argument to has() macro"),
    (re.compile(r"\w+\(\) variable name must be a simple identifier"), "argument is not an identifier"),
)
MISSING: Final = re.compile(r"undeclared reference to '(url|isURL|format)'")
ISSUE: Final = re.compile(r"ERROR: <input>:(\d+):(\d+): (.*)")
FIELD: Final = re.compile(r"\.\s*([A-Za-z_][A-Za-z0-9_]*)")


class CompileError(Exception):
    """Raised when an expression cannot be parsed or checked, with the text that upstream gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """One finding at one place of an expression."""

    at: int
    text: str


class Frontend:
    """The declarations of device selectors, and the checker over them."""

    def __init__(self) -> None:
        config = cel.NewEnvConfigFromYaml(EXTENSIONS)
        # only an extension may add overloads to the language's functions, and only functions tell object types apart
        extensions = [cel.CelExtension("kubernetes", list(_declarations(of_the_language=True)))]
        functions = list(_declarations(of_the_language=False))
        fields = {f"device.{name}": _type(kind) for name, kind in DEVICE_FIELDS.items()}
        opaque = {"device": cel.Type.AbstractType(DEVICE), **fields}
        self._strict = cel.NewEnv(config=config, variables=opaque, functions=functions, extensions=extensions)
        # the package has no object types; a device that is passed on as a whole is checked when it is evaluated
        loose = {"device": cel.Type.DYN, **fields}
        self._loose = cel.NewEnv(config=config, variables=loose, functions=functions, extensions=extensions)
        self._texts = cel.NewEnv(variables={"text": cel.Type.STRING, "pattern": cel.Type.STRING})
        self._matches = self._texts.compile("text.matches(pattern)")

    def check(self, expression: str) -> wire.CheckedExpression:
        """Parse and check; CompileError when the expression is wrong."""
        try:
            compiled = self._compile(expression)
        except RuntimeError as error:
            if missing := MISSING.search(str(error)):
                raise CompileError(f"the function {missing[1]} is not supported in device selectors") from error
            raise CompileError(_display(str(error), expression)) from error
        checked = wire.read_checked(compiled.serialize())
        if issues := list(self._validate(checked)):
            raise CompileError(render(expression, issues))
        return checked

    def _compile(self, expression: str) -> Any:
        try:
            return self._strict.compile(expression)
        except RuntimeError as error:
            passed_on = f"'{DEVICE}' cannot be the operand" in str(error) and "cel.bind" in expression
            if not passed_on:
                raise
        return self._loose.compile(expression)

    def matches(self, text: str, pattern: str) -> bool:
        """Whether the RE2 pattern occurs in the text; ValueError when it is no pattern."""
        result = self._matches.eval(data={"text": text, "pattern": pattern})
        if result.type() != cel.Type.BOOL:
            raise ValueError(str(result.value()))
        return bool(result.value())

    def _validate(self, checked: wire.CheckedExpression) -> Iterator[Issue]:
        formatted = {
            arg.id
            for node in walk(checked.root)
            if isinstance(node, wire.Call) and node.function == "format"
            for arg in node.args
        }
        for node in walk(checked.root):
            match node:
                case _ if node.id in formatted:
                    pass
                case wire.Call(function="matches", args=(_, wire.Const(value=str() as pattern) as argument)):
                    if not self._is_pattern(pattern):
                        yield Issue(at=checked.positions[argument.id], text="invalid matches argument")
                case wire.ListLiteral():
                    yield from _homogeneous(checked, [e for i, e in enumerate(node.elements) if i not in node.optional])
                case wire.MapLiteral():
                    yield from _homogeneous(checked, [entry.key for entry in node.entries])
                    yield from _homogeneous(checked, [entry.value for entry in node.entries if not entry.optional])
                case _:
                    pass

    def _is_pattern(self, pattern: str) -> bool:
        try:
            self.matches("", pattern)
        except ValueError:
            return False
        return True


def walk(node: wire.Node) -> Iterator[wire.Node]:
    """Visit a node and all nodes below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def children(node: wire.Node) -> tuple[wire.Node, ...]:
    """Return the nodes right below a node."""
    match node:
        case wire.Select():
            return (node.operand,)
        case wire.Call():
            return node.args
        case wire.ListLiteral():
            return node.elements
        case wire.MapLiteral():
            return tuple(part for entry in node.entries for part in (entry.key, entry.value))
        case wire.Comprehension():
            return (node.iter_range, node.accu_init, node.condition, node.step, node.result)
        case _:
            return ()


def _homogeneous(checked: wire.CheckedExpression, nodes: list[wire.Node]) -> Iterator[Issue]:
    expected = ""
    for node in nodes:
        kind = checked.types.get(node.id, "dyn")
        if kind in ("dyn", ANY):
            continue
        if not expected:
            expected = kind
        elif kind != expected:
            yield Issue(at=checked.positions[node.id], text=f"expected type '{expected}' but found '{kind}'")
            return


def _type(text: str) -> Any:
    match text:
        case "int" | "uint" | "double" | "bool" | "string" | "bytes" | "dyn":
            return getattr(cel.Type, text.upper())
        case _ if text in (QUANTITY, SEMVER, IP, CIDR):
            return cel.Type.AbstractType(text)
        case _ if text.startswith("list("):
            return cel.Type.List(_type(text[5:-1]))
        case _ if text.startswith("map("):
            key, _, value = text[4:-1].partition(", ")
            return cel.Type.Map(_type(key), _type(value))
        case _:
            return cel.Type(text)


def _declarations(*, of_the_language: bool) -> Iterator[Any]:
    overloads: dict[str, list[Any]] = defaultdict(list)
    for overload in (*KUBERNETES, *REGEX, *_cross_type_orderings()):
        if (overload.function in LANGUAGE) is not of_the_language:
            continue
        overloads[overload.function].append(
            cel.Overload(
                overload.id,
                return_type=_type(overload.result),
                parameters=[_type(kind) for kind in overload.params],
                is_member=overload.member,
            )
        )
    for function, alternatives in overloads.items():
        yield cel.FunctionDecl(function, alternatives)


def _cross_type_orderings() -> Iterator[Overload]:
    for function, name in ORDERINGS.items():
        for a in NUMBERS:
            for b in NUMBERS:
                if a != b:
                    yield Overload(function, f"{name}_{a}64_{b}", (a, b), "bool", lambda: None, member=False)


def _display(text: str, expression: str) -> str:
    """Turn the package's findings into upstream's texts."""
    found = STATUS.match(text)
    issues = [
        issue
        for finding in re.split(r"\n(?=ERROR: <input>:)", found[1] if found else text)
        if "'*error*'" not in finding and (issue := _issue(finding, expression)) is not None
    ]
    return render(expression, issues) if issues else text


def _issue(finding: str, expression: str) -> Issue | None:
    place = ISSUE.match(finding)
    if place is None:
        return None
    lines = expression.split("\n")
    at = sum(len(line) + 1 for line in lines[: int(place[1]) - 1]) + int(place[2]) - 1
    text = place[3]
    for known, told in MACRO_TEXTS:
        text = known.sub(told, text)
    if selection := SELECTION.search(text):
        field = FIELD.match(expression, at)
        undefined = f"undefined field '{field[1] if field else ''}'"
        text = undefined if selection[1] == DEVICE else f"type '{selection[1]}' does not support field selection"
    elif overload := OVERLOAD.search(text):
        member = re.search(rf"\.\s*{re.escape(overload[1])}\s*$", expression[:at])
        if member:
            text = f"found no matching overload for '{overload[1]}' applied to '{_as_member(overload[2])}'"
    elif undeclared := UNDECLARED.match(text):
        # parity: a path whose first part is unknown is reported there and by that part alone
        path = re.compile(r"\s*\.\s*".join(re.escape(part) for part in undeclared[1].split(".")))
        starts = [match.start() for match in path.finditer(expression) if match.start() <= at < match.end()]
        at = starts[0] if starts else at
        text = f"undeclared reference to '{undeclared[1].partition('.')[0]}' (in container '')"
    return Issue(at=at, text=text.replace(ANY, "any"))


def _as_member(arguments: str) -> str:
    depth = 0
    for at, char in enumerate(arguments):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            return f"{arguments[:at]}.({arguments[at + 2 :]})"
    return f"{arguments}.()"


def render(expression: str, issues: list[Issue]) -> str:
    """Write findings as the language's tools do: place, text, line, and a mark under it."""
    shown = []
    for issue in sorted(issues, key=lambda issue: issue.at):
        before = expression[: issue.at]
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        source = expression.split("\n")[line].replace("\t", " ")
        dots = "".join("．" if len(char.encode()) > 1 else "." for char in source[:column])
        mark = "＾" if len(source[column : column + 1].encode()) > 1 else "^"
        shown.append(f"ERROR: <input>:{line + 1}:{column + 1}: {issue.text}\n | {source}\n | {dots}{mark}")
    return "\n".join(shown)
