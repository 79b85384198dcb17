"""What a table consists of, and the texts that many tables share.

Upstream: staging/src/k8s.io/apimachinery/pkg/util/duration/duration.go, pkg/printers/internalversion (v1.36.4).
"""

from calendar import timegm
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import strptime
from typing import Any

Json = dict[str, Any]
Cells = list[Any]

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; a priority above zero is shown with `-o wide` only."""

    name: str
    priority: int = 0
    type: str = "string"
    format: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Printer:
    """Columns, and how an object becomes cells; `row` is given the object and the time."""

    columns: tuple[Column, ...]
    row: Callable[[Json, float], Cells]

    def definitions(self) -> list[Json]:
        """The columns as the API describes them."""
        return [
            {
                "name": column.name,
                "type": column.type,
                "format": column.format,
                "description": column.description,
                "priority": column.priority,
            }
            for column in self.columns
        ]


NAME = Column("Name", 0, "string", "name", "Name must be unique within its scope.")
AGE = Column("Age", 0, "string", "", "Time since the object was created.")


def columns(*names: str, wide: tuple[str, ...] = (), numbers: tuple[str, ...] = ()) -> tuple[Column, ...]:
    """Name, the columns named, Age where it is named, and those of `-o wide`."""
    made = [NAME]
    made += [AGE if name == "Age" else Column(name, 0, "integer" if name in numbers else "string") for name in names]
    made += [Column(name, 1, "integer" if name in numbers else "string") for name in wide]
    return tuple(made)


def name_of(value: Json) -> str:
    """The object's name."""
    return str(value["metadata"].get("name", ""))


def age(value: Json, now: float) -> str:
    """Time since creation."""
    return since(value["metadata"].get("creationTimestamp"), now)


def since(moment: str | None, now: float) -> str:
    """Time since a moment."""
    seconds = seconds_of(moment)
    return UNKNOWN if seconds is None else human_duration(now - seconds)


def seconds_of(moment: Any) -> float | None:
    """A moment of the API in seconds since the epoch."""
    if not isinstance(moment, str) or len(moment) < 20:
        return None
    try:
        return float(timegm(strptime(moment[:19], "%Y-%m-%dT%H:%M:%S")))
    except (ValueError, OverflowError):
        return None


def human_duration(exact: float) -> str:
    """A duration with two digits of meaning: `45s`, `3m20s`, `5d2h`."""
    seconds = int(exact)
    if seconds < -1:
        return "<invalid>"
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if hours < 192:
        return _two(days, "d", hours % 24, "h")
    years = days // 365
    if years < 2:
        return f"{days}d"
    if years < 8:
        return _two(years, "y", days % 365, "d")
    return f"{years}y"


def _two(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def joined(labels: Mapping[str, Any] | None) -> str:
    """Labels as `a=b,c=d`."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Json | None) -> str:
    """A label selector in its text form."""
    if selector is None:
        return NONE
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for rule in selector.get("matchExpressions") or ():
        key, operator = rule.get("key", ""), rule.get("operator", "")
        values = ",".join(sorted(rule.get("values") or ()))
        if operator == "In":
            parts.append(f"{key} in ({values})")
        elif operator == "NotIn":
            parts.append(f"{key} notin ({values})")
        else:
            parts.append(key if operator == "Exists" else f"!{key}")
    return ",".join(parts) or NONE


def containers_text(spec: Json | None) -> tuple[str, str]:
    """Names and images of the containers of a pod specification."""
    containers = (spec or {}).get("containers") or ()
    return (
        ",".join(container.get("name", "") for container in containers),
        ",".join(container.get("image", "") for container in containers),
    )
