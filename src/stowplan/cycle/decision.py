"""What an attempt ends with: effects for a shell to perform, and the trace of why.

The trace holds the arrays that were computed anyway; explaining costs nothing extra.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.framework.post_filter import Nomination, NoRoom, Write
from stowplan.framework.ranking import Scores
from stowplan.framework.runner import Judgement, Prepared, Rejected


@final
@dataclass(frozen=True, slots=True)
class Bind:
    """Bind the pod to a node."""

    pod: PodInfo
    node_name: str


@final
@dataclass(frozen=True, slots=True)
class Nominate:
    """Remember the node where room is being made; an empty name voids an earlier nomination."""

    pod: PodInfo
    node_name: str


@final
@dataclass(frozen=True, slots=True)
class Evict:
    """Remove pods from a node so that a more important one fits."""

    preemptor: PodInfo
    node_name: str
    victims: Sequence[PodInfo]


@final
@dataclass(frozen=True, slots=True)
class Park:
    """Put the pod aside until something changes that the plugins that rejected it care about."""

    pod: PodInfo
    plugins: frozenset[str]
    message: str


Effect = Bind | Nominate | Evict | Write | Park


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Why an attempt ended as it did."""

    pod: PodInfo
    nodes: int
    """Nodes in the cluster."""
    prepared: Prepared | None = None
    """None when there was no node to look at."""
    judgement: Judgement | None = None
    """Of the nodes looked at; None when the pod was rejected before any was."""
    nominated_first: str = ""
    """The nominated node, if it was tried and passed, so that no other was looked at."""
    absent: Rejected | None = None
    """What stands for the nodes that were not judged."""
    feasible: Rows | None = None
    scores: Scores | None = None
    """None when a single node was feasible: then nobody scores."""
    node_name: str = ""
    ties: int = 0
    """How many nodes shared the best total."""
    room: Nomination | None = None
    no_room: tuple[tuple[str, NoRoom], ...] = ()
    """What each post-filter plugin said in vain."""
    message: str = ""


@final
@dataclass(frozen=True, slots=True)
class Decision:
    """The effects, in the order in which they are to be performed, and the trace."""

    effects: tuple[Effect, ...]
    trace: Trace
