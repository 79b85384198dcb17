"""A checked expression made runnable: closures that count what they cost as they run.

Upstream: vendor/github.com/google/cel-go/interpreter/planner.go, interpretable.go, attributes.go (v1.36.4).
"""

from typing import Final

from stowplan.plugins.dynamic_resources.cel import wire
from stowplan.plugins.dynamic_resources.cel.access import indexed, optional_access, presence, qualified
from stowplan.plugins.dynamic_resources.cel.cost import LIST_COST, MAP_COST, call_cost
from stowplan.plugins.dynamic_resources.cel.frames import (
    Failed,
    Frame,
    Run,
    Step,
    UnsupportedError,
    raised,
    tried,
)
from stowplan.plugins.dynamic_resources.cel.functions import Functions
from stowplan.plugins.dynamic_resources.cel.standard import CONVERSIONS, TYPES
from stowplan.plugins.dynamic_resources.cel.values import (
    CelError,
    CelMap,
    Optional,
    TypeValue,
    Uint,
    Value,
    type_name,
)

NO_OVERLOAD: Final = "no such overload"
_UNSET: Final = object()


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
            step = qualified(step, field)
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
        return presence(operand, node.field) if node.test_only else qualified(operand, node.field)

    def _call(self, node: wire.Call) -> Step:
        function, args = self._resolve(node)
        match function:
            case "_&&_" | "_||_":
                return _logic([self.plan(arg) for arg in args], decides=function == "_||_")
            case "_?_:_":
                return _conditional(*(self.plan(arg) for arg in args))
            case "_[_]":
                return indexed(self.plan(args[0]), self.plan(args[1]))
            case "_?._" | "_[?_]":
                return optional_access(self.plan(args[0]), self.plan(args[1]))
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
            args = [tried(run, frame) for run in runs]
            try:
                for arg in args:
                    raised(arg)
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
                    variables[accu] = tried(step, frame)
                return raised(result(frame))
            finally:
                for name, value in hidden:
                    if value is _UNSET:
                        variables.pop(name, None)
                    else:
                        variables[name] = value

        return Step(run)


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
        value = raised(condition.run(frame))
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
                value = raised(term(frame))
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
        value = tried(term.run, frame)
        frame.charge(1)
        return True if isinstance(value, Failed) else value

    return Step(run)


def compile_program(checked: wire.CheckedExpression, functions: Functions) -> Run:
    """Plan a whole expression."""
    step = Planner(checked, functions).plan(checked.root)
    return lambda frame: raised(step.run(frame))
