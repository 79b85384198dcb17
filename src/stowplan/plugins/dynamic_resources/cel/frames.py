"""What code runs in: variables, what has been spent so far, and errors that may still be absorbed.

Upstream: vendor/github.com/google/cel-go/interpreter/interpretable.go, activation.go (v1.36.4).
"""

from collections.abc import Callable
from dataclasses import dataclass

from stowplan.plugins.dynamic_resources.cel.cost import LIMIT
from stowplan.plugins.dynamic_resources.cel.values import CelError, CostExceededError, Value


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


@dataclass(frozen=True, slots=True)
class Failed:
    """An error that an accumulator holds until something absorbs it or looks at it."""

    error: CelError


def tried(run: Run, frame: Frame) -> Value:
    """Run, and keep an error as a value."""
    try:
        return run(frame)
    except CelError as error:
        return Failed(error)


def raised(value: Value) -> Value:
    """Give back a value, or raise the error that it stands for."""
    if isinstance(value, Failed):
        raise value.error
    return value
