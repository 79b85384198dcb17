"""Disruption budgets and priority classes.

Upstream: staging/src/k8s.io/api/policy/v1/types.go and scheduling/v1/types.go (v1.36.4).
"""

from typing import ClassVar

from stowplan.api.meta import Condition, Int32, Int64, KubeObject, LabelSelector, Record


class PodDisruptionBudgetSpec(Record, frozen=True):
    """How many pods of a set may be away at once."""

    min_available: Int32 | str | None = None
    selector: LabelSelector | None = None
    max_unavailable: Int32 | str | None = None
    unhealthy_pod_eviction_policy: str | None = None


class PodDisruptionBudgetStatus(Record, frozen=True):
    """How many more may go now; `disrupted_pods` are already on their way."""

    observed_generation: Int64 = 0
    disrupted_pods: dict[str, str | None] = {}
    disruptions_allowed: Int32 = 0
    current_healthy: Int32 = 0
    desired_healthy: Int32 = 0
    expected_pods: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class PodDisruptionBudget(KubeObject, frozen=True):
    """A pod disruption budget."""

    api_version: ClassVar[str] = "policy/v1"
    kind: ClassVar[str] = "PodDisruptionBudget"

    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class PriorityClass(KubeObject, frozen=True):
    """A name for a priority."""

    api_version: ClassVar[str] = "scheduling.k8s.io/v1"
    kind: ClassVar[str] = "PriorityClass"

    value: Int32 = 0
    global_default: bool = False
    description: str = ""
    preemption_policy: str | None = None
