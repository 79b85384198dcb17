"""Shapes of configuration values: what a field may hold, and what Go calls its type.

The v1 tables are in `schema_v1`; `decode` reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Text:
    """A string; enumerations have a Go type of their own."""

    go: str = "string"


@dataclass(frozen=True, slots=True)
class Flag:
    """A boolean."""

    go: str = "bool"


@dataclass(frozen=True, slots=True)
class Integer:
    """A signed integer of so many bits."""

    bits: int

    @property
    def go(self) -> str:
        """The Go type."""
        return f"int{self.bits}"


@dataclass(frozen=True, slots=True)
class Real:
    """A single-precision floating-point number."""

    go: str = "float32"


@dataclass(frozen=True, slots=True)
class Duration:
    """Nanoseconds, written in Go's notation; `nullable` when null stands for unset."""

    nullable: bool = False
    go: str = "string"


@dataclass(frozen=True, slots=True)
class Binary:
    """Bytes, written in base64."""

    go: str = "[]uint8"


@dataclass(frozen=True, slots=True)
class Anything:
    """A value that is not looked at here."""

    go: str = "runtime.RawExtension"


@dataclass(frozen=True, slots=True)
class Many:
    """A list."""

    item: "Shape"

    @property
    def go(self) -> str:
        """The Go type."""
        return f"[]{self.item.go}"


@dataclass(frozen=True, slots=True)
class TextMap:
    """An object with strings for values under any key."""

    go: str = "map[string]string"


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with known fields."""

    go: str
    fields: Mapping[str, "Shape"]

    @property
    def name(self) -> str:
        """The Go type without its package."""
        return self.go.rpartition(".")[2]


Shape = Text | Flag | Integer | Real | Duration | Binary | Anything | Many | TextMap | Fields

TEXT: Final = Text()
FLAG: Final = Flag()
INT32: Final = Integer(32)
INT64: Final = Integer(64)
