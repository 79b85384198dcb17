"""A checked expression made runnable: closures that count what they cost as they run.

Upstream: vendor/github.com/google/cel-go/interpreter/planner.go, interpretable.go, attributes.go (v1.36.4).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stowplan.plugins.dynamic_resources.cel import wire
from stowplan.plugins.dynamic_resources.cel.cost import LIMIT, LIST_COST, MAP_COST, call_cost
from stowplan.plugins.dynamic_resources.cel.functions import Functions
from stowplan.plugins.dynamic_resources.cel.standard import CONVERSIONS, TYPES
from stowplan.plugins.dynamic_resources.cel.values import (
    MAX_INT,
    NONE,
    CelError,
    CelMap,
    CostExceededError,
    Optional,
    TypeValue,
    Uint,
    Value,
    text_of,
    type_name,
)

NO_OVERLOAD: Final = "no such overload"
_UNSET: Final = object()


class UnsupportedError(Exception):
    """Raised when a checked expression uses something that has no implementation here."""


class Frame:
    """The variables and the cost of one evaluation."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: dict[str, Value], limit: int = LIMIT) -> None:
        self.variables = variables
        self.cost = 0
        self.limit = limit

    def charge(self, cost: int) -> None:
        """Add to the cost; CostExceededError beyond the limit."""
        self.cost += cost
        if self.cost > self.limit:
            raise CostExceededError("operation cancelled: actual cost limit exceeded")


Run = Callable[[Frame], Value]


@dataclass(frozen=True, slots=True)
class Step:
    """A planned node: its code, and whether it is a constant or an attribute."""

    run: Run
    constant: bool = False
    attribute: bool = False

    @property
    def value(self) -> Value:
        """The value of a constant."""
        return self.run(Frame({}))


class Planner:
    """Turns the nodes of one checked expression into code."""

    def __init__(self, checked: wire.CheckedExpression, functions: Functions) -> None:
        self._checked = checked
        self._functions = functions

    def plan(self, node: wire.Node) -> Step:
        """Plan a node and all below it."""
        match node:
            case wire.Const():
                value = Uint(node.value) if node.unsigned else node.value
                return Step(lambda _: value, constant=True)
            case wire.Ident():
                return self._ident(node)
            case wire.Select():
                return self._select(node)
            case wire.Call():
                return self._call(node)
            case wire.ListLiteral():
                return self._list(node)
            case wire.MapLiteral():
                return self._map(node)
            case wire.Comprehension():
                return self._fold(node)
            case _:
                raise UnsupportedError("messages are not supported in device selectors")

    def _ident(self, node: wire.Ident) -> Step:
        name = self._checked.names.get(node.id, node.name).removeprefix(".")
        if self._checked.types.get(node.id, "").startswith("type("):
            return self._type(name)
        root, *fields = name.split(".") if name.startswith("device.") else [name]

        def run(frame: Frame) -> Value:
            frame.charge(1)
            return frame.variables[root]

        step = Step(run, attribute=True)
        for field in fields:
            step = _qualified(step, field)
        return step

    def _type(self, name: str) -> Step:
        if name not in TYPES:
            raise UnsupportedError(f"the type {name} is not supported in device selectors")
        kind = TypeValue(name)
        return Step(lambda _: kind, constant=True)

    def _select(self, node: wire.Select) -> Step:
        name = self._checked.names.get(node.id, "")
        if name.startswith("device."):
            return self._ident(wire.Ident(id=node.id, name=name))
        operand = self.plan(node.operand)
        return _presence(operand, node.field) if node.test_only else _qualified(operand, node.field)

    def _call(self, node: wire.Call) -> Step:
        function, args = self._resolve(node)
        match function:
            case "_&&_" | "_||_":
                return _logic([self.plan(arg) for arg in args], decides=function == "_||_")
            case "_?_:_":
                return _conditional(*(self.plan(arg) for arg in args))
            case "_[_]":
                return _indexed(self.plan(args[0]), self.plan(args[1]))
            case "_?._" | "_[?_]":
                return _optional_access(self.plan(args[0]), self.plan(args[1]))
            case "@not_strictly_false":
                return _not_strictly_false(self.plan(args[0]))
            case "or" | "orValue":
                return _or_else(self.plan(args[0]), self.plan(args[1]), keep=function == "or")
        if not self._functions.known(function):
            raise UnsupportedError(f"the function {function} is not supported in device selectors")
        steps = [self.plan(arg) for arg in args]
        if function == "@in" and steps[1].constant and isinstance(steps[1].value, list):
            return self._member(steps[0], steps[1].value)
        call = self._plain_call(function, steps)
        if function in CONVERSIONS and len(steps) == 1 and steps[0].constant:
            value = call.value  # an error here makes the program fail before it runs, as upstream
            return Step(lambda _: value, constant=True)
        return call

    def _resolve(self, node: wire.Call) -> tuple[str, tuple[wire.Node, ...]]:
        if node.member and (prefix := self._namespace(node.args[0])):
            qualified = f"{prefix}.{node.function}"
            if self._functions.known(qualified):
                return qualified, node.args[1:]
        return node.function, node.args

    def _namespace(self, node: wire.Node) -> str:
        if node.id in self._checked.names:
            return ""
        match node:
            case wire.Ident():
                return node.name
            case wire.Select(test_only=False):
                prefix = self._namespace(node.operand)
                return f"{prefix}.{node.field}" if prefix else ""
            case _:
                return ""

    def _member(self, needle: Step, items: list[Value]) -> Step:
        functions = self._functions
        if not items:
            return Step(lambda _: False, constant=True)
        return Step(lambda frame: functions.call("@in", (needle.run(frame), items)))

    def _plain_call(self, function: str, steps: list[Step]) -> Step:
        call = self._functions.call
        runs = [step.run for step in steps]

        def run(frame: Frame) -> Value:
            args = [_tried(run, frame) for run in runs]
            try:
                for arg in args:
                    _raised(arg)
                result = call(function, args)
            except CelError:
                frame.charge(1)
                raise
            frame.charge(call_cost(function, args, result))
            return result

        return Step(run)

    def _list(self, node: wire.ListLiteral) -> Step:
        steps = [self.plan(element) for element in node.elements]
        optional = node.optional

        def run(frame: Frame) -> Value:
            items: list[Value] = []
            for i, step in enumerate(steps):
                value = step.run(frame)
                if i not in optional:
                    items.append(value)
                elif value.present:
                    items.append(value.value)
            frame.charge(LIST_COST)
            return items

        return _folded(Step(run), steps, fixed=not optional)

    def _map(self, node: wire.MapLiteral) -> Step:
        entries = [(self.plan(entry.key), self.plan(entry.value), entry.optional) for entry in node.entries]

        def run(frame: Frame) -> Value:
            built: dict[Value, Value] = {}
            for key_step, value_step, optional in entries:
                key, value = key_step.run(frame), value_step.run(frame)
                if type_name(key) not in ("bool", "int", "uint", "string"):
                    raise CelError("unsupported key type")
                if not optional:
                    built[key] = value
                elif value.present:
                    built[key] = value.value
            frame.charge(MAP_COST)
            return CelMap(built)

        parts = [step for key, value, _ in entries for step in (key, value)]
        return _folded(Step(run), parts, fixed=not any(optional for _, _, optional in entries))

    def _fold(self, node: wire.Comprehension) -> Step:
        items, init = self.plan(node.iter_range).run, self.plan(node.accu_init).run
        condition, step, result = (self.plan(part).run for part in (node.condition, node.step, node.result))
        one, two, accu = node.iter_var, node.iter_var2, node.accu_var
        names = (one, two, accu) if two else (one, accu)

        def run(frame: Frame) -> Value:
            variables = frame.variables
            pairs = _pairs(items(frame), two=bool(two))
            hidden = [(name, variables.get(name, _UNSET)) for name in names]
            try:
                variables[accu] = init(frame)
                for key, value in pairs:
                    variables[one] = key
                    if two:
                        variables[two] = value
                    if condition(frame) is False:
                        break
                    variables[accu] = _tried(step, frame)
                return _raised(result(frame))
            finally:
                for name, value in hidden:
                    if value is _UNSET:
                        variables.pop(name, None)
                    else:
                        variables[name] = value

        return Step(run)


@dataclass(frozen=True, slots=True)
class _Failed:
    """An error that an accumulator holds until something absorbs it or looks at it."""

    error: CelError


def _tried(run: Run, frame: Frame) -> Value:
    try:
        return run(frame)
    except CelError as error:
        return _Failed(error)


def _raised(value: Value) -> Value:
    if isinstance(value, _Failed):
        raise value.error
    return value


def _pairs(items: Value, *, two: bool) -> list[tuple[Value, Value]]:
    if isinstance(items, list):
        return list(enumerate(items)) if two else [(item, None) for item in items]
    if isinstance(items, CelMap):
        return [(key, items.find(key)[1]) for key in items]
    raise CelError(f"got '{type_name(items)}', expected iterable type")


def _folded(step: Step, parts: list[Step], *, fixed: bool) -> Step:
    """Evaluate literals of constants once; they are free then."""
    if not fixed or not all(part.constant for part in parts):
        return step
    value = step.value
    return Step(lambda _: value, constant=True)


def _operand(step: Step) -> Run:
    """The value that qualifiers apply to; what is no attribute becomes one, for a price."""
    if step.attribute:
        return step.run

    def run(frame: Frame) -> Value:
        frame.charge(1)
        return step.run(frame)

    return run


def _qualified(operand: Step, field: str) -> Step:
    base = _operand(operand)

    def run(frame: Frame) -> Value:
        value = base(frame)
        frame.charge(1)
        return _lookup(_raised(value), field)

    return Step(run, attribute=True)


def _presence(operand: Step, field: str) -> Step:
    base = _operand(operand)

    def run(frame: Frame) -> Value:
        value = _raised(base(frame))
        if isinstance(value, Optional):
            value = value.value if value.present else CelMap({})
        if not isinstance(value, CelMap):
            raise CelError(f"no such key: {field}")
        return value.find(field)[0]

    return Step(run, attribute=True)


def _indexed(operand: Step, index: Step) -> Step:
    base, key = _operand(operand), _operand(index) if not index.constant else index.run
    const = index.constant

    def run(frame: Frame) -> Value:
        value = _raised(base(frame))
        at = key(frame)
        if const:
            frame.charge(1)
        return _lookup(value, at)

    return Step(run, attribute=True)


def _lookup(value: Value, key: Value) -> Value:
    if isinstance(value, Optional):
        return _find_optional(value, key)
    if isinstance(value, CelMap):
        found, item = value.find(key)
        if not found:
            raise CelError(f"no such key: {text_of(key)}")
        return item
    if isinstance(value, list):
        at = _index(key)
        if not 0 <= at < len(value):
            raise CelError(f"index out of bounds: {at}")
        return value[at]
    raise CelError(f"no such key: {text_of(key)}")


def _index(key: Value) -> int:
    if type(key) in (int, Uint) or (isinstance(key, float) and key == int(key) and abs(key) <= MAX_INT):
        return int(key)
    raise CelError(f"unsupported index type '{type_name(key)}' in list")


def _find_optional(value: Value, key: Value) -> Optional:
    if isinstance(value, Optional):
        return _find_optional(value.value, key) if value.present else NONE
    if isinstance(value, CelMap):
        found, item = value.find(key)
        return Optional(present=True, value=item) if found else NONE
    if isinstance(value, list):
        at = _index(key)
        return Optional(present=True, value=value[at]) if 0 <= at < len(value) else NONE
    raise CelError(f"no such key: {text_of(key)}")


def _optional_access(operand: Step, key: Step) -> Step:
    base, at = _operand(operand), key.run

    def run(frame: Frame) -> Value:
        found = _find_optional(_raised(base(frame)), at(frame))
        if found.present:
            frame.charge(1)
        return found

    return Step(run, attribute=True)


def _or_else(first: Step, second: Step, *, keep: bool) -> Step:
    def run(frame: Frame) -> Value:
        value = first.run(frame)
        if not isinstance(value, Optional):
            raise CelError(NO_OVERLOAD)
        if value.present:
            return value if keep else value.value
        return second.run(frame)

    return Step(run)


def _conditional(condition: Step, then: Step, otherwise: Step) -> Step:
    def run(frame: Frame) -> Value:
        value = _raised(condition.run(frame))
        if type(value) is not bool:
            raise CelError(NO_OVERLOAD)
        branch = then if value else otherwise
        # parity: an attribute that is a branch is resolved without being charged for itself (runtimecost.go)
        frame.cost -= branch.attribute
        return branch.run(frame)

    return Step(run, attribute=True)


def _logic(terms: list[Step], *, decides: bool) -> Step:
    """And, or: one deciding term wins over errors in the others."""
    runs = [term.run for term in terms]

    def run(frame: Frame) -> Value:
        error: CelError | None = None
        for term in runs:
            try:
                value = _raised(term(frame))
                if value is decides:
                    return decides
                if type(value) is not bool:
                    raise CelError(NO_OVERLOAD)
            except CelError as failed:
                error = error or failed
        if error is not None:
            raise error
        return not decides

    return Step(run)


def _not_strictly_false(term: Step) -> Step:
    def run(frame: Frame) -> Value:
        value = _tried(term.run, frame)
        frame.charge(1)
        return True if isinstance(value, _Failed) else value

    return Step(run)


def compile_program(checked: wire.CheckedExpression, functions: Functions) -> Run:
    """Plan a whole expression."""
    step = Planner(checked, functions).plan(checked.root)
    return lambda frame: _raised(step.run(frame))
