"""What a post-filter plugin gets and returns: the failed attempt, and what could make room."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol, final

from stowplan.api.meta import KubeObject
from stowplan.columns.pods import PodInfo
from stowplan.columns.rows import Rows
from stowplan.columns.view import View
from stowplan.framework.extender import Extender
from stowplan.framework.runner import Judgement, Prepared
from stowplan.framework.verdict import Rejection


class Judge(Protocol):
    """Runs all filters of the profile for the pod of the attempt, nominated pods counted in."""

    def judge(self, rows: Rows) -> Judgement:
        """What they say of rows, or of worlds."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAttempt:
    """An attempt in which no node passed."""

    view: View
    pod: PodInfo
    prepared: Prepared
    """What the plugins prepared, as far as they were asked."""
    judgement: Judgement | None
    """Of the nodes looked at; None when the pod was rejected before any was."""
    helpable: Rows
    """The nodes where evicting pods could help, in node order."""
    nominated_is_hopeless: bool
    """Whether the pod's own nominated node was rejected for good this time."""
    judge: Judge
    extenders: Sequence[Extender]
    now: float
    rng: Random


@final
@dataclass(frozen=True, slots=True)
class Nomination:
    """Room can be made on a node by evicting these pods."""

    node_name: str
    victims: Sequence[PodInfo]


@final
@dataclass(frozen=True, slots=True)
class Write:
    """An object to be stored as it is here, or patched, or deleted. A shell performs it."""

    obj: KubeObject
    subresource: str = ""
    patch: bytes | None = None
    """A strategic merge patch, in place of the whole object."""
    delete: bool = False
    then: "Write | None" = None
    """What is to be written once this is done."""


@final
@dataclass(frozen=True, slots=True)
class NoRoom:
    """Nothing helps. Some results also void an earlier nomination; `final` ones end the search of other plugins."""

    why: Rejection
    voids_nomination: bool = False
    writes: Sequence[Write] = ()
    """What is to be written so that a later attempt fares better."""


PostFilterResult = Nomination | NoRoom
