"""Extenders: judges outside of the process, asked after the plugins. A shell provides the transport.

Upstream: pkg/scheduler/extender.go and findNodesThatPassExtenders in schedule_one.go (v1.36.4).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, final

from stowplan.columns.pods import PodInfo

EXTENDER_PLUGIN: Final = "Extender"
"""The plugin name under which rejections by extenders are remembered."""
MAX_EXTENDER_SCORE: Final = 10


class ExtenderError(Exception):
    """Raised when an extender cannot be reached or answers nonsense."""


@final
@dataclass(frozen=True, slots=True)
class ExtenderAnswer:
    """Which nodes an extender keeps, and why it drops others."""

    kept: Sequence[str]
    failed: Mapping[str, str]
    failed_for_good: Mapping[str, str]


@final
@dataclass(frozen=True, slots=True)
class Victims:
    """Pods to evict from a node, most important first, and how many budgets that violates."""

    pods: Sequence[PodInfo]
    violations: int


class Extender(Protocol):
    """One configured extender."""

    name: str
    ignorable: bool
    filters: bool
    prioritizes: bool
    preempts: bool
    weight: int

    def interested(self, pod: PodInfo) -> bool:
        """Whether the extender manages a resource that the pod asks for."""

    def filter(self, pod: PodInfo, node_names: Sequence[str]) -> ExtenderAnswer:
        """Judge nodes. Raises ExtenderError."""

    def prioritize(self, pod: PodInfo, node_names: Sequence[str]) -> Mapping[str, int]:
        """Node name to a score of 0..MAX_EXTENDER_SCORE. Raises ExtenderError."""

    def preempt(self, pod: PodInfo, victims: Mapping[str, Victims]) -> Mapping[str, Victims]:
        """The candidates it agrees with, perhaps with other victims. Raises ExtenderError."""
