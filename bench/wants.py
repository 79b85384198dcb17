"""What the pods of a case want besides room on a node."""

from collections.abc import Iterable
from typing import Any, Protocol

Document = dict[str, Any]


class Want(Protocol):
    """Volumes or devices."""

    configuration: Document
    """The configuration of the scheduler that the case needs; empty for the default one."""

    def cluster(self, nodes: list[Document]) -> Iterable[Document]:
        """What has to be there before any pod; nodes may be changed."""

    def equip(self, i: int, pod: Document, /) -> Iterable[Document]:
        """Let the pod want something, and make what stands for it; pods on a node have got it already."""
