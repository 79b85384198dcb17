"""A pod in the queue: when it came, how often it was tried, who rejected it.

Upstream: QueuedPodInfo in pkg/scheduler/framework/types.go (v1.36.4).
"""

from dataclasses import dataclass, field
from typing import final

from stowplan.columns.pods import PodInfo


@final
@dataclass(slots=True, eq=False)
class QueuedPod:
    """The queue's memory of one waiting pod."""

    info: PodInfo
    queued_at: float
    """When it was added, or came back from an attempt."""
    attempts: int = 0
    rejections: int = 0
    """Attempts that ended with a rejection; they set the back-off."""
    errors_in_a_row: int = 0
    """Attempts that failed without a rejection since the last rejection; they set the back-off when there are any."""
    backoff_until: float | None = None
    """Worked out once per return to the queue."""
    first_tried_at: float | None = None
    """When it first entered the active queue."""
    flushed: bool = False
    """It left the unschedulable set only because it had been there so long."""
    flushed_at: float = 0.0
    rejected_by: set[str] = field(default_factory=set)
    """Plugins whose wakes can bring it back."""
    pending_by: set[str] = field(default_factory=set)
    """Plugins that wait for something and want it tried at once when that happens."""
    gated_by: str = ""
    """The plugin that keeps it out of the active queue."""

    @property
    def uid(self) -> str:
        """The pod's uid."""
        return self.info.uid

    @property
    def gated(self) -> bool:
        """Whether a plugin keeps it out."""
        return bool(self.gated_by)

    @property
    def rejectors(self) -> set[str]:
        """All plugins that stand in its way."""
        return self.rejected_by | self.pending_by
