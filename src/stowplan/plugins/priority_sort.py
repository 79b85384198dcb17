"""PrioritySort: the more important pod first, among equals the one that has waited longer.

Upstream: pkg/scheduler/framework/plugins/queuesort (v1.36.4).
"""

from typing import final

from stowplan.framework.plugin import QueuedPod, QueueSortPlugin


@final
class PrioritySort(QueueSortPlugin):
    """Orders the active queue by priority, then by time."""

    name = "PrioritySort"

    def queue_key(self, queued: QueuedPod) -> tuple[int, float]:
        """Priority downward, time upward."""
        return -queued.info.priority, queued.queued_at
