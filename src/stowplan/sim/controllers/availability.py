"""Ready for long enough: what counts as available, and when to look again.

Upstream: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go (v1.36.4).
"""

from collections.abc import Iterable

from stowplan.api.meta import time_seconds
from stowplan.sim.cluster.records import SimPod


def available_after(pod: SimPod, min_ready: int, now: float) -> float | None:
    """Seconds until a pod is available: 0 when it is, None when it is not even ready."""
    condition = pod.condition("Ready")
    if condition is None or condition.status != "True":
        return None
    if min_ready == 0:
        return 0.0
    since = time_seconds(condition.last_transition_time) if condition.last_transition_time else now
    return max(since + min_ready - now, 0.0)


def count_available(pods: Iterable[SimPod], min_ready: int, now: float) -> tuple[int, float | None]:
    """How many pods are available, and the seconds until the next one is."""
    waits = [wait for wait in (available_after(pod, min_ready, now) for pod in pods) if wait is not None]
    later = [wait for wait in waits if wait > 0]
    return len(waits) - len(later), min(later) if later else None
