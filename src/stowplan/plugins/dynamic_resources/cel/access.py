"""Fields and elements of values: how they are looked up, and what that costs.

Upstream: vendor/github.com/google/cel-go/interpreter/attributes.go (v1.36.4).
"""

from stowplan.plugins.dynamic_resources.cel.frames import Frame, Run, Step, raised
from stowplan.plugins.dynamic_resources.cel.values import (
    MAX_INT,
    NONE,
    CelError,
    CelMap,
    Optional,
    Uint,
    Value,
    text_of,
    type_name,
)


def operand_of(step: Step) -> Run:
    """The value that qualifiers apply to; what is no attribute becomes one, for a price."""
    if step.attribute:
        return step.run

    def run(frame: Frame) -> Value:
        frame.charge(1)
        return step.run(frame)

    return run


def qualified(operand: Step, field: str) -> Step:
    """`operand.field`."""
    base = operand_of(operand)

    def run(frame: Frame) -> Value:
        value = base(frame)
        frame.charge(1)
        return _lookup(raised(value), field)

    return Step(run, attribute=True)


def presence(operand: Step, field: str) -> Step:
    """`has(operand.field)`."""
    base = operand_of(operand)

    def run(frame: Frame) -> Value:
        value = raised(base(frame))
        if isinstance(value, Optional):
            value = value.value if value.present else CelMap({})
        if not isinstance(value, CelMap):
            raise CelError(f"no such key: {field}")
        return value.find(field)[0]

    return Step(run, attribute=True)


def indexed(operand: Step, index: Step) -> Step:
    """`operand[index]`."""
    base, key = operand_of(operand), operand_of(index) if not index.constant else index.run
    const = index.constant

    def run(frame: Frame) -> Value:
        value = raised(base(frame))
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


def optional_access(operand: Step, key: Step) -> Step:
    """`operand.?key` and `operand[?key]`."""
    base, at = operand_of(operand), key.run

    def run(frame: Frame) -> Value:
        found = _find_optional(raised(base(frame)), at(frame))
        if found.present:
            frame.charge(1)
        return found

    return Step(run, attribute=True)
