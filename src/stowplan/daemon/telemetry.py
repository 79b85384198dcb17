"""What the live scheduler reports of itself, as calls; what becomes of them is a matter of `metrics`."""

from collections.abc import Mapping
from typing import Protocol, final


class Telemetry(Protocol):
    """Hears what happens."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """An attempt ended: scheduled, unschedulable or error."""

    def algorithm(self, seconds: float) -> None:
        """A decision was made."""

    def point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """The plugins of an extension point ran."""

    def evaluation(self, plugin: str, point: str, profile: str, times: int) -> None:
        """A plugin was asked: about a pod at PreFilter, PreScore and Score, about nodes at Filter."""

    def evicted(self, result: str, seconds: float) -> None:
        """The victims of one preemption were evicted (success), or some could not be (error)."""

    def scheduled(self, attempts: int, sli_seconds: float, flushed: bool) -> None:
        """A pod was bound, after so many attempts and so long since it was first tried."""

    def preemption(self, victims: int) -> None:
        """Room was made."""

    def preemption_attempt(self) -> None:
        """Room was looked for."""

    def incoming(self, queue: str, event: str) -> None:
        """A pod came to a queue."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """A pod waited for permission."""

    def event(self, label: str, seconds: float) -> None:
        """A watch event was handled."""

    def pending(self, counts: Mapping[str, int]) -> None:
        """How many pods are where."""

    def rejected(self, plugin: str, profile: str, by: int) -> None:
        """Pods that a plugin keeps waiting became more or fewer."""

    def cache(self, nodes: int, pods: int, assumed: int) -> None:
        """How much the Cluster holds."""


@final
class Silence:
    """For those who keep no metrics."""

    def attempt(self, result: str, profile: str, seconds: float) -> None:
        """Not kept."""

    def algorithm(self, seconds: float) -> None:
        """Not kept."""

    def point(self, point: str, status: str, profile: str, seconds: float) -> None:
        """Not kept."""

    def evaluation(self, plugin: str, point: str, profile: str, times: int) -> None:
        """Not kept."""

    def evicted(self, result: str, seconds: float) -> None:
        """Not kept."""

    def scheduled(self, attempts: int, sli_seconds: float, flushed: bool) -> None:
        """Not kept."""

    def preemption(self, victims: int) -> None:
        """Not kept."""

    def preemption_attempt(self) -> None:
        """Not kept."""

    def incoming(self, queue: str, event: str) -> None:
        """Not kept."""

    def permit_wait(self, result: str, seconds: float) -> None:
        """Not kept."""

    def event(self, label: str, seconds: float) -> None:
        """Not kept."""

    def pending(self, counts: Mapping[str, int]) -> None:
        """Not kept."""

    def rejected(self, plugin: str, profile: str, by: int) -> None:
        """Not kept."""

    def cache(self, nodes: int, pods: int, assumed: int) -> None:
        """Not kept."""
